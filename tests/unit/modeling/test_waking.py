"""Waking an idle instance, which engines count as busy, is kept out of service times where loads tell it."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import Calibrated, calibrated
from modeling.calibration.measured import measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import sifted
from modeling.calibration.waking import Waking, waking
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology

LINE = Topology("line", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c")))
DECLARED = {name: OperatorProfile(name, 1.0) for name in "abc"}
SPAN_S = 60.0


def busy(name: str, count: float, busy_s: float, began_s: float) -> OperatorSample:
    out = {f"{name}->{chr(ord(name) + 1)}": count} if name != "c" else {}
    return OperatorSample(name, 0, SPAN_S, busy_s, 0.0, count, out, began_s=began_s, age_s=600.0)


def woken(name: str, service_s: float, wake_s: float, count: float, began_s: float) -> OperatorSample:
    """busy = count · (s + w · (1 - busy / span)), solved for busy."""
    busy_s = count * (service_s + wake_s) / (1 + count * wake_s / SPAN_S)
    return busy(name, count, busy_s, began_s)


def at_loads(*counts: float, wake_s: float) -> list[OperatorSample]:
    sources = [busy("a", count, 0.0, 60.0 * at) for at, count in enumerate(counts)]
    first = [woken("b", 0.004, wake_s, count, 60.0 * at) for at, count in enumerate(counts)]
    second = [woken("c", 0.008, wake_s, count, 60.0 * at) for at, count in enumerate(counts)]
    return [*sources, *first, *second]


def service_ms(made: Calibrated) -> list[float]:
    return [1000 * made.profiles[name].service_s for name in "bc"]


def test_waking__is_told_apart_from_service_by_samples_at_several_loads() -> None:
    made = calibrated(LINE, at_loads(1000, 4000, 6000, wake_s=0.0005), DECLARED)
    assert service_ms(made) == pytest.approx([4.0, 8.0])
    assert "waking an idle one takes 0.5 ms" in made.operators["b"].notes[-1]
    assert not any("waking" in note for note in made.operators["a"].notes)  # nothing wakes a source


def test_at_one_load__waking_stays_in_the_service_time() -> None:
    made = calibrated(LINE, at_loads(3000, 3000, wake_s=0.0005), DECLARED)
    # 3000 · 4.5 ms = 13.5 s busy of 60 if no tuple found an instance at work; idle for some 78 %: 4 + 0.78 · 0.5 ms
    assert service_ms(made)[0] == pytest.approx(4.39, abs=0.01)
    assert not made.operators["b"].notes


def test_samples_of_one_load_on_a_machine_that_is_late__tell_nothing_of_waking() -> None:
    """The later it is the longer each takes, 4 to 4.8 ms, and the fewer come: idle shares are .8, .82 and .84."""
    late = [busy("b", 3000, 12.0, 0.0), busy("b", 10.8 / 0.0044, 10.8, 60.0), busy("b", 2000, 9.6, 120.0)]
    made = calibrated(LINE, late, DECLARED)
    assert made.profiles["b"].service_s == pytest.approx(32.4 / (5000 + 10.8 / 0.0044))
    assert not made.operators["b"].notes


def test_service_that_takes_longer_the_more_there_is__is_not_waking() -> None:
    crowded = [busy("a", n, 0.0, 60.0 * at) for at, n in enumerate((1000.0, 4000.0))]
    crowded += [busy("b", 1000, 4.0, 0.0), busy("b", 4000, 17.0, 60.0), busy("c", 1000, 4.0, 0.0)]
    made = calibrated(LINE, crowded, DECLARED)
    assert made.profiles["b"].service_s == pytest.approx(21 / 5000)
    assert not made.operators["b"].notes


def test_an_instance_with_several_threads__shows_nothing_of_waking() -> None:
    """It works on as many at a time: one that comes while it is half idle wakes nothing that others would not."""
    threaded = [replace(one, threads=4) for one in at_loads(1000, 4000, 6000, wake_s=0.0005)]
    made = calibrated(LINE, threaded, DECLARED)
    first = [one for one in threaded if one.operator == "b"]
    assert made.profiles["b"].service_s == pytest.approx(sum(one.busy_s for one in first) / 11_000)
    assert not made.operators["b"].notes


def test_instances_that_differ__are_compared_with_themselves_alone() -> None:
    """The idler instance is the slower one: by its node, not by waking."""
    fast = [replace(busy("b", 8000, 32.0, 60.0 * at), index=0) for at in range(3)]
    slow = [replace(busy("b", 2000, 10.0, 60.0 * at), index=1) for at in range(3)]
    made = calibrated(LINE, [*fast, *slow], DECLARED)
    assert made.profiles["b"].service_s == pytest.approx(42 / 10_000)


def test_an_operator_that_shows_none__keeps_its_service_time() -> None:
    """c takes in several at once, so that hardly a tuple wakes it: 20 ms each at any load."""
    first = [one for one in at_loads(1000, 4000, 6000, wake_s=0.0005) if one.operator != "c"]
    second = [busy("c", count, 0.02 * count, 60.0 * at) for at, count in enumerate((500.0, 1500.0, 2500.0))]
    made = calibrated(LINE, [*first, *second], DECLARED)
    assert "waking an idle one" in made.operators["b"].notes[-1]
    assert made.profiles["c"].service_s == pytest.approx(0.02)
    assert not made.operators["c"].notes


def test_work_by_the_clock__is_not_waking() -> None:
    """Timers take 12 s of each 60, a tuple 1 ms: 18 s at 6,000 tuples, 30 s at 18,000, so 3 ms and 1.67 ms each.

    At idle shares of .7 and .5 that is a slope of 6.67 ms, of which the mean idle share, (6 · .7 + 18 · .5) / 24 = .55,
    were 3.67 ms: more than the mean of 2 ms that there is.
    """
    timed = [busy("b", n, 12 + 0.001 * n, 60.0 * at) for at, n in enumerate([6000, 6000, 18_000, 18_000])]
    made = calibrated(LINE, timed, DECLARED)
    assert made.profiles["b"].service_s == pytest.approx(0.002)
    (note,) = made.operators["b"].notes
    assert "falls from 3 ms at 100 tuples a second to 1.67 ms at 300" in note


def test_operators_with_several_inputs__keep_their_service_time() -> None:
    join = Topology("join", tuple(map(Operator, "abcd")), (Stream("a", "b"), Stream("b", "c"), Stream("d", "c")))
    declared = {name: OperatorProfile(name, 1.0) for name in "abcd"}
    samples = [one for one in at_loads(1000, 4000, 6000, wake_s=0.0005) if one.operator == "b"]
    joined = [busy("c", 1000, 4.0, 0.0), busy("c", 1000, 4.0, 60.0)]
    made = calibrated(join, [*samples, *joined], declared)
    assert 1000 * made.profiles["b"].service_s == pytest.approx(4.0)
    assert 1000 * made.profiles["c"].service_s == pytest.approx(4.0)


def test_second_moments__lose_what_waking_adds_to_them() -> None:
    moments = []
    for one in at_loads(1000, 4000, 6000, wake_s=0.0005):
        idle = 1 - one.busy_s / SPAN_S
        # Constant services: E[(s + w)²] of those that wake, s² of the others.
        s = 0.008 if one.operator == "c" else 0.004
        moments.append(replace(one, service_second_moment_s2=(1 - idle) * s**2 + idle * (s + 0.0005) ** 2))
    made = calibrated(LINE, [one for one in moments if one.operator != "a"], DECLARED)
    assert [made.profiles[name].service_cv2 for name in "bc"] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_span_that_was_busy_without_a_tuple__is_no_matter() -> None:
    samples = at_loads(1000, 4000, 6000, wake_s=0.0005)
    made = calibrated(LINE, [*samples, busy("b", 0, 1.0, 180.0)], DECLARED)
    assert 1000 * made.profiles["b"].service_s == pytest.approx(4.0)


def simulated(rng: np.random.Generator, load: float, began_s: float, wake_s: float) -> OperatorSample:
    """An instance of 4 ms exponential services which a tuple that finds it idle wakes first, over some 60 s."""
    count = round(60 * load / 0.004)
    came_s = np.cumsum(rng.exponential(0.004 / load, count))
    free_s = busy_s = 0.0
    for at_s, service_s in zip(came_s, rng.exponential(0.004, count), strict=True):
        taken_s = service_s + (wake_s if at_s > free_s else 0.0)
        free_s, busy_s = max(at_s, free_s) + taken_s, busy_s + taken_s
    span_s = float(max(came_s[-1], free_s))
    return replace(busy("b", count, busy_s, began_s), span_s=span_s)


@pytest.mark.slow
def test_simulated_instances__give_the_service_time_they_had_within_its_interval() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        samples = [simulated(rng, load, 60.0 * at, 0.0005) for at, load in enumerate((0.3, 0.8, 0.3, 0.8, 0.5, 0.7))]
        profile = calibrated(LINE, samples, DECLARED).profiles["b"]
        low, high = profile.intervals["service_s"]
        found.append((profile.service_s, low <= 0.004 <= high))
    means, held = np.array(found).T
    # Pooled without waking it were 4 ms + 0.5 · (1 - .57): 5 % too long. Of 20 intervals of 95 %, 16 or more hold
    # with a probability of 99.7 %.
    assert means.mean() == pytest.approx(0.004, rel=0.02)
    assert held.sum() >= 16


def test_a_tuple__takes_at_least_what_it_computes_however_long_waking_takes() -> None:
    # 10 s for 10,000 tuples, idle for 50 of 60 s: 1 ms each, of which .4 ms is CPU; 5/6 of 2 ms of waking is more.
    sample = replace(busy("b", 10_000, 10.0, 0.0), cpu_s=4.0)
    found = Waking(measured(0.002, 0.0001), frozenset("b")).without(sample, 10_000)
    assert found.busy_s == pytest.approx(4.0)


@pytest.mark.parametrize(("waited", "told"), [(0.05, True), (0.25, False)])
def test_samples_that_waited_for_a_core__tell_nothing_of_waking(waited: float, told: bool) -> None:
    """How long they waited is an estimate that changes with the load, as waking does: of a quarter of the busy time, it
    need be off by 8 % only to make 4.1 ms of 4.
    """
    apart = [one for one in at_loads(1000, 4000, 6000, wake_s=0.0005) if one.operator == "b"]
    counted = [replace(one, busy_s=one.busy_s / (1 - waited)) for one in apart]
    tuples = np.array([one.records_in for one in apart])
    found = waking(LINE, {"b": sifted(apart, counted=counted)}, {"b": tuples})
    assert (found is not None) == told
