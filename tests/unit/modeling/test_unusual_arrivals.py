"""Latency of batches, windows, bursts, slow records and stations in line: `evaluate` and `evaluate_many` against
Lindley's recursion; and what estimates note of what they leave out.
"""

from itertools import pairwise

import numpy as np
import pytest

from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.site import Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.queueing.bursts import Arrivals, Bursts
from modeling.queueing.dispersion import dispersion_of_history
from modeling.queueing.service_shape import ServiceShape
from tests.unit.modeling.bursty import arrivals_s, window_counts
from tests.unit.modeling.lindley import departures_s


def line(*profiles: OperatorProfile) -> Topology:
    names = [profile.operator for profile in profiles]
    return Topology("line", tuple(map(Operator, names)), tuple(Stream(a, b) for a, b in pairwise(names)))


def estimate(
    profiles: list[OperatorProfile],
    rate_per_s: float,
    *,
    counts: dict[str, int] | None = None,
    arrivals: float | Arrivals = 1.0,
    site: Site | None = None,
) -> tuple[Estimate, float, float]:
    """By `evaluate`; mean and p95 by `evaluate_many`."""
    topology, by_name = line(*profiles), {profile.operator: profile for profile in profiles}
    plan = PhysicalPlan("line", dict.fromkeys(by_name, 1) | (counts or {}))
    source = profiles[0].operator
    one = evaluate(
        topology, by_name, plan, {source: rate_per_s}, arrival_cv2=arrivals, percentiles=True, site=site or Site()
    )
    many = evaluate_many(topology, by_name, [plan], {source: [rate_per_s]}, arrival_cv2=arrivals).latency
    assert many is not None
    return one, float(many.mean_s[0, 0]), float(many.p95_s[0, 0])


