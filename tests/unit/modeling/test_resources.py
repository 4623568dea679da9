"""CPU and memory of instances and containers, what is over its size, and contention; all by hand arithmetic."""

from dataclasses import replace

import pytest

from modeling.errors import ModelError
from modeling.flow.plan_rates import Rates, arrival_rates
from modeling.flow.resources import Resource, Resources, resources
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Engine, Operator, Stream, Topology

JOB = Topology("job", (Operator("read"), Operator("count")), (Stream("read", "count"),))
PROFILES = {
    "read": OperatorProfile("read", 0.001, cpu_s=0.0005, cpu_s_error=0.0001, memory_mib=100.0),
    "count": OperatorProfile("count", 0.004, cpu_s=0.002, cpu_s_error=0.0002, memory_mib=200.0, memory_mib_s=0.5),
}
PACKED = PhysicalPlan(
    "job",
    {"read": 1, "count": 4},
    (
        Container(1, (Instance("read", 0), Instance("count", 0)), "fast"),
        Container(2, (Instance("count", 1), Instance("count", 2), Instance("count", 3)), "slow"),
    ),
)
UNPACKED = PhysicalPlan("job", {"read": 1, "count": 4})


def _rates(
    plan: PhysicalPlan = PACKED,
    per_s: float = 1000.0,
    *,
    profiles: dict[str, OperatorProfile] = PROFILES,
    topology: Topology = JOB,
) -> Rates:
    return arrival_rates(topology, profiles, plan, {topology.sources[0]: per_s})


def _found(size: ContainerSize = NOWHERE.container, per_s: float = 1000.0) -> Resources:
    return resources(JOB, PROFILES, PACKED, _rates(per_s=per_s), Site(container=size))


def test_cores__are_rate_times_cpu_of_a_tuple() -> None:
    found = _found()
    # 1000/s · 0.5 ms = 0.5; a quarter of 1000/s · 2 ms = 0.5 each
    assert found.cores["read"].tolist() == [0.5]
    assert found.cores["count"].tolist() == [0.5, 0.5, 0.5, 0.5]
    assert found.total_cores == 2.5
    assert {id: each.cores for id, each in found.containers.items()} == {1: 1.0, 2: 1.5}
    assert found.over == ()


def test_error_of_cores__adds_up_within_an_operator_and_by_squares_between_them() -> None:
    found = _found()
    # container 1: read 1000/s · 0.1 ms = 0.1, count 250/s · 0.2 ms = 0.05; container 2: three of count, 0.15
    assert found.containers[1].cores_error == pytest.approx((0.1**2 + 0.05**2) ** 0.5)
    assert found.containers[2].cores_error == pytest.approx(0.15)


def test_cpu_not_measured__is_taken_as_busy_time_and_said_so() -> None:
    profiles = {**PROFILES, "count": replace(PROFILES["count"], cpu_s=None, service_s_error=0.0004)}
    found = resources(JOB, profiles, PACKED, _rates(profiles=profiles), NOWHERE)
    assert found.cores["count"].tolist() == [1.0, 1.0, 1.0, 1.0]  # 250/s · 4 ms
    assert found.containers[2].cores_error == pytest.approx(0.3)  # a tenth of 3, as of the service time
    assert any("count" in note and "a bound" in note for note in found.notes)


def test_operator_that_costs_nothing__uses_no_cores_for_sure() -> None:
    profiles = {**PROFILES, "read": OperatorProfile("read", 0.0)}
    found = resources(JOB, profiles, PACKED, _rates(profiles=profiles), NOWHERE)
    assert found.cores["read"].tolist() == [0.0]
    assert found.containers[1].cores_error == pytest.approx(0.05)


def test_waiting_for_other_instances__uses_no_cores() -> None:
    slow = ScaleEfficiency(exponent=0.5)  # at 4 instances each tuple takes twice as long
    profiles = {**PROFILES, "count": replace(PROFILES["count"], efficiency=slow)}
    rates = _rates(profiles=profiles)
    assert rates.busy["count"].tolist() == [2.0, 2.0, 2.0, 2.0]
    assert resources(JOB, profiles, PACKED, rates, NOWHERE).cores["count"].tolist() == [0.5, 0.5, 0.5, 0.5]


