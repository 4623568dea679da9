"""Latency in graphs whose queues are not independent, beside simulations of whole graphs.

Simulated means and p95s: the cases of `python benchmarks/queueing.py --graphs`, seed 1.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.queueing.bursts import Arrivals, Bursts
from tests.unit.modeling.lindley import Floats, departures_s

Ints = npt.NDArray[np.int64]

BURSTS = Bursts(0.2, 4.0, 2.0)


def graph(profiles: Profiles, *streams: tuple[str, str], grouping: Grouping = Grouping.SHUFFLE) -> Topology:
    return Topology("graph", tuple(map(Operator, profiles)), tuple(Stream(*ends, grouping) for ends in streams))


def profiled(**services_s: float) -> dict[str, OperatorProfile]:
    return {name: OperatorProfile(name, seconds) for name, seconds in services_s.items()}


def assert_simulated(
    topology: Topology,
    profiles: Profiles,
    load: Mapping[str, float],
    simulated_ms: tuple[float, float],
    parallelism: Mapping[str, int] | None = None,
    arrivals: Arrivals | None = None,
) -> None:
    """Hold both estimates to 10 % of the simulated mean and 15 % of the p95."""
    plan = PhysicalPlan("graph", dict.fromkeys(profiles, 1) if parallelism is None else dict(parallelism))
    varied = Arrivals() if arrivals is None else arrivals
    one = evaluate(topology, profiles, plan, load, percentiles=True, arrival_cv2=varied).latency
    many = evaluate_many(topology, profiles, [plan], {k: [v] for k, v in load.items()}, arrival_cv2=varied).latency
    assert one is not None
    assert many is not None
    for mean_s, p95_s in ((one.mean_s, one.p95_s), (float(many.mean_s[0, 0]), float(many.p95_s[0, 0]))):
        assert 1000 * mean_s == pytest.approx(simulated_ms[0], rel=0.1)
        assert 1000 * p95_s == pytest.approx(simulated_ms[1], rel=0.15)


@pytest.mark.parametrize(("bursty", "simulated_ms"), [("a", (1970, 7690)), ("b", (27.6, 93.2))])
def test_join_of_long_and_short_tuples__waits_by_the_work_that_bursts(
    bursty: str, simulated_ms: tuple[float, float]
) -> None:
    service_s = {"a->join": 0.012, "b->join": 0.002}
    profiles = {**profiled(a=0.0, b=0.0), "join": OperatorProfile("join", 0.007, stream_service_s=service_s)}
    arrivals = Arrivals(by_source={bursty: Arrivals(1.0, BURSTS)})
    topology = graph(profiles, ("a", "join"), ("b", "join"))
    assert_simulated(topology, profiles, {"a": 40.0, "b": 40.0}, simulated_ms, arrivals=arrivals)


@pytest.mark.parametrize(
    ("load", "simulated_ms"), [({"a": 40.0, "b": 40.0}, (1100, 5460)), ({"a": 20.0, "b": 100.0}, (38.6, 173))]
)
def test_latency_of_a_bursty_stream__stays_its_own_where_a_steady_one_joins(
    load: dict[str, float], simulated_ms: tuple[float, float]
) -> None:
    profiles = profiled(a=0.0, b=0.0, x=0.012, y=0.002, join=0.005)
    topology = graph(profiles, ("a", "x"), ("b", "y"), ("x", "join"), ("y", "join"))
    assert_simulated(topology, profiles, load, simulated_ms, arrivals=Arrivals(by_source={"a": Arrivals(1.0, BURSTS)}))


@pytest.mark.parametrize(("made_cv2", "simulated_ms"), [(None, (103, 276)), (0.8, (150, 441))])
def test_batches_of_one_tuple__meet_again_where_a_diamond_joins(
    made_cv2: float | None, simulated_ms: tuple[float, float]
) -> None:
    arms = {"s->x": 5.0, "s->y": 5.0}
    varied = {} if made_cv2 is None else dict.fromkeys(arms, made_cv2)
    profiles = profiled(x=0.012, y=0.006, j=0.006)
    profiles["s"] = OperatorProfile("s", 0.002, arms, selectivity_cv2=varied)
    topology = graph(profiles, ("s", "x"), ("s", "y"), ("x", "j"), ("y", "j"))
    assert_simulated(topology, profiles, {"s": 10.0}, simulated_ms)


@pytest.mark.parametrize("per_s", [100.0, 300.0])
def test_copies_that_meet_at_once__are_batches_of_two(per_s: float) -> None:
    # M^X/M/1 with X = 2: a tuple stays for (1 + E[X²]/E[X]) / 2 · s / (1 − ρ) = 1.5 · 1.35 ms / (1 − ρ).
    profiles = profiled(s=1e-7, x=1e-7, y=1e-7, j=0.00135)
    topology = graph(profiles, ("s", "x"), ("s", "y"), ("x", "j"), ("y", "j"))
    plan = PhysicalPlan("graph", dict.fromkeys(profiles, 1))
    estimate = evaluate(topology, profiles, plan, {"s": per_s}, percentiles=True)
    assert estimate.latency is not None
    took_s = 1.5 * 0.00135 / (1 - 2 * per_s * 0.00135)
    assert estimate.latency.mean_s == pytest.approx(took_s, rel=0.02)
    assert estimate.latency_s == pytest.approx(took_s, rel=0.02)


def test_tuples_that_go_either_way__do_not_meet() -> None:
    # Half of them each way, one by one: M/M/1, a tuple stays for 2.7 ms / (1 − .81).
    profiles = profiled(x=1e-7, y=1e-7, j=0.0027) | {"s": OperatorProfile("s", 1e-7, {"s->x": 0.5, "s->y": 0.5})}
    topology = graph(profiles, ("s", "x"), ("s", "y"), ("x", "j"), ("y", "j"))
    estimate = evaluate(topology, profiles, PhysicalPlan("graph", dict.fromkeys(profiles, 1)), {"s": 300.0})
    assert estimate.latency_s == pytest.approx(0.0027 / (1 - 0.81), rel=0.01)
    # Unless half of them go each way whatever the other does: then a quarter of all meet.
    (note,) = [note for note in estimate.notes if "as few of" in note]
    assert note.startswith("tuples of s are taken to go by as few of s->x, s->y as they can: those that go by several")


def _copied_ms(
    arms_s: tuple[float, ...], instances: tuple[int, ...], join_s: float, joins: int, *, by_key: bool
) -> tuple[float, float]:
    """Mean and p95 of copies of 300 tuples a second over these arms, each round robin over its instances, that meet
    again, round robin too or by a key that copies have in common; all exponential, by Lindley's recursion.
    """
    rng = np.random.default_rng(7)

    def passed(arrivals_s: Floats, at: Ints, service_s: float) -> Floats:
        left_s, services_s = np.empty_like(arrivals_s), rng.exponential(service_s, arrivals_s.size)
        for instance in range(at.max() + 1):
            its = np.flatnonzero(at == instance)
            its = its[np.argsort(arrivals_s[its], kind="stable")]
            left_s[its] = departures_s(arrivals_s[its], services_s[its])
        return left_s

    begun_s, keys = np.cumsum(rng.exponential(1 / 300, 150_000)), rng.integers(0, joins, 150_000)
    met_s, turns = [], []
    for service_s, count in zip(arms_s, instances, strict=True):
        sender = np.arange(begun_s.size) % count
        met_s.append(passed(begun_s, sender, service_s))
        turn = np.empty(begun_s.size, dtype=np.int64)
        for instance in range(count):
            its = np.flatnonzero(sender == instance)
            turn[its] = (np.arange(its.size) + instance) % joins
        turns.append(keys if by_key else turn)
    took_s = passed(np.concatenate(met_s), np.concatenate(turns), join_s) - np.tile(begun_s, len(arms_s))
    return 1000 * float(took_s.mean()), 1000 * float(np.quantile(took_s, 0.95))


@pytest.mark.parametrize(
    ("arms_s", "instances", "join_s", "joins", "by_key"),
    [
        ((0.003, 0.003), (2, 2), 0.0013, 1, False),
        ((0.003, 0.003, 0.003), (2, 2, 2), 0.0009, 1, False),
        ((0.0055, 0.0029), (4, 2), 0.004, 3, False),
        ((0.003, 0.003), (2, 2), 0.0036, 3, True),
        ((0.001, 0.001), (2, 2), 0.01, 8, True),
    ],
)
def test_copies_of_a_tuple__wait_for_each_other_where_they_meet(
    arms_s: tuple[float, ...], instances: tuple[int, ...], join_s: float, joins: int, *, by_key: bool
) -> None:
    arms = dict(zip("xyz", arms_s, strict=False))
    profiles = profiled(s=1e-7, **arms, j=join_s)
    joined = tuple(Stream(arm, "j", Grouping.FIELDS if by_key else Grouping.SHUFFLE) for arm in arms)
    streams = (*(Stream("s", arm) for arm in arms), *joined)
    topology = Topology("graph", tuple(map(Operator, profiles)), streams)
    parallelism = {"s": 1, **dict(zip(arms, instances, strict=True)), "j": joins}
    simulated_ms = _copied_ms(arms_s, instances, join_s, joins, by_key=by_key)
    assert_simulated(topology, profiles, {"s": 300.0}, simulated_ms, parallelism)


def test_streams_that_carry_nothing__meet_without_a_number_that_is_none() -> None:
    made = {"s->j:0": 0.0, "s->j:1": 0.0, "s->j:2": 0.3}
    profiles = {"s": OperatorProfile("s", 0.0, made, polling=Polling(0.0, 20)), "j": OperatorProfile("j", 0.006)}
    groupings = (Grouping.SHUFFLE, Grouping.SHUFFLE, Grouping.FIELDS)
    streams = tuple(Stream("s", "j", grouping, str(number)) for number, grouping in enumerate(groupings))
    topology = Topology("graph", tuple(map(Operator, profiles)), streams)
    estimate = evaluate(topology, profiles, PhysicalPlan("graph", {"s": 1, "j": 1}), {"s": 100.0})
    # 100 · .3 / s of 6 ms each.
    assert estimate.operators["j"].utilisation == pytest.approx(0.18)


@pytest.mark.parametrize(
    ("parallelism", "per_s", "simulated_ms"), [((8, 8, 8, 8), 720.0, (114, 212)), ((8, 6, 4, 3), 270.0, (64.7, 101))]
)
def test_many_even_senders__coincide_at_even_services(
    parallelism: tuple[int, ...], per_s: float, simulated_ms: tuple[float, float]
) -> None:
    profiles = {name: OperatorProfile(name, 0.01, service_cv2=0.0) for name in "abcd"}
    topology = graph(profiles, ("a", "b"), ("b", "c"), ("c", "d"))
    counts = dict(zip("abcd", parallelism, strict=True))
    assert_simulated(topology, profiles, {"a": per_s}, simulated_ms, counts)


def noted(
    topology: Topology, profiles: Profiles, load: Mapping[str, float], site: Site | None = None
) -> tuple[str, ...]:
    plan = PhysicalPlan("graph", dict.fromkeys(profiles, 1))
    return evaluate(topology, profiles, plan, load, site=Site() if site is None else site).notes


def test_two_streams_read_by_key__may_wait_for_partners() -> None:
    # Simulated, a join that waits is 27 % longer.
    profiles = profiled(a=0.001, b=0.001, j=0.001)
    keyed = graph(profiles, ("a", "j"), ("b", "j"), grouping=Grouping.FIELDS)
    assert noted(keyed, profiles, {"a": 10.0, "b": 10.0}) == (
        "j reads a->j and b->j by key: if it joins them, waits for partners are left out of latencies, and a tuple is "
        "taken to cost and make as much at any rate, while pairs grow with the square of it",
    )
    assert noted(graph(profiles, ("a", "j"), ("b", "j")), profiles, {"a": 10.0, "b": 10.0}) == ()


def test_a_join_of_copies__is_told_as_if_they_had_one_key() -> None:
    # Simulated at eight instances: with keys of their own, 35 % longer is told than is true.
    profiles = profiled(a=0.001, b=0.001, j=0.001)
    copies = graph(profiles, ("a", "b"), ("a", "j"), ("b", "j"), grouping=Grouping.FIELDS)
    (note,) = noted(copies, profiles, {"a": 10.0})
    assert note.endswith("copies of a tuple are taken to have one key: else they take up to a quarter less")


def test_batches_that_wait_twice__are_noted() -> None:
    profiles = profiled(x=0.03, j=0.04)
    profiles["s"] = OperatorProfile("s", 0.001, {"s->x": 5.0}, selectivity_cv2={"s->x": 0.8})
    topology = graph(profiles, ("s", "x"), ("x", "j"))
    note = "tuples that s makes of one wait at x and then at j, long or short at both: p95 up to a fifth too short"
    # x is busy for .3 and j for .4 at 2/s, half of that at 1/s.
    assert note in noted(topology, profiles, {"s": 2.0})
    assert note not in noted(topology, profiles, {"s": 1.0})


@pytest.mark.parametrize(("made", "made_cv2", "lost"), [(20, None, "20%"), (10, 0.9, "19%")])
def test_small_buffers_behind_batches__lose_what_was_simulated(made: int, made_cv2: float | None, lost: str) -> None:
    # Simulated 0.794 and 0.811 of the throughput of one operator alone.
    varied = {} if made_cv2 is None else {"s->x": made_cv2}
    profiles = {
        "s": OperatorProfile("s", 0.001 * made, {"s->x": float(made)}, selectivity_cv2=varied),
        **profiled(x=0.001),
    }
    # Ten buffers of 32 KiB hold 32 tuples of 10 KiB.
    site = Site(bytes_per_tuple={"s->x": 10 * 1024.0})
    notes = noted(graph(profiles, ("s", "x")), profiles, {"s": 900.0 / made}, site)
    assert any(f"buffers of s->x hold about 32 tuples: beyond saturation up to {lost} less" in note for note in notes)


def sharing(used: float) -> Estimate:
    """Two instances each of three operators in line on two cores."""
    profiles = {name: OperatorProfile(name, 0.01, cpu_s=0.01, memory_mib=1.0) for name in "abc"}
    instances = tuple(Instance(name, index) for name in "abc" for index in range(2))
    plan = PhysicalPlan("graph", dict.fromkeys("abc", 2), (Container(1, instances),))
    topology, site = graph(profiles, ("a", "b"), ("b", "c")), Site(ContainerSize(cores=2.0))
    return evaluate(topology, profiles, plan, {"a": used * 2 / 0.03}, site=site)


@pytest.mark.parametrize(("used", "simulated_ms"), [(0.49, 41.8), (0.7, 61.5), (0.85, 109), (0.94, 240)])
def test_operators_in_line_that_share_cores__take_as_long_as_simulated(used: float, simulated_ms: float) -> None:
    assert 1000 * sharing(used).latency_s == pytest.approx(simulated_ms, rel=0.1)


@pytest.mark.parametrize(("used", "note"), [(0.3, None), (0.7, "the p95 up to 28% too short"), (0.94, "factor of two")])
def test_crowded_cores__are_noted_with_what_simulations_say(used: float, note: str | None) -> None:
    notes = sharing(used).notes
    assert notes == () if note is None else any(note in each for each in notes)
