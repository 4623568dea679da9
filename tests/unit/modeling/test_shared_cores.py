"""Latency of instances that share the cores of their container."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.limits import ContainerLimit
from modeling.inputs.calls import Calls
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.queueing.shared_cores import active_shares, stretches, stretches_in_containers

SERVICE_S = 0.01
ALONE = Topology("alone", (Operator("work"),), ())
PAIR = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
COMPUTES = {"work": OperatorProfile("work", SERVICE_S, cpu_s=SERVICE_S)}
PAIR_COMPUTES = {
    "a": OperatorProfile("a", SERVICE_S, cpu_s=SERVICE_S),
    "b": OperatorProfile("b", SERVICE_S, cpu_s=0.0),
}


def together(topology: Topology, *groups: dict[str, list[int]]) -> PhysicalPlan:
    """One container per group: indices of instances by operator."""
    packing = tuple(
        Container(number, tuple(Instance(name, index) for name, of in group.items() for index in of))
        for number, group in enumerate(groups, start=1)
    )
    counts = {name: sum(len(group.get(name, [])) for group in groups) for name in topology.order}
    return PhysicalPlan(topology.name, counts, packing)


def site(cores: float) -> Site:
    return Site(container=ContainerSize(cores=cores))


@pytest.mark.parametrize("used", [0.3, 0.6, 0.8])
def test_equal_instances_on_one_core__have_the_latency_of_one_queue(used: float) -> None:
    # Work is conserved: the three together are M/M/1 at the core's utilisation: 1/(μ - λ).
    load_per_s = used / SERVICE_S
    plan = together(ALONE, {"work": [0, 1, 2]})
    estimate = evaluate(ALONE, COMPUTES, plan, {"work": load_per_s}, site=site(1.0), percentiles=True)
    assert estimate.latency_s == pytest.approx(SERVICE_S / (1 - used), rel=0.02)
    assert estimate.latency is not None
    assert estimate.latency.mean_s == pytest.approx(estimate.latency_s, rel=0.01)


def test_a_quota_of_half_a_core__bounds_throughput_and_leaves_the_speed() -> None:
    # 20 ms of CPU in each slice of 100 ms, of which 50 are granted: M/M/1 with 10 ms of service at .2
    estimate = evaluate(ALONE, COMPUTES, together(ALONE, {"work": [0]}), {"work": 20.0}, site=site(0.5))
    assert estimate.latency_s == pytest.approx(0.010 / 0.8, rel=0.001)
    assert estimate.mst_per_s["work"] == pytest.approx(50.0)


@pytest.mark.parametrize(("instances", "still_ms"), [([0], 50), ([0, 1], 75)])
def test_a_quota__is_named_as_granted_in_slices(instances: list[int], still_ms: int) -> None:
    # 20 times 10 ms are .2 of .5 cores. One thread uses 50 ms in 50 ms, two in 25, and wait for the rest of 100.
    plan = together(ALONE, {"work": instances})
    (note,) = (
        note
        for note in evaluate(ALONE, COMPUTES, plan, {"work": 20.0}, site=site(0.5)).notes
        if "in slices of 100 ms" in note
    )
    assert "of which container 1 uses 40%" in note
    assert f"for up to {still_ms} ms" in note


def test_instances_with_a_core_for_each__do_not_wait_for_cores() -> None:
    plan = together(ALONE, {"work": [0, 1]})
    bounded, free = (evaluate(ALONE, COMPUTES, plan, {"work": 100.0}, site=of) for of in (site(2.0), Site()))
    assert bounded.latency_s == free.latency_s


def test_an_instance_that_waits_for_a_call__takes_no_core_from_others() -> None:
    plan = together(PAIR, {"a": [0], "b": [0, 1]})
    shared, free = (evaluate(PAIR, PAIR_COMPUTES, plan, {"a": 60.0}, site=of) for of in (site(1.0), Site()))
    assert shared.latency_s == pytest.approx(free.latency_s)


def test_containers__share_their_own_cores_alone() -> None:
    # Two of three instances share a core: they wait for each other, the third does not.
    plan = together(ALONE, {"work": [0, 1]}, {"work": [2]})
    estimate = evaluate(ALONE, COMPUTES, plan, {"work": 150.0}, site=site(1.0))
    # The shared core is full at 2 · 50/s · 10 ms; each instance gets a third of all.
    assert estimate.mst_per_s["work"] == pytest.approx(150.0)
    # At 90/s: two with 30/s on a core, M/M/1 at .6, and one alone at .3.
    estimate = evaluate(ALONE, COMPUTES, plan, {"work": 90.0}, site=site(1.0))
    assert estimate.latency_s == pytest.approx(2 / 3 * SERVICE_S / 0.4 + 1 / 3 * SERVICE_S / 0.7, rel=0.02)


def test_many_plans_at_once__have_the_latencies_of_each() -> None:
    plans = [
        together(PAIR, {"a": [0], "b": [0, 1]}),
        together(PAIR, {"a": [0], "b": [0]}, {"b": [1]}),
        together(PAIR, {"a": [0, 1, 2], "b": [0]}),
        together(PAIR, {"a": [0, 1], "b": [0]}, {"a": [2]}),
    ]
    profiles = {**PAIR_COMPUTES, "b": OperatorProfile("b", 0.004, cpu_s=0.003)}
    loads = [10.0, 40.0, 65.0]
    many = evaluate_many(PAIR, profiles, plans, {"a": loads}, site=site(1.0))
    assert many.latency is not None
    for row, plan in enumerate(plans):
        each = [evaluate(PAIR, profiles, plan, {"a": load}, site=site(1.0)).latency_s for load in loads]
        assert many.latency.mean_s[row] == pytest.approx(each, rel=1e-6)


def test_latency__grows_with_the_load_up_to_the_cores() -> None:
    plan = together(PAIR, {"a": [0], "b": [0, 1]})
    profiles = {**PAIR_COMPUTES, "b": OperatorProfile("b", 0.02, cpu_s=0.02)}
    saturation = evaluate(PAIR, profiles, plan, {"a": 1.0}, site=site(1.0)).mst_per_s["a"]
    loads = saturation * np.linspace(0.05, 0.99, 20)
    many = evaluate_many(PAIR, profiles, [plan], {"a": loads}, site=site(1.0))
    assert many.latency is not None
    assert (np.diff(many.latency.mean_s[0]) > 0).all()
    assert np.isfinite(many.latency.mean_s).all()


def test_a_thread_taken_out_of_all__leaves_the_others() -> None:
    # Poisson binomial of .2 and .9 on one core, of the first: others are .9 active, so 1 + .9.
    assert stretches(np.array([0.2, 0.9]), 1.0) == pytest.approx([1.9, 1.2])
    # Of three on two cores: 1 + P(both others active) / 2.
    assert stretches(np.array([0.5, 0.25, 0.75]), 2.0) == pytest.approx([1 + 0.1875 / 2, 1 + 0.375 / 2, 1 + 0.125 / 2])


def test_threads_without_a_container__wait_for_nobody() -> None:
    used = np.full((1, 3, 1), 0.3)
    stretch = stretches_in_containers(used, np.array([[0, 0, -1]]), 1.0)[0, :, 0]
    alone = active_shares(np.array([0.3, 0.3]), 1.0)[0] / 0.3
    assert stretch == pytest.approx([alone, alone, 1.0])


def test_pauses_of_garbage_collection__are_named_as_left_out() -> None:
    profiles = {"work": replace(COMPUTES["work"], gc_share=0.03)}
    estimate = evaluate(ALONE, profiles, together(ALONE, {"work": [0]}), {"work": 20.0})
    assert any("3.0% of the time in garbage collection" in note for note in estimate.notes)
    quiet = evaluate(ALONE, COMPUTES, together(ALONE, {"work": [0]}), {"work": 20.0})
    assert not any("garbage" in note for note in quiet.notes)


@pytest.mark.parametrize("used", [0.5, 0.9])
def test_an_instance_that_calls_bound__waits_for_a_core_beside_its_calls(used: float) -> None:
    # Each tuple takes 39 ms of the core by one of twelve `a` and 1 ms by `b`. Of 66 calls a second 23 are made at most,
    # one each 15 ms: `b` may wait 14 ms for the core before anybody queues behind it.
    profiles = {
        "a": OperatorProfile("a", 0.039, cpu_s=0.039),
        "b": OperatorProfile("b", 0.001, cpu_s=0.001, calls=Calls(10, 0.15)),
    }
    plan, load = together(PAIR, {"a": list(range(12)), "b": [0]}), {"a": used / 0.04}
    shared, free = (evaluate(PAIR, profiles, plan, load, site=of, percentiles=True) for of in (site(1.0), Site()))
    assert shared.operators["b"].wait_s == pytest.approx(free.operators["b"].wait_s, rel=1e-6)
    # Alike for all: the core is M/M/1 by processor sharing, which takes 1 / (1 - used) times as long.
    assert shared.latency_s == pytest.approx(0.04 / (1 - used) + 0.15, rel=0.1)
    assert shared.latency is not None
    assert shared.latency.mean_s == pytest.approx(shared.latency_s, rel=0.02)


def test_an_instance_whose_cpu_nobody_measured__takes_no_core_while_it_waits_for_calls() -> None:
    # 15 ms between two calls that end, of which 1 ms is work: half a core does 500 a second, and calls 66.7.
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.001, calls=Calls(10, 0.15))}
    estimate = evaluate(PAIR, profiles, together(PAIR, {"a": [0], "b": [0]}), {"a": 50.0}, site=site(0.5))
    assert estimate.mst_per_s["a"] == pytest.approx(10 / 0.15)
    assert estimate.other_limits[ContainerLimit(1)] == pytest.approx(500 / 50)


def test_instances_in_a_full_container__have_no_wait_of_many_years() -> None:
    profiles = {name: OperatorProfile(name, 0.0002, cpu_s=0.0002) for name in ("a", "b")}
    plan = together(PAIR, {"a": [0], "b": [0]})
    for load_per_s in np.linspace(2600.0, 4900.0, 100):
        estimate = evaluate(PAIR, profiles, plan, {"a": load_per_s}, site=site(1.0))
        assert {each.wait_s for each in estimate.operators.values()} == {float("inf")}


@pytest.mark.parametrize(
    ("cpu_s", "grouping", "named"),
    [
        # 20 µs / .5 for each tuple sent, and 30 to read it
        ((20e-6, 30e-6), Grouping.SHUFFLE, "a->b (70 µs)"),
        ((20e-6, 30e-6), Grouping.FORWARD, ""),
        ((20e-6, 70e-6), Grouping.SHUFFLE, ""),
    ],
)
def test_little_cpu_of_a_tuple__has_a_note_that_its_way_to_another_container_is_left_out(
    cpu_s: tuple[float, float], grouping: Grouping, named: str
) -> None:
    topology = replace(PAIR, streams=(Stream("a", "b", grouping),))
    profiles = {
        name: OperatorProfile(name, 1e-4, {"a->b": 0.5} if name == "a" else {}, cpu_s=of, samples=1)
        for name, of in zip("ab", cpu_s, strict=True)
    }
    plan = together(PAIR, {"a": [0], "b": [0]}, {"a": [1], "b": [1]})

    def said(**more: Site) -> list[str]:
        notes = evaluate(topology, profiles, plan, {"a": 10.0}, **more).notes
        return [note for note in notes if "from container to container" in note]

    assert [named in note for note in said(site=site(1.0))] == ([True] if named else [])
    assert said() == []  # no cores that it could take