def test_slow_node__uses_more_cores_for_the_same() -> None:
    site = Site(service_factor={"slow": 1.5})
    rates = arrival_rates(JOB, PROFILES, PACKED, {"read": 1000.0}, site)
    found = resources(JOB, PROFILES, PACKED, rates, site)
    assert found.cores["count"].tolist() == [0.5, 0.75, 0.75, 0.75]
    assert found.containers[2].cores == pytest.approx(2.25)
    assert found.containers[2].cores_error == pytest.approx(0.225)


def test_memory__is_idle_and_what_the_rate_adds() -> None:
    found = _found()
    # 200 + 250/s · 0.5 = 325
    assert found.memory_mib["count"] is not None
    assert found.memory_mib["count"].tolist() == [325.0, 325.0, 325.0, 325.0]
    assert found.containers[1].memory_mib == 425
    assert found.containers[2].memory_mib == 975
    assert found.total_memory_mib == 1400


def test_state_in_memory__follows_the_key_groups_of_each_instance() -> None:
    topology = Topology("job", (Operator("read"), Operator("count", 8)), (Stream("read", "count"),))
    plan = PhysicalPlan("job", {"read": 1, "count": 3})
    held = {**PROFILES, "count": replace(PROFILES["count"], memory_mib_s=0.0, state_gib=4.0)}
    on_disk = {**held, "count": replace(held["count"], state_in_memory=False)}
    rates = _rates(plan, topology=topology)
    # 8 key groups over 3 instances: 3, 3, 2; 512 MiB each, beside 200
    memory = resources(topology, held, plan, rates, NOWHERE).memory_mib["count"]
    assert memory is not None
    assert memory.tolist() == [1736.0, 1736.0, 1224.0]
    memory = resources(topology, on_disk, plan, rates, NOWHERE).memory_mib["count"]
    assert memory is not None
    assert memory.tolist() == [200.0, 200.0, 200.0]


def test_state_in_storm__follows_the_tasks_of_each_executor() -> None:
    operators = (Operator("read"), Operator("count", 5))
    topology = Topology("job", operators, (Stream("read", "count"),), Engine.STORM)
    plan = PhysicalPlan("job", {"read": 1, "count": 2})
    profiles = {**PROFILES, "count": replace(PROFILES["count"], memory_mib_s=0.0, state_gib=5.0)}
    # five tasks in executors of 3 and 2, 1024 MiB each
    memory = resources(topology, profiles, plan, _rates(plan, topology=topology), NOWHERE).memory_mib["count"]
    assert memory is not None
    assert memory.tolist() == [3272.0, 2248.0]


def test_memory_not_known__is_not_told_of_containers_that_hold_the_operator() -> None:
    profiles = {**PROFILES, "read": replace(PROFILES["read"], memory_mib=None)}
    found = resources(JOB, profiles, PACKED, _rates(), NOWHERE)
    assert found.memory_mib["read"] is None
    assert (found.containers[1].memory_mib, found.containers[2].memory_mib) == (None, 975)
    assert found.total_memory_mib is None
    assert any("read" in note and "memory" in note for note in found.notes)
    # What is known is too much already.
    site = Site(container=ContainerSize(memory_mib=300.0))
    assert "container 1" in resources(JOB, profiles, PACKED, _rates(), site).over[0].text


def test_container_over_its_cores__is_named_with_its_bound_and_what_to_move() -> None:
    found = _found(ContainerSize(cores=1.25))
    (pressure,) = found.over
    assert (pressure.where, pressure.resource, pressure.needed, pressure.limit) == (
        "container 2 on node slow",
        Resource.CORES,
        1.5,
        1.25,
    )
    assert pressure.text == (
        "container 2 on node slow needs 1.5 of 1.25 cores; move count[1] (0.5 cores) elsewhere, "
        "or give containers 1.5 cores"
    )
    assert found.containers[2].over == (pressure,)
    assert found.containers[1].over == ()


def test_container_with_room__is_named_as_the_place_to_go() -> None:
    third = Container(3, (Instance("count", 4),), "fast")
    plan = PhysicalPlan("job", {"read": 1, "count": 5}, (*PACKED.packing, third))
    # 1250/s: 0.625 cores for read, 0.5 for each count; 1.5 of 1.2 in container 2, 0.7 left in container 3
    found = resources(JOB, PROFILES, plan, _rates(plan, 1250.0), Site(container=ContainerSize(cores=1.2)))
    assert "move count[1] (0.5 cores) to container 3, which has 0.7 left" in found.over[0].text


