"""What holds of resources, whatever the plan, its packing and its load."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.flow.plan_rates import arrival_rates
from modeling.flow.resources import Resources, resources
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology

SIZE = ContainerSize(2.0, 2048.0)
JOB = Topology("job", tuple(Operator(n) for n in "abc"), (Stream("a", "b"), Stream("b", "c")))
LOADS = st.floats(0.0, 1e4)


@st.composite
def profiles(draw: st.DrawFn) -> dict[str, OperatorProfile]:
    cpu_s = st.none() | st.floats(0, 1e-3)
    return {
        name: OperatorProfile(
            name,
            draw(st.floats(1e-6, 1e-3)),
            cpu_s=draw(cpu_s),
            memory_mib=draw(st.floats(1, 1000)),
            memory_mib_s=draw(st.floats(0, 0.1)),
            state_gib=draw(st.floats(0, 2)),
        )
        for name in "abc"
    }


@st.composite
def packed(draw: st.DrawFn) -> PhysicalPlan:
    """Up to eight instances of each operator, routed to up to five containers, some of which may be empty."""
    parallelism = {name: draw(st.integers(1, 8)) for name in "abc"}
    placed: list[list[Instance]] = [[] for _ in range(draw(st.integers(1, 5)))]
    for name, count in parallelism.items():
        for index in range(count):
            draw(st.sampled_from(placed)).append(Instance(name, index))
    packing = tuple(Container(id, tuple(held), f"n{id % 2}") for id, held in enumerate(placed, 1))
    return PhysicalPlan("job", parallelism, packing)


SITES = st.builds(
    Site, container=st.just(SIZE), service_factor=st.fixed_dictionaries({"n0": st.floats(0.5, 2), "n1": st.just(1.0)})
)


def _found(measured: dict[str, OperatorProfile], plan: PhysicalPlan, load_per_s: float, site: Site) -> Resources:
    return resources(JOB, measured, plan, arrival_rates(JOB, measured, plan, {"a": load_per_s}, site), site)


@given(profiles(), packed(), LOADS, SITES)
def test_containers__need_what_their_instances_need(
    measured: dict[str, OperatorProfile], plan: PhysicalPlan, load_per_s: float, site: Site
) -> None:
    found = _found(measured, plan, load_per_s, site)
    assert sum(each.cores for each in found.containers.values()) == pytest.approx(found.total_cores)
    memory = [each.memory_mib for each in found.containers.values()]
    assert sum(each for each in memory if each is not None) == pytest.approx(found.total_memory_mib)
    assert all(each is not None for each in memory)


@pytest.mark.slow
@given(profiles(), packed(), LOADS, SITES, st.randoms(use_true_random=False))
def test_order_of_containers_and_instances__changes_nothing(
    measured: dict[str, OperatorProfile], plan: PhysicalPlan, load_per_s: float, site: Site, shuffler: object
) -> None:
    packing = [
        replace(each, instances=tuple(sorted(each.instances, key=lambda _: shuffler.random())))  # type: ignore[attr-defined]
        for each in plan.packing
    ]
    shuffler.shuffle(packing)  # type: ignore[attr-defined]
    one = _found(measured, plan, load_per_s, site)
    same = _found(measured, replace(plan, packing=tuple(packing)), load_per_s, site)
    for id, container in one.containers.items():
        other = same.containers[id]
        assert other.cores == pytest.approx(container.cores)
        assert other.memory_mib == pytest.approx(container.memory_mib)
        assert [each.resource for each in other.over] == [each.resource for each in container.over]


@given(profiles(), packed(), LOADS, st.floats(1.0, 10.0), SITES)
def test_more_load__needs_no_less_and_saturates_no_later(
    measured: dict[str, OperatorProfile], plan: PhysicalPlan, load_per_s: float, factor: float, site: Site
) -> None:
    less, more = (_found(measured, plan, load_per_s * by, site) for by in (1.0, factor))
    for name in "abc":
        assert np.all(more.cores[name] >= less.cores[name] * (1 - 1e-9))
    for id, container in less.containers.items():
        assert more.containers[id].memory_mib >= container.memory_mib * (1 - 1e-9)  # type: ignore[operator]
        assert more.containers[id].slowdown >= container.slowdown * (1 - 1e-9)
        assert len(more.containers[id].over) >= len(container.over)
        assert more.containers[id].headroom_factor * factor == pytest.approx(container.headroom_factor)


@pytest.mark.slow
@given(profiles(), packed(), st.floats(1.0, 1e4), SITES)
def test_saturation__is_where_slowing_down_begins(
    measured: dict[str, OperatorProfile], plan: PhysicalPlan, load_per_s: float, site: Site
) -> None:
    for id, found in _found(measured, plan, load_per_s, site).containers.items():
        scale = found.headroom_factor
        if not np.isfinite(scale) or scale > 1e9:
            continue
        assert _found(measured, plan, load_per_s * scale * 0.999, site).containers[id].slowdown == 1
        assert _found(measured, plan, load_per_s * scale * 1.01, site).containers[id].slowdown == pytest.approx(1.01)