def assert_like(found: tuple[Estimate, float, float], latencies_s: np.ndarray, mean: float, p95: float) -> None:
    """Both methods within so many parts of the simulated mean and p95."""
    one, mean_s, p95_s = found
    assert one.latency is not None
    seen = latencies_s[latencies_s.size // 10 :]
    assert [one.latency.mean_s, mean_s] == pytest.approx([seen.mean()] * 2, rel=mean)
    assert [one.latency.p95_s, p95_s] == pytest.approx([np.quantile(seen, 0.95)] * 2, rel=p95)


@pytest.mark.parametrize(("rho", "counters"), [(0.05, 1), (0.3, 1), (0.3, 4)])
def test_tuples_made_of_one__wait_for_each_other_even_where_load_is_low(rho: float, counters: int) -> None:
    rng, rate_per_s = np.random.default_rng(1), rho * counters / 0.06
    profiles = [OperatorProfile("split", 0.001, {"split->count": 20.0}), OperatorProfile("count", 0.003)]
    came = np.cumsum(rng.standard_exponential(20_000)) / rate_per_s
    left = departures_s(came, 0.001 * rng.standard_exponential(came.size))
    at, born = np.repeat(left, 20)[::counters], np.repeat(came, 20)[::counters]
    latencies_s = departures_s(at, 0.003 * rng.standard_exponential(at.size)) - born
    assert_like(estimate(profiles, rate_per_s, counts={"count": counters}), latencies_s, mean=0.03, p95=0.05)


def test_tuples_made_of_one__wait_on_where_who_reads_them_is_slower_than_who_passed_them_on() -> None:
    # 10 at once: 4.5 services of 1 ms, then 4.5 · (3 − 1) ms more at the slow one, nothing at the quick one
    profiles = [
        OperatorProfile("split", 0.0, {"split->a": 10.0}),
        OperatorProfile("a", 0.001, service_cv2=0.0),
        OperatorProfile("b", 0.003, service_cv2=0.0),
        OperatorProfile("c", 0.002, service_cv2=0.0),
    ]
    one, mean_s, _ = estimate(profiles, 0.01)
    waits_ms = [1000 * one.operators[name].wait_s for name in "abc"]
    assert waits_ms == pytest.approx([4.5, 9.0, 0.0], abs=0.02)
    assert mean_s == pytest.approx(0.0135 + 0.006, rel=0.01)


def test_a_number_that_varies__makes_tuples_wait_longer() -> None:
    # geometric of mean 10: 9 before each on average, instead of 4.5
    even = OperatorProfile("split", 0.0, {"split->a": 10.0})
    varied = OperatorProfile("split", 0.0, {"split->a": 10.0}, selectivity_cv2={"split->a": 0.9})
    reader = OperatorProfile("a", 0.001, service_cv2=0.0)
    waits_ms = [1000 * estimate([split, reader], 0.01)[0].operators["a"].wait_s for split in (even, varied)]
    assert waits_ms == pytest.approx([4.5, 9.0], abs=0.02)


@pytest.mark.parametrize("readers", [1, 4])
def test_what_a_window_fires__waits_for_itself(readers: int) -> None:
    # 2,000 keys at 1 ms: half of 2 s, over 4 readers half of 0.5 s; p95 at 0.95 of it
    windowed = {"count->store": WindowedOutput(WindowKind.TUMBLING, 60.0, 2000)}
    profiles = [OperatorProfile("count", 0.0, windowed=windowed), OperatorProfile("store", 0.001)]
    one, mean_s, _ = estimate(profiles, 5000.0, counts={"store": readers})
    assert one.latency is not None
    assert [one.latency.mean_s, mean_s] == pytest.approx([1.0 / readers] * 2, rel=0.01)
    assert one.latency.p95_s == pytest.approx(1.9 / readers, rel=0.02)
    assert "latency downstream of count counts from when its windows fire, not from when tuples arrived" in one.notes


def test_sessions__fire_one_by_one() -> None:
    windowed = {"count->store": WindowedOutput(WindowKind.SESSION, 1.0, 2000)}
    profiles = [OperatorProfile("count", 0.0, windowed=windowed), OperatorProfile("store", 0.001)]
    assert estimate(profiles, 2000.0)[0].operators["store"].wait_s < 0.01


def test_tuples_beside_a_window__wait_behind_what_it_fires() -> None:
    # 2,000 at 1 ms every 5 s, beside 300/s: worked off in 2/0.7 s, 57 % of the time, with 1 s to wait on average
    topology = Topology(
        "two",
        tuple(map(Operator, ("count", "beside", "store"))),
        (Stream("count", "store"), Stream("beside", "store", Grouping.FIELDS)),
    )
    windowed = {"count->store": WindowedOutput(WindowKind.TUMBLING, 5.0, 2000)}
    profiles = {
        "count": OperatorProfile("count", 0.0, windowed=windowed),
        "beside": OperatorProfile("beside", 0.0),
        "store": OperatorProfile("store", 0.001, service_cv2=0.0),
    }
    plan = PhysicalPlan("two", dict.fromkeys(profiles, 1))
    one = evaluate(topology, profiles, plan, {"count": 50_000.0, "beside": 300.0}, percentiles=True)
    assert one.latency is not None
    assert one.latency.mean_s == pytest.approx(4 / 7 * 1.0 + 3 / 7 * (0.4 / 0.7) * 1.0, rel=0.02)


def test_tuples_of_a_poll__wait_for_each_other() -> None:
    # 100/s asked for every 0.5 s: 50 at once, of which each waits for 24.5 at 1 ms, after ¼ s until they are asked for
    profiles = [OperatorProfile("in", 0.001, service_cv2=0.0, polling=Polling(0.5, 500)), OperatorProfile("out", 0.0)]
    one, mean_s, _ = estimate(profiles, 100.0)
    assert one.operators["in"].wait_s == pytest.approx(0.0245, rel=0.03)
    assert one.latency is not None
    assert [one.latency.mean_s, mean_s] == pytest.approx([0.25 + 0.0245 + 0.001] * 2, rel=0.01)


@pytest.mark.parametrize(("rho", "factor"), [(0.2, 10.0), (0.4, 50.0)])
def test_slow_records__are_told_from_services_that_all_vary(rho: float, factor: float) -> None:
    rng, count = np.random.default_rng(2), 600_000
    shape = ServiceShape((1.0, factor), (0.95, 0.05))
    services = np.where(rng.random(count) < 0.05, factor, 1.0) / (0.95 + 0.05 * factor)
    came = np.cumsum(rng.standard_exponential(count)) / rho
    seen = float(np.quantile((departures_s(came, services) - came)[count // 10 :], 0.95))
    known = OperatorProfile("one", 1.0, service_cv2=shape.cv2, service_shape=shape)
    unknown = OperatorProfile("one", 1.0, service_cv2=shape.cv2)
    known_s, unknown_s = (estimate([each], rho)[0].latency for each in (known, unknown))
    assert known_s is not None
    assert unknown_s is not None
    assert known_s.p95_s == pytest.approx(seen, rel=0.03)
    assert abs(unknown_s.p95_s / seen - 1) > 0.2


def test_a_shape__that_is_not_of_the_variation_beside_it_is_left_out_and_named() -> None:
    shape = ServiceShape((1.0, 50.0), (0.95, 0.05))
    one = estimate([OperatorProfile("one", 1.0, service_shape=shape)], 0.4)[0]
    assert one.notes == ("service_shape of one has cv² 9.58, service_cv2 is 1: the shape is left out",)
    assert one.latency is not None
    assert one.latency.mean_s == pytest.approx(1 / 0.6, rel=0.01)


@pytest.mark.parametrize(
    ("bursts", "rho"), [(Bursts(0.5, 2.0, 2.0), 0.4), (Bursts(0.2, 5.0, 0.2), 0.2), (Bursts(0.5, 2.0, 0.05), 0.6)]
)
def test_bursts__make_the_latency_that_they_make(bursts: Bursts, rho: float) -> None:
    rng = np.random.default_rng(3)
    came = arrivals_s(rng, bursts, rho / 0.002, 1_000_000)
    latencies_s = departures_s(came, 0.002 * rng.standard_exponential(came.size)) - came
    found = estimate([OperatorProfile("one", 0.002)], rho / 0.002, arrivals=Arrivals(bursts=bursts))
    assert_like(found, latencies_s, mean=0.06, p95=0.06)


def test_bursts__slow_down_all_of_a_line_at_once() -> None:
    rng, bursts, rate_per_s = np.random.default_rng(4), Bursts(0.3, 2.0, 0.5), 200.0
    came = left = arrivals_s(rng, bursts, rate_per_s, 1_000_000)
    for _ in range(3):
        left = departures_s(left, 0.0022 * rng.standard_exponential(came.size))
    profiles = [OperatorProfile(name, 0.0022) for name in "abc"]
    found = estimate(profiles, rate_per_s, arrivals=Arrivals(bursts=bursts))
    assert_like(found, left - came, mean=0.1, p95=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("mean_s", [0.05, 0.5, 5.0, 60.0])
@pytest.mark.parametrize("window_s", [60.0, 300.0])
def test_on_off_arrivals_of_which_windows_are_known__wait_more_like_it_than_poisson_ones(
    share: float, mean_s: float, window_s: float
) -> None:
    rng, bursts = np.random.default_rng(6), Bursts(share, 1 / share, mean_s)
    known = dispersion_of_history(window_counts(rng, bursts, 100.0, window_s, int(7 * 86400 / window_s)), window_s)
    assert known is not None
    came = arrivals_s(rng, bursts, 100.0, 1_000_000)
    latencies_s = departures_s(came, 0.006 * rng.standard_exponential(came.size)) - came
    seen = np.array([latencies_s.mean(), np.quantile(latencies_s, 0.95)])
    found, poisson = (
        np.array([one.latency.mean_s, one.latency.p95_s])
        for one, _, _ in (estimate([OperatorProfile("one", 0.006)], 100.0, arrivals=each) for each in (known, 1.0))
        if one.latency is not None
    )
    assert (np.abs(np.log(found / seen)) < np.abs(np.log(poisson / seen))).all()
    if share == 0.5 and mean_s < 1:
        # what is assumed is so
        assert found == pytest.approx(seen, rel=0.15)


def test_a_source__has_bursts_of_its_own() -> None:
    topology = Topology(
        "two", tuple(map(Operator, ("steady", "bursty", "both"))), (Stream("steady", "both"), Stream("bursty", "both"))
    )
    profiles = {name: OperatorProfile(name, 0.002) for name in ("steady", "bursty", "both")}
    plan, load = PhysicalPlan("two", dict.fromkeys(profiles, 1)), {"steady": 200.0, "bursty": 50.0}
    bursts = Arrivals(bursts=Bursts(0.2, 5.0, 1.0))
    one, all_of_them, none = (
        evaluate(topology, profiles, plan, load, arrival_cv2=each, percentiles=True)
        for each in (Arrivals(by_source={"bursty": bursts}), bursts, 1.0)
    )
    assert one.operators["steady"].wait_s == pytest.approx(none.operators["steady"].wait_s)
    assert one.operators["bursty"].wait_s == pytest.approx(all_of_them.operators["bursty"].wait_s)
    assert none.operators["both"].wait_s < one.operators["both"].wait_s < all_of_them.operators["both"].wait_s / 2
    many = evaluate_many(
        topology,
        profiles,
        [plan],
        {name: [rate] for name, rate in load.items()},
        arrival_cv2=Arrivals(1.0, None, {"bursty": bursts}),
    ).latency
    assert many is not None
    assert one.latency is not None
    assert float(many.mean_s[0, 0]) == pytest.approx(one.latency.mean_s, rel=0.02)


def test_gaps_that_vary_much__are_noted_for_what_they_do_not_tell() -> None:
    found = estimate([OperatorProfile("one", 0.002)], 100.0, arrivals=9.0)[0].notes
    assert [each.split(":")[0] for each in found] == ["a cv² of arrivals of 9 does not say how long bursts last"]
    assert (
        estimate([OperatorProfile("one", 0.002)], 100.0, arrivals=Arrivals(bursts=Bursts(0.2, 3.0, 1.0)))[0].notes == ()
    )


def test_constant_services_in_line__wait_at_the_first_alone() -> None:
    profiles = [OperatorProfile(name, 0.01, service_cv2=0.0) for name in "abc"]
    one = estimate(profiles, 85.0)[0]
    # M/D/1: 0.85 / 0.15 · 5 ms
    assert [one.operators[name].wait_s for name in "abc"] == pytest.approx([0.85 / 0.15 * 0.005, 0, 0], abs=1e-6)


@pytest.mark.parametrize("cs2", [0.1, 0.25])
def test_even_services_in_line__are_slow_together(cs2: float) -> None:
    rng, count = np.random.default_rng(5), 500_000
    came = left = np.cumsum(rng.standard_exponential(count)) / 85.0
    for _ in range(5):
        left = departures_s(left, 0.01 * rng.gamma(1 / cs2, cs2, count))
    found = estimate([OperatorProfile(name, 0.01, service_cv2=cs2) for name in "abcde"], 85.0)
    assert_like(found, left - came, mean=0.05, p95=0.15)
    assert found[0].notes == (
        "5 busy operators with even services in line: their waits are correlated, p95 up to 15 % too short",
    )


def test_small_buffers__are_noted_with_what_they_cost_beyond_saturation() -> None:
    profiles = [OperatorProfile(name, 0.01, service_cv2=4.0) for name in "abc"]
    # (2 + 8) buffers of 32 KiB hold 16 tuples of 20 KiB, of which the least is named
    site = Site(bytes_per_tuple={"a->b": 20 * 1024.0, "b->c": 20 * 1024.0})
    assert estimate(profiles, 90.0, site=site)[0].notes[-1] == (
        "buffers of a->b hold about 16 tuples: beyond saturation up to 21% less gets through than throughput and "
        "maximum say"
    )
    roomy = Site(bytes_per_tuple={"a->b": 200.0, "b->c": 200.0})
    assert not any("buffers" in note for note in estimate(profiles, 90.0, site=roomy)[0].notes)