def test_instance_larger_than_its_container__is_to_be_split() -> None:
    found = _found(ContainerSize(cores=0.4))
    assert "raise the parallelism of 'read' (read[0] alone needs 0.5 cores)" in found.containers[1].over[0].text
    unpacked = resources(JOB, PROFILES, UNPACKED, _rates(UNPACKED), Site(container=ContainerSize(cores=0.4)))
    assert [pressure.where for pressure in unpacked.over] == ["operator 'read'", "operator 'count'"]
    assert "raise the parallelism of 'count', or give containers 0.5 cores" in unpacked.over[1].text


def test_smallest_instance_that_is_enough__is_moved() -> None:
    profiles = {**PROFILES, "read": replace(PROFILES["read"], cpu_s=0.0009)}
    # container 1: 0.9 + 0.5 of 1 core, so 0.4 must go: count[0] is enough
    found = resources(JOB, profiles, PACKED, _rates(profiles=profiles), Site(container=ContainerSize(cores=1.0)))
    assert "move count[0]" in found.containers[1].over[0].text


def test_memory_near_its_limit__is_garbage_collection() -> None:
    found = _found(ContainerSize(memory_mib=1100.0))
    (pressure,) = found.over  # 975 of 1100 MiB: 89 %, above 935
    assert (pressure.resource, pressure.needed, pressure.limit) == (Resource.GC, 975, 935)
    assert pressure.text.startswith("container 2 on node slow needs 975 of 1100 MiB, more than 85%")
    assert pressure.text.endswith("or give containers 1147 MiB")  # 975/0.85
    over = _found(ContainerSize(memory_mib=900.0)).over
    assert [(each.resource, each.limit) for each in over] == [(Resource.MEMORY, 900.0)]


def test_memory_at_the_mark__is_no_pressure() -> None:
    assert _found(ContainerSize(memory_mib=975 / 0.85)).over == ()


def test_long_garbage_collection_when_measured__is_flagged_with_its_operator() -> None:
    profiles = {**PROFILES, "count": replace(PROFILES["count"], gc_share=0.14)}
    (pressure,) = resources(JOB, profiles, PACKED, _rates(), NOWHERE).over
    assert (pressure.where, pressure.resource) == ("operator 'count'", Resource.GC)
    assert "14%" in pressure.text
    assert "above 10%" in pressure.text


def _scales(found: Resources) -> dict[int, float]:
    return {id: container.headroom_factor for id, container in found.containers.items()}


def test_saturation_of_a_container__is_the_load_that_takes_all_its_cores() -> None:
    assert _scales(_found(ContainerSize(cores=3.0))) == {1: 3.0, 2: 2.0}
    # At twice the load container 2 takes all three cores: not a bit over.
    assert _found(ContainerSize(cores=3.0), 2000.0).over == ()
    assert _scales(_found()) == {1: float("inf"), 2: float("inf")}
    assert _scales(_found(ContainerSize(cores=3.0), 0.0)) == {1: float("inf"), 2: float("inf")}


def test_contention__slows_all_instances_of_the_container() -> None:
    tight = _found(ContainerSize(cores=1.25)).containers
    assert [tight[id].slowdown for id in (1, 2)] == pytest.approx([1.0, 1.2])  # 1.5 of 1.25 cores
    assert [each.slowdown for each in _found().containers.values()] == [1.0, 1.0]


def test_plan_without_packing__tells_totals_and_why_no_containers() -> None:
    found = resources(JOB, PROFILES, UNPACKED, _rates(UNPACKED), Site(container=ContainerSize(cores=1.0)))
    assert found.containers == {}
    assert (found.total_cores, found.total_memory_mib) == (2.5, 1400)
    assert found.notes == ("the plan has no packing: containers are not checked against their size",)


def test_packing_without_a_size__says_that_none_is_given() -> None:
    assert _found().notes == ("no container size is given: needs are estimated, but not compared with a size",)
    assert _found(ContainerSize(cores=4.0)).notes == ()


def test_empty_container__needs_nothing() -> None:
    plan = replace(PACKED, packing=(*PACKED.packing, Container(7, ())))
    found = resources(JOB, PROFILES, plan, _rates(plan), Site(container=ContainerSize(1.0, 100.0)))
    assert (found.containers[7].cores, found.containers[7].memory_mib, found.containers[7].over) == (0, 0, ())


def test_rates_of_another_plan__are_refused() -> None:
    other = PhysicalPlan("job", {"read": 1, "count": 3})
    with pytest.raises(ModelError, match=r"rates are of 3 instances of operator 'count', the plan has 4"):
        resources(JOB, PROFILES, PACKED, _rates(other), NOWHERE)
