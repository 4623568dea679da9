"""CPU apart from waiting: instances that share cores, simulated, and measured as if each had a core to itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from shared_cores_by_steps import STEP_S, in_shared_cores

from modeling.calibration.calibrated import calibrated
from modeling.calibration.cpu_apart import BusyParts, CpuApart, cpu_apart
from modeling.calibration.operator_sample import OperatorSample, TaskBeside
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import Feature, OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.queueing.shared_cores import active_shares

CHAIN = Topology("chain", (Operator("a"), Operator("b"), Operator("c")), (Stream("a", "b"), Stream("b", "c")))


@dataclass(frozen=True)
class Work:
    """Instances of one operator. cpu_s, wait_s: of each tuple, first computing, then waiting. load_per_s: of all."""

    cpu_s: float
    wait_s: float
    load_per_s: float
    instances: int


def samples_of(works: Mapping[str, Work], cores: float, spans: int, span_s: float = 30.0) -> list[OperatorSample]:
    """All instances in one container, which deals the time of its cores evenly to those that compute.

    Arrivals are Poisson, computing is exponential. Loads differ from span to span, each operator's on its own, as
    windows and joins make them. Spans are simulated side by side, shape (spans, instances).
    """
    rng = np.random.default_rng(7)
    of = [(name, index, work) for name, work in works.items() for index in range(work.instances)]
    factors = {name: rng.uniform(0.6, 1.2, size=spans) for name in works}
    loads = np.stack([factors[name] * work.load_per_s / work.instances for name, _, work in of], axis=1)
    cpu_s, wait_s = (np.array([getattr(work, field) for *_, work in of]) for field in ("cpu_s", "wait_s"))
    busy_s, used_s, done = in_shared_cores(rng, loads * STEP_S, cpu_s, wait_s, cores, round(span_s / STEP_S))
    return [
        OperatorSample(
            name,
            index,
            span_s,
            float(busy_s[span, at]),
            0.0,
            float(done[span, at]),
            {},
            began_s=span * 1000.0,
            age_s=600.0,
            parallelism=work.instances,
            container="tm",
            container_cpu_s=float(used_s[span].sum()),
            container_cores=cores,
        )
        for span in range(spans)
        for at, (name, index, work) in enumerate(of)
    ]


def test_a_thread_alone__is_active_as_long_as_it_computes() -> None:
    assert active_shares(np.array([0.7]), 1.0) == pytest.approx([0.7])


def test_threads_within_their_cores__do_not_wait() -> None:
    # Two threads on two cores never share one.
    assert active_shares(np.array([0.9, 0.4]), 2.0) == pytest.approx([0.9, 0.4])


def test_two_threads_on_one_core__wait_for_each_other() -> None:
    # a = .3 (1 + a): a = 3/7
    assert active_shares(np.array([0.3, 0.3]), 1.0) == pytest.approx([3 / 7, 3 / 7])


def test_threads_that_need_more_than_their_cores__are_always_active() -> None:
    assert active_shares(np.array([0.9, 0.9, 0.9]), 1.0) == pytest.approx([1, 1, 1])


@pytest.mark.slow
def test_service_times__are_those_with_a_core_for_each_although_the_container_is_contended() -> None:
    # 4/12/2 ms of CPU per tuple at 1, 2 and 4 instances on two cores, which they use to 75 %:
    # 70 · 4 ms + 100 · 12 ms + 10 · 2 ms = 1.5 of 2 cores
    works = {"a": Work(0.004, 0.0, 70.0, 1), "b": Work(0.012, 0.0, 100.0, 2), "c": Work(0.002, 0.0, 10.0, 4)}
    samples = samples_of(works, 2.0, 8)
    declared = {name: OperatorProfile(name, 0.001) for name in works}
    of_b = [sample for sample in samples if sample.operator == "b"]
    assert sum(each.busy_s for each in of_b) / sum(each.records_in for each in of_b) > 1.1 * 0.012
    made = calibrated(CHAIN, samples, declared)
    for name, work in works.items():
        profile = made.operators[name].profile
        assert profile.service_s == pytest.approx(work.cpu_s, rel=0.1), name
        assert profile.cpu_s == pytest.approx(work.cpu_s, rel=0.1), name
    assert any("waited for a core" in note for note in made.operators["b"].notes)


@pytest.mark.slow
def test_waiting_for_something_else__stays_in_the_service_time_and_is_no_cpu() -> None:
    # b computes 1 ms and waits 9 ms for a remote system: 10 ms of service, of which a tenth is CPU.
    works = {"a": Work(0.004, 0.0, 100.0, 1), "b": Work(0.001, 0.009, 100.0, 2)}
    samples = samples_of(works, 1.0, 12)
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    profiles = calibrated(topology, samples, {name: OperatorProfile(name, 0.001) for name in works}).profiles
    assert profiles["b"].service_s == pytest.approx(0.010, rel=0.05)
    assert profiles["b"].cpu_s == pytest.approx(0.001, rel=0.3)
    assert profiles["a"].service_s == pytest.approx(0.004, rel=0.1)


def test_without_cores__cpu_is_shared_out_and_busy_times_stay() -> None:
    one = OperatorSample("a", 0, 10.0, 4.0, 0.0, 400.0, {}, container="tm", container_cpu_s=2.0)
    two = OperatorSample("b", 0, 10.0, 2.0, 0.0, 400.0, {}, container="tm", container_cpu_s=2.0)
    apart = cpu_apart([one, two])
    # 2 s of CPU in proportion to 4 s and 2 s of busy time
    assert [sample.busy_s for sample in apart.samples] == [4.0, 2.0]
    assert [sample.cpu_s for sample in apart.samples] == pytest.approx([4 / 3, 2 / 3], rel=0.05)
    assert apart.waited == {}


def test_samples_without_a_container__stay_as_they_are() -> None:
    sample = OperatorSample("a", 0, 10.0, 4.0, 0.0, 400.0, {})
    assert cpu_apart([sample]).samples == (sample,)


def _sample(name: str, busy_s: float, cpu_s: float, cores: float | None) -> OperatorSample:
    return OperatorSample(
        name, 0, 10.0, busy_s, 0.0, 400.0, {}, container="tm", container_cpu_s=cpu_s, container_cores=cores
    )


def test_busy_time_without_cpu__is_named_as_open_while_cores_are_unknown() -> None:
    (note,) = cpu_apart([_sample("a", 4.0, 1.0, None)]).notes("a")
    assert "computed in 25% of their busy time" in note
    assert "packing.cores" in note


def test_busy_time_without_cpu__counts_as_a_call_where_cores_are_free() -> None:
    # One thread on two cores never waits for one: 3 of 4 s are something else.
    apart = cpu_apart([_sample("a", 4.0, 1.0, 2.0)])
    assert apart.samples[0].busy_s == pytest.approx(4.0)
    (note,) = apart.notes("a")
    assert "75%" in note
    assert "other programs on its host" in note


def test_a_full_container__hides_calls_behind_its_cores_and_says_so() -> None:
    # Two instances busy all 10 s on one core that is in use all the time: each computes 5 s and waits 5 s.
    apart = cpu_apart([_sample("a", 10.0, 10.0, 1.0), _sample("b", 10.0, 10.0, 1.0)])
    assert [sample.busy_s for sample in apart.samples] == pytest.approx([5.0, 5.0], rel=0.02)
    assert any("calibrate once more under less load" in note for note in apart.notes("a"))


def test_a_quota_that_is_not_full__stretches_busy_times_no_more_than_a_whole_core() -> None:
    # Of .5 cores .3 are used. On one core .2 and .1 wait for each other: .2 (1 + .12) and .1 (1 + .22) are active,
    # so at most 12 and 22 % are waiting.
    apart = cpu_apart([_sample("a", 2.0, 3.0, 0.5), _sample("b", 1.0, 3.0, 0.5)])
    assert [sample.cpu_s for sample in apart.samples] == pytest.approx([2.0, 1.0], rel=0.2)
    of_a, of_b = (sample.busy_s for sample in apart.samples)
    assert 2.0 / 1.12 <= of_a <= 2.0
    assert 1.0 / 1.22 <= of_b <= 1.0


def _at(rate_per_s: float, began_s: float) -> list[OperatorSample]:
    """Two instances for 10 s in a container of .5 cores: 2 ms and 1 ms a tuple, .04 cores without work."""
    used_s = 10 * (0.003 * rate_per_s + 0.04)
    return [
        OperatorSample(
            name,
            0,
            10.0,
            10 * cpu_s * rate_per_s,
            0.0,
            10 * rate_per_s,
            {},
            began_s=began_s,
            container="tm",
            container_cpu_s=used_s,
            container_cores=0.5,
        )
        for name, cpu_s in (("a", 0.002), ("b", 0.001))
    ]


def test_cpu_that_no_rate_changes__is_use_without_work_and_lessens_what_its_container_can_do() -> None:
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    declared = {name: OperatorProfile(name, 0.1) for name in "ab"}
    samples = [sample for at, rate in enumerate((40.0, 90.0, 150.0)) for sample in _at(rate, 100.0 * at)]
    made = calibrated(topology, samples, declared)
    for name, cpu_s in (("a", 0.002), ("b", 0.001)):
        profile = made.operators[name].profile
        assert profile.container_idle_cores == pytest.approx(0.04, rel=0.1), name
        assert profile.intervals["container_idle_cores"][0] <= 0.04 <= profile.intervals["container_idle_cores"][1]
        assert profile.cpu_s == pytest.approx(cpu_s, rel=0.1), name
    # .46 cores are left for 3 ms a tuple
    together = PhysicalPlan("pair", {"a": 1, "b": 1}, (Container(1, (Instance("a", 0), Instance("b", 0))),))
    estimate = evaluate(topology, made.profiles, together, {"a": 1.0}, site=Site(container=ContainerSize(cores=0.5)))
    assert estimate.mst_per_s["a"] == pytest.approx(0.46 / 0.003, rel=0.02)


def test_one_load__takes_use_without_work_for_that_of_tuples() -> None:
    # 90/s · 3 ms + .04 = .31 cores, which 90 tuples a second use: 3.4 ms each
    apart = cpu_apart(_at(90.0, 0.0))
    assert apart.idle_cores is not None
    assert apart.idle_cores.low == 0
    used_s = sum(sample.cpu_s or 0.0 for sample in apart.samples) / 10
    assert used_s + apart.idle_cores.value == pytest.approx(0.31, rel=0.02)


def test_cpu_of_waking__is_no_loss_of_capacity_where_it_ends_at_full_load() -> None:
    # Container of .2 cores. Full, a tuple takes .2 / 25,000 = 8 µs of CPU; at 15,000/s that is .12 cores. It used .16,
    # so .04 to wake an instance that waits: a quota of .2 stops no work before it is used up, so it waits .88 of the
    # time, and .04 / .88 = .0455 is what waking takes of a container that only waits.
    one = Topology("one", (Operator("a"),), ())
    full, calm = ((25_000.0, 10.0, 2.0), (15_000.0, 4.0, 1.6))
    samples = [
        OperatorSample(
            "a", 0, 10.0, busy_s, 0.0, rate * 10, {}, began_s=began_s, container="x", container_cpu_s=cpu_s,
            container_cores=0.2, arrivals=rate * 10, parallelism=1,
        )
        for began_s, (rate, busy_s, cpu_s) in ((0.0, full), (20.0, full), (40.0, calm), (60.0, calm))
    ]  # fmt: skip
    profiles = calibrated(one, samples, {"a": OperatorProfile("a", 1e-5)}).profiles
    plan = PhysicalPlan("one", {"a": 1}, (Container(0, (Instance("a", 0),)),))

    def told(cores: float, load_per_s: float) -> tuple[float, float]:
        estimate = evaluate(one, profiles, plan, {"a": load_per_s}, site=Site(container=ContainerSize(cores=cores)))
        assert estimate.resources is not None
        return estimate.mst_per_s["a"], estimate.resources.total_cores

    assert told(0.2, 25_000) == pytest.approx((25_000, 0.2), rel=0.03)
    assert told(0.2, 15_000)[1] == pytest.approx(0.16, rel=0.05)
    assert told(0.4, 25_000)[0] == pytest.approx(50_000, rel=0.05)
    assert told(0.2, 24_900)[1] <= 0.2
    assert profiles["a"].container_waking_cores == pytest.approx(0.0455, rel=0.1)


def test_cpu_of_waking__is_of_the_container_with_the_source() -> None:
    # As above, with a reader in the source's container. Of a plan in which it has one of its own, that one wakes no
    # source: .12 for the tuples and 1 · .04 / .88 · (1 - .06) of waking, not twice as much.
    two = Topology("two", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    samples = [
        OperatorSample(
            name, 0, 10.0, busy_s, 0.0, rate * 10, {"a->b": rate * 10} if name == "a" else {}, began_s=began_s,
            container="x", container_cpu_s=cpu_s, container_cores=0.2, parallelism=1,
            arrivals=rate * 10 if name == "a" else None,
        )
        for began_s, (rate, busy_s, cpu_s) in (
            (0.0, (25_000.0, 10.0, 2.0)), (20.0, (25_000.0, 10.0, 2.0)),
            (40.0, (15_000.0, 4.0, 1.6)), (60.0, (15_000.0, 4.0, 1.6)),
        )
        for name in ("a", "b")
    ]  # fmt: skip
    profiles = calibrated(two, samples, {name: OperatorProfile(name, 1e-5) for name in ("a", "b")}).profiles
    apart = PhysicalPlan("two", {"a": 1, "b": 1}, tuple(Container(at, (Instance(n, 0),)) for at, n in enumerate("ab")))
    site = Site(container=ContainerSize(cores=0.2))
    estimate = evaluate(two, profiles, apart, {"a": 15_000}, site=site)
    assert estimate.resources is not None
    assert estimate.resources.total_cores == pytest.approx(0.12 + 0.0455 * 0.94, rel=0.05)
    assert profiles["b"].container_waking_cores == 0


def of_a_pair(
    container: str, operator: str, per_s: float, busy: float, cores_used: float, *, began_s: float, cores: float = 1.0
) -> OperatorSample:
    """Ten seconds of an instance in one of two containers, x and y."""
    return OperatorSample(
        operator, "xy".index(container), 10.0, 10 * busy, 0.0, 10 * per_s, {}, began_s=began_s, container=container,
        container_cpu_s=10 * cores_used, container_cores=cores, parallelism=2,
    )  # fmt: skip


PACES = (0.8, 0.9, 1.0, 1.1, 1.25)
"""Of a machine: work that a second of CPU does."""


def test_the_pace_of_the_machine_at_full_load__is_no_use_without_work() -> None:
    """A quota of .15 cores, of which .02 go without work, the rest for 1 ms a tuple: full, it works on 130/s times the
    pace, and uses .15 whatever it is. At 60/s it uses .08.
    """
    samples = [
        of_a_pair("x", "a", 130 * pace, 1.0, 0.15, began_s=100.0 * number, cores=0.15)
        for number, pace in enumerate(PACES)
    ]
    apart = cpu_apart([*samples, of_a_pair("x", "a", 60, 0.06, 0.08, began_s=1000.0, cores=0.15)])
    assert apart.idle_cores is not None
    assert apart.idle_cores.value <= 0.03
    at_full = [sample for sample in apart.samples if sample.records_in > 1000]
    per_tuple_s = sum(sample.cpu_s or 0.0 for sample in at_full) / sum(sample.records_in for sample in at_full)
    assert per_tuple_s == pytest.approx(0.001, rel=0.16)  # .02 of .15 are 15 % of the rest


def test_containers_at_the_same_pace__tell_whose_cpu_it_is() -> None:
    """Both are full. y takes in 1,000/s of 1 ms; x 800/s, as it works on 100/s of 2 ms, too. Busy time says otherwise:
    joins are busy for 6 s of 10, as they wait for the core, and would take 10 · .6 / 1.6 / 1,000 = 3.75 ms.
    """
    samples = [
        of_a_pair(container, operator, per_s * pace, busy, 1.0, began_s=100.0 * number)
        for number, pace in enumerate(PACES)
        for container, operator, per_s, busy in (("x", "a", 800, 1.0), ("x", "join", 100, 0.6), ("y", "a", 1000, 1.0))
    ]
    joins = [sample for sample in cpu_apart(samples).samples if sample.operator == "join"]
    per_tuple_s = sum(sample.cpu_s or 0.0 for sample in joins) / sum(sample.records_in for sample in joins)
    assert per_tuple_s == pytest.approx(0.002, rel=0.15)


def of_a_source_and_its_one_reader() -> CpuApart:
    """A source and the one reader that has keys, as measured of Nexmark's q15 on Flink, in four containers of .15 cores
    each (spans at full load, and at .6 of it). Sources poll: at .6 of the load they use more CPU, in w all there is.
    Containers without tasks used .0145 cores.
    """

    def sample(name: str, container: str, per_s: float, busy: float, blocked: float, used: float) -> OperatorSample:
        return OperatorSample(
            name, "wxyz".index(container), 25.0, 25 * busy, 25 * blocked, 25 * per_s, {}, container=container,
            container_cpu_s=25 * used, container_cores=0.15, parallelism={"a": 4, "b": 1}[name], age_s=600.0,
        )  # fmt: skip

    spans = [
        [
            sample("a", "w", a_per_s, a_busy, a_blocked, w_used),
            sample("b", "w", b_per_s, b_busy, 0.0, w_used),
            *(sample("a", at, per_s, busy, blocked, used) for at, (per_s, busy, blocked, used) in others.items()),
        ]
        for (a_per_s, a_busy, a_blocked), (b_per_s, b_busy), w_used, others in (
            (
                (913, 0.408, 0.592), (3260, 0.996), 0.1493,
                {"x": (879, 0.026, 0.974, 0.0467), "y": (880, 0.031, 0.969, 0.0404), "z": (875, 0.027, 0.973, 0.0399)},
            ),
            (
                (882, 0.410, 0.590), (3111, 0.995), 0.1485,
                {"x": (839, 0.028, 0.972, 0.0478), "y": (831, 0.026, 0.974, 0.0397), "z": (829, 0.028, 0.972, 0.0402)},
            ),
            (
                (522, 0.209, 0.0), (1895, 0.286), 0.1485,
                {"x": (523, 0.049, 0.0, 0.0777), "y": (507, 0.052, 0.0, 0.0688), "z": (504, 0.050, 0.0, 0.0704)},
            ),
            (
                (503, 0.153, 0.0), (1884, 0.226), 0.1474,
                {"x": (516, 0.050, 0.0, 0.0752), "y": (514, 0.046, 0.0, 0.0667), "z": (510, 0.049, 0.0, 0.0676)},
            ),
        )
    ]  # fmt: skip
    return cpu_apart([replace(each, began_s=100.0 * at) for at, span in enumerate(spans) for each in span], ["a"])


def cpu_at_full(apart: CpuApart, name: str) -> float:
    at_full = [one for one in apart.samples if one.operator == name and one.began_s < 150]
    return sum(one.cpu_s or 0.0 for one in at_full) / sum(one.records_in for one in at_full)


def test_polls_that_use_up_a_quota_below_full_load__are_not_the_pace_of_the_machine() -> None:
    # (.149 - .0145 - 898 · 30 µs) / 3,186 = 33.8 µs. As the machine's pace, .6 of the work deviates by a quarter.
    assert cpu_at_full(of_a_source_and_its_one_reader(), "b") == pytest.approx(33.8e-6, rel=0.05)


def test_polls_that_find_nothing__are_no_work_of_the_tuples_that_a_source_takes_in() -> None:
    # In y and z (.0401 - .0145) / 854 = 30 µs. Busy for .049 of the time at 510/s is 96 µs a tuple.
    apart = of_a_source_and_its_one_reader()
    assert cpu_at_full(apart, "a") == pytest.approx(30e-6, rel=0.15)
    assert apart.idle_cores is not None
    assert apart.idle_cores.value == pytest.approx(0.0145, abs=0.003)


@pytest.mark.parametrize("later_s", [0.0, 0.4])
def test_instances_that_are_read_a_little_later__share_the_cpu_of_their_container(later_s: float) -> None:
    # 2 and 1 ms of CPU a tuple and .04 cores without work, as reported by both; 10 s each.
    samples = [
        replace(each, began_s=100.0 * at + later_s * (each.operator == "b"))
        for at, rate in enumerate((40.0, 90.0, 150.0))
        for each in _at(rate, 0.0)
    ]
    apart = cpu_apart(samples)
    assert apart.idle_cores is not None
    assert apart.idle_cores.value == pytest.approx(0.04, rel=0.1)
    for name, cpu_s in (("a", 0.002), ("b", 0.001)):
        of = [each for each in apart.samples if each.operator == name]
        assert sum(each.cpu_s or 0.0 for each in of) == pytest.approx(cpu_s * 2800, rel=0.1)


def test_what_a_full_container_hides__is_told_by_one_that_has_cores_left() -> None:
    # A tuple of b computes 1 ms and waits 9 for a call. At 50/s two instances beside a (4 ms) take .3 of a core; at
    # full load all that b is busy for counts as waiting for the core, as it would without calls.
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    samples = []
    for began_s, per_s, used_s, busy_s in ((0.0, 50.0, 2.5, (2.0, 5.0)), (100.0, 200.0, 10.0, (10.0, 10.0))):
        for name, each_s in zip("ab", busy_s, strict=True):
            one = _sample(name, each_s, used_s, 1.0)
            samples.append(replace(one, records_in=10 * per_s, began_s=began_s, parallelism=1, age_s=600.0))
    made = calibrated(topology, samples, {name: OperatorProfile(name, 0.1) for name in "ab"}).operators["b"]
    assert made.profile.service_s == pytest.approx(0.010, rel=0.06)


def test_a_source_that_waits_for_a_core__takes_in_no_more_than_it_gets() -> None:
    # Both have tuples all the time and share one core: that the source computes for 5 of 10 s does not mean that no
    # more was offered than the 500 a second that it took in.
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    samples = [replace(_sample(name, 10.0, 10.0, 1.0), records_in=5000.0, began_s=0.0) for name in "ab"]
    made = calibrated(topology, samples, {name: OperatorProfile(name, 0.1) for name in "ab"})
    assert made.profiles["a"].service_s == pytest.approx(0.001, rel=0.05)
    assert made.offered["a"].rate_per_s == pytest.approx(500.0)
    assert made.offered["a"].censored
    assert [marked.why for marked in made.operators["a"].censored] == ["busy for 100% of its span"]


def test_use_without_work_that_may_be_polls__is_named_unless_a_load_is_full() -> None:
    # Of .5 cores .1 are used without work, and 1 ms by each tuple: 20 % that full load may leave nothing of.
    def noted(*busy: float) -> bool:
        samples = [
            OperatorSample(
                "a", 0, 10.0, 10 * share, 0.0, 4000 * share, {}, began_s=100.0 * at, container="tm",
                container_cpu_s=10 * (0.1 + 0.4 * share), container_cores=0.5,
            )
            for at, share in enumerate(busy)
        ]  # fmt: skip
        of_reader, of_source = (cpu_apart(samples, sources).notes("a") for sources in ([], ["a"]))
        assert not any("polls" in note for note in of_reader)
        return any("of their cores without work" in note and "polls" in note for note in of_source)

    assert noted(0.2, 0.4, 0.6)
    assert not noted(0.2, 0.4, 0.6, 0.97)


def test_mixes_of_an_earlier_plan__tell_operators_apart_too() -> None:
    def there(container: str, began_s: float, **instances: int) -> list[OperatorSample]:
        return [
            replace(_sample(name, 2.0, 4.0, 4.0), index=index, container=container, began_s=began_s, age_s=600.0)
            for name, count in instances.items()
            for index in range(count)
        ]

    before = [*there("x", 0.0, a=2, b=1), *there("y", 0.0, a=1, b=2)]
    after = [*there("x", 900.0, a=1, b=1), *there("y", 900.0, a=2, b=2)]
    assert cpu_apart(after).beside == {"a": ["b"], "b": ["a"]}
    assert cpu_apart([*before, *after]).beside == {"a": [], "b": []}


def test_a_container_that_compiles_code_after_its_start__tells_nothing_of_the_cpu_of_tuples() -> None:
    # 3 ms of CPU a tuple, of which b takes 1: five times as much in the first 10 s, at 40/s as later.
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    declared = {name: OperatorProfile(name, 0.1) for name in "ab"}
    cold = [
        replace(each, age_s=1.0, busy_s=each.busy_s * 2, container_cpu_s=5 * (each.container_cpu_s or 0.0))
        for each in _at(40.0, 0.0)
    ]
    warm = [
        replace(each, age_s=600.0) for at, rate in enumerate((40.0, 90.0, 150.0), 1) for each in _at(rate, 600 * at)
    ]
    for warm_s, samples in ((20.0, [*cold, *warm]), (60.0, [replace(each, age_s=40.0) for each in cold] + warm)):
        made = calibrated(topology, samples, declared, warm_s=warm_s)
        for name, cpu_s in (("a", 0.002), ("b", 0.001)):
            assert made.profiles[name].cpu_s == pytest.approx(cpu_s, rel=0.1), name
            assert made.profiles[name].container_idle_cores == pytest.approx(0.04, rel=0.1), name


def test_inputs_that_take_unequally_long__lend_no_cpu_to_other_operators() -> None:
    # A join of tuples of 2 ms and of 8 ms, beside a reader of the former with 1 ms: their mix changes from span to
    # span, and a mean of all the join's tuples would leave the reader with what the dear ones take.
    topology = Topology("rules", (Operator("a"), Operator("r"), Operator("j"), Operator("c")), (
        Stream("a", "j"), Stream("r", "j"), Stream("a", "c"),
    ))  # fmt: skip
    samples = []
    for at, (of_a, of_r) in enumerate(((4000.0, 400.0), (6000.0, 1200.0), (2000.0, 1200.0), (6000.0, 400.0))):
        by = {"a->j": of_a, "r->j": of_r}
        joining_s, used_s = 0.002 * of_a + 0.008 * of_r, 0.003 * of_a + 0.008 * of_r
        placed = {"began_s": 60.0 * at, "container": "tm", "container_cpu_s": used_s, "container_cores": 4.0}
        samples.append(OperatorSample("j", 0, 30.0, joining_s, 0.0, of_a + of_r, {}, records_in_by=by, **placed))
        samples.append(OperatorSample("c", 0, 30.0, 0.001 * of_a, 0.0, of_a, {}, **placed))
    profiles = calibrated(topology, samples, {name: OperatorProfile(name, 0.1) for name in "arjc"}).profiles
    assert profiles["c"].cpu_s == pytest.approx(0.001, rel=0.02)
    # (18,000 · 2 ms + 3200 · 8 ms) over 21,200
    assert profiles["j"].cpu_s == pytest.approx(61.6 / 21_200, rel=0.02)


@pytest.mark.slow
def test_tasks_of_another_job_in_the_container__keep_their_cpu_and_lengthen_no_tuple() -> None:
    # 100 · 4 ms + 40 · 8 ms = .72 of two cores, and .4 by two instances of another job: 20 tuples a second of 20 ms.
    works = {"a": Work(0.004, 0.0, 100.0, 1), "b": Work(0.008, 0.0, 40.0, 2), "other": Work(0.02, 0.0, 20.0, 2)}
    every = samples_of(works, 2.0, 6)
    beside = {
        began_s: tuple(
            TaskBeside("job vertex", of.index, of.busy_s, 0.0, of.records_in)
            for of in every
            if of.operator == "other" and of.began_s == began_s
        )
        for began_s in {of.began_s for of in every}
    }
    shared = {"features": (Feature.OTHER_JOBS,)}
    own = [replace(of, beside=beside[of.began_s], **shared) for of in every if of.operator != "other"]
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    declared = {name: OperatorProfile(name, 0.001) for name in ("a", "b")}
    profiles = calibrated(topology, own, declared).profiles
    for name in ("a", "b"):
        assert profiles[name].cpu_s == pytest.approx(works[name].cpu_s, rel=0.1)
        assert profiles[name].service_s == pytest.approx(works[name].cpu_s, rel=0.1)
    # Loads are .6 to 1.2 times as high, .9 on average.
    assert profiles["a"].container_idle_cores == pytest.approx(0.9 * 0.4, rel=0.15)
    # A container of two cores leaves the job the rest: (2 - .36) / (4 ms + 8 ms) if each tuple of a becomes one of b.
    where = PhysicalPlan(
        "pair", {"a": 4, "b": 4}, (Container(1, tuple(Instance(n, i) for n in "ab" for i in range(4))),)
    )
    known = {name: replace(of, selectivity={"a->b": 1.0} if name == "a" else {}) for name, of in profiles.items()}
    told = evaluate(topology, known, where, {"a": 1.0}, site=Site(container=ContainerSize(cores=2.0)))
    assert told.mst_per_s["a"] == pytest.approx(1.64 / 0.012, rel=0.1)
    assert any("containers of a, b also ran tasks of other jobs" in note for note in told.notes)


def test_tasks_of_another_job__in_a_full_container_take_their_part_of_its_cpu_by_their_busy_time() -> None:
    # One core: the job's instance and another job's were both busy all 10 s, and so waited half of it for a core.
    beside = (TaskBeside("job vertex", 0, 10.0, 0.0, 100.0),)
    sample = OperatorSample(
        "a", 0, 10.0, 10.0, 0.0, 500.0, {}, container="tm", container_cpu_s=10.0, container_cores=1.0, beside=beside
    )
    (apart,) = cpu_apart([sample]).samples
    assert (apart.cpu_s, apart.busy_s) == pytest.approx((5.0, 5.0), rel=0.01)


@pytest.mark.parametrize("readers", [1, 2])
def test_containers_of_different_mixes__tell_whose_cpu_it_is_where_busy_times_do_not(readers: int) -> None:
    # A tuple costs the source 10 ms and a reader 2, but readers are busy as long: they wait for something. 50 tuples a
    # second of each of two sources, whose containers have .5 cores of them and .1 for each 50 that a reader gets.
    def sample(name: str, at: int, per_s: float, container_cores: float) -> OperatorSample:
        return OperatorSample(
            name,
            at,
            60.0,
            30.0,
            0.0,
            60.0 * per_s,
            {},
            container=f"tm {at}",
            container_cpu_s=60.0 * container_cores,
            container_cores=1.0,
            age_s=600.0,
            parallelism=2 if name == "a" else readers,
        )

    of_reader = 100.0 / readers
    used = [0.5 + (0.002 * of_reader if at < readers else 0.0) for at in (0, 1)]
    samples = [sample("a", at, 50.0, used[at]) for at in (0, 1)]
    samples += [sample("b", at, of_reader, used[at]) for at in range(readers)]
    apart = cpu_apart(samples, ["a"])
    cpu_s = {name: sum(each.cpu_s or 0.0 for each in apart.samples if each.operator == name) / 6000 for name in "ab"}
    noted = [any("busy time alone" in note for note in apart.notes(name)) for name in "ab"]
    if readers == 1:
        assert cpu_s == pytest.approx({"a": 0.010, "b": 0.002}, rel=0.15)
        assert noted == [False, False]
    else:
        assert cpu_s["b"] > 0.004  # nothing says that it is less
        assert noted == [True, True]
    topology = Topology("pair", (Operator("a"), Operator("b")), (Stream("a", "b"),))
    known = calibrated(topology, samples, {name: OperatorProfile(name, 0.0) for name in "ab"}).profiles

    def warns(of_readers: int) -> bool:
        told = evaluate(topology, known, PhysicalPlan("pair", {"a": 2, "b": of_readers}), {"a": 1.0})
        return any("told apart by busy time alone" in note for note in told.notes)

    assert [warns(1), warns(2)] == [readers == 2, False]


def test_a_job_of_one_operator__shares_its_cpu_with_no_other() -> None:
    one = BusyParts(busy_s=50.0, cpu_s=45.0)
    alone = CpuApart((), {"a": one}, unsure={"a": 0.11})
    assert alone.notes("a") == ()
    beside = CpuApart((), {"a": one, "b": one}, unsure={"a": 0.11})
    assert [note[:8] for note in beside.notes("a")] == ["what 11%"]


def test_readers_of_one_mix__are_named_though_their_source_is_told_apart() -> None:
    # A tuple costs a 2 ms, and a is alone in one of three containers. Beside it b and c, whose tuples cost 2 and 14 ms,
    # are busy as long as each other, and wait for most of it: 25 and 50 a second take .05 + .1 + .7 cores.
    def sample(name: str, at: int, per_s: float) -> OperatorSample:
        return OperatorSample(
            name,
            at,
            60.0,
            50.0,
            0.0,
            60.0 * per_s,
            {},
            container=f"tm {at}",
            container_cpu_s=60.0 * (0.05 if at == 2 else 0.85),
            container_cores=1.0,
            age_s=600.0,
            parallelism=3 if name == "a" else 2,
        )

    samples = [sample("a", at, 25.0) for at in range(3)]
    samples += [sample(name, at, 50.0) for name in "bc" for at in range(2)]
    apart = cpu_apart(samples, ["a"])
    told = {name: " ".join(apart.notes(name)) for name in "abc"}
    assert "told from that of c by busy time alone" in told["b"]
    assert "told from that of b by busy time alone" in told["c"]
    assert "busy time alone" not in told["a"]
    readers = {Feature.BUSY_TIME_ALONE}
    assert [apart.features(name) for name in "abc"] == [set(), readers, readers]


def test_an_operator_without_a_container__runs_beside_no_other() -> None:
    placed = [
        OperatorSample("a", at, 60.0, 30.0, 0.0, 600.0, {}, container=f"tm {at}", container_cpu_s=30.0) for at in (0, 1)
    ]
    apart = cpu_apart([*placed, OperatorSample("b", 0, 60.0, 30.0, 0.0, 600.0, {})])
    assert apart.beside == {"a": []}
