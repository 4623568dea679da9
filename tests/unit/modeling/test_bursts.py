"""Waits under a rate that goes up and down, against theory and simulation; and what counts tell of such a rate."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.queueing.bursts import Arrivals, Bursts, burst_waits
from modeling.queueing.dispersion import dispersion_of, dispersion_of_history
from tests.unit.modeling.bursty import arrivals_s, window_counts
from tests.unit.modeling.lindley import confidence, waits_s


def test_waits__of_arrivals_without_bursts_are_those_of_m_m_1() -> None:
    # ρ = ½, s = 2: half wait, 4 s on average; all wait E[W] = 2 s, E[W²] = ½ · 2 · 16 = 16 s²
    found = burst_waits(0.5, 2.0, Bursts(0.3, 1.0, 5.0).levels)
    assert found.delayed == pytest.approx([0.5, 0.5])
    assert found.moment(1) == pytest.approx([2.0, 2.0])
    assert found.moment(2) == pytest.approx([16.0, 16.0])


def test_waits__in_spells_of_hours_are_those_of_each_rate_alone() -> None:
    # ρ = 0.8 in bursts and 0.2 between them: 0.8/0.2 and 0.2/0.8 services of 1
    found = burst_waits(0.5, 1.0, Bursts(0.5, 1.6, 1e7).levels)
    assert found.moment(1) == pytest.approx([4.0, 0.25], rel=1e-4)
    assert found.weight == pytest.approx([0.8, 0.2])
    assert found.survival(3.0) == pytest.approx([0.8 * np.exp(-0.6), 0.2 * np.exp(-2.4)], rel=1e-4)


def test_waits__in_spells_shorter_than_services_are_those_of_the_mean_rate() -> None:
    found = burst_waits(0.5, 1.0, Bursts(0.5, 1.6, 1e-4).levels)
    assert found.moment(1) == pytest.approx([1.0, 1.0], rel=1e-3)


def test_queues__that_bursts_fill_grow_as_long_as_these_last() -> None:
    one, ten = (burst_waits(0.6, 1e-3, Bursts(0.2, 4.0, mean_s).levels) for mean_s in (10.0, 100.0))
    assert ten.moment(1) / one.moment(1) == pytest.approx([10, 10], rel=0.01)


@pytest.mark.parametrize(
    ("bursts", "rho"), [(Bursts(0.5, 2.0, 0.02), 0.4), (Bursts(0.2, 5.0, 0.2), 0.2), (Bursts(0.3, 2.5, 0.05), 0.6)]
)
def test_mean_and_p95__are_those_of_a_simulation_of_exponential_services(bursts: Bursts, rho: float) -> None:
    rng, service_s = np.random.default_rng(2), 0.002

    def replication() -> tuple[float, float]:
        came = arrivals_s(rng, bursts, rho / service_s, 120_000)
        waited = waits_s(came, service_s * rng.standard_exponential(came.size))
        return float(waited.mean()), float(np.quantile(waited, 0.95))

    runs = [replication() for _ in range(12)]
    found = burst_waits(rho, service_s, bursts.levels)
    low, high = confidence([mean for mean, _ in runs])
    assert low <= float((found.weight * found.moment(1)).sum()) <= high
    low, high = confidence([p95 for _, p95 in runs])
    assert (
        float((found.weight * found.survival(low)).sum()) >= 0.05 >= float((found.weight * found.survival(high)).sum())
    )


def test_dispersion__is_read_off_counts_with_share_factor_and_length_of_bursts() -> None:
    rng, truth = np.random.default_rng(3), Bursts(0.2, 2.0, 60.0)
    came = arrivals_s(rng, truth, 50.0, 4_000_000)
    counts = np.histogram(came, np.arange(0, came[-1], 30.0))[0]
    found = dispersion_of(counts[: counts.size // 60 * 60].reshape(-1, 60), 30.0).bursts
    assert found is not None
    assert found.variance == pytest.approx(truth.variance, rel=0.25)
    assert found.memory_s == pytest.approx(truth.memory_s, rel=0.25)
    assert found.share == pytest.approx(truth.share, abs=0.06)


def test_dispersion__of_poisson_counts_shows_no_bursts() -> None:
    rng = np.random.default_rng(4)
    found = [dispersion_of(rng.poisson(200, (60, 5)), 60.0) for _ in range(50)]
    # three standard errors: one in several hundred by chance
    assert sum(each.bursts is not None for each in found) <= 1
    assert sum(each.cv2 == 1.0 for each in found) >= 48


def test_dispersion__of_counts_evener_than_poisson_is_their_index() -> None:
    # of 20 that come with chance ½ each: variance 5 over mean 10
    found = dispersion_of(np.random.default_rng(5).binomial(20, 0.5, (400, 5)), 60.0)
    assert found.bursts is None
    assert found.cv2 == pytest.approx(0.5, abs=0.06)


def test_dispersion__concludes_nothing_from_few_or_missing_counts() -> None:
    assert dispersion_of(np.array([[1.0, 900.0], [3.0, 5.0]]), 60.0).bursts is None
    assert dispersion_of(np.full((40, 5), np.nan), 60.0).bursts is None
    with pytest.raises(ModelError, match="give steps of windows"):
        dispersion_of([1.0, 2.0], 60.0)


@pytest.mark.parametrize("mean_s", [0.2, 2.0])
@pytest.mark.slow
def test_dispersion__of_windows_much_longer_than_bursts_takes_the_rate_as_on_half_of_the_time(mean_s: float) -> None:
    # variance · memory is all that they tell, ⅓ · ¼ mean_s: on for half of the time, 1 · ½ of a sixth of mean_s
    counts = window_counts(np.random.default_rng(6), Bursts(0.75, 4 / 3, mean_s), 100.0, 60.0, 7 * 1440)
    found = dispersion_of(counts.reshape(-1, 12), 60.0).bursts
    assert found is not None
    assert (found.share, found.factor) == pytest.approx((0.5, 2.0))
    assert found.mean_s == pytest.approx(mean_s / 6, rel=0.15)


def test_dispersion__leaves_out_what_a_window_lacks_because_the_next_one_has_it() -> None:
    # cut up to 1 s early or late, counts vary by 2 · ⅓ s², variance · memory 5.6 ms; sums of several windows do not
    rng = np.random.default_rng(7)
    edges = 60.0 * np.arange(10_081) + rng.uniform(-1, 1, 10_081)
    found = dispersion_of(rng.poisson(3000 * np.diff(edges)).reshape(-1, 12), 60.0).bursts
    assert found is None


DAYS = {
    "flat": np.ones(1440),
    "wave": 1 + 0.6 * np.sin(np.linspace(0, 2 * np.pi, 1440)) + 0.2 * np.sin(np.linspace(0, 6 * np.pi, 1440)),
    "office": np.where((np.arange(1440) >= 541) & (np.arange(1440) < 1023), 3.0, 0.5),
}


@pytest.mark.parametrize("rate_per_s", [0.5, 30.0, 3000.0])
@pytest.mark.parametrize("minutes", [1, 5])
@pytest.mark.parametrize("day", DAYS)
def test_history__of_poisson_arrivals_shows_no_bursts_whatever_its_days_look_like(
    day: str, minutes: int, rate_per_s: float
) -> None:
    expected = 60 * rate_per_s * np.tile(DAYS[day], 7).reshape(-1, minutes).sum(axis=1)
    found = dispersion_of_history(np.random.default_rng(8).poisson(expected), 60.0 * minutes)
    assert found is not None
    assert found.cv2 == 1.0
    if found.bursts is not None:
        # by what little is left of the curve, at 85 %: the same wait within 5 %
        waits = burst_waits(0.85, 0.85 / rate_per_s, found.bursts.levels)
        mean_s = float((waits.weight * waits.moment(1)).sum())
        assert mean_s == pytest.approx(0.85 / 0.15 * 0.85 / rate_per_s, rel=0.05)


@pytest.mark.parametrize("window_s", [5.0, 25.0, 55.0])
def test_history__of_short_windows_tells_bursts_that_last_for_several(window_s: float) -> None:
    truth = Bursts(0.2, 5.0, 60.0)
    counts = window_counts(np.random.default_rng(3), truth, 100.0, window_s, int(4 * 86400 / window_s))
    found = dispersion_of_history(counts, window_s)
    assert found is not None
    assert found.bursts is not None
    assert found.bursts.variance == pytest.approx(truth.variance, rel=0.25)
    assert found.bursts.memory_s == pytest.approx(truth.memory_s, rel=0.3)


def test_history__of_counts_evener_than_poisson_is_taken_as_poisson() -> None:
    assert dispersion_of_history(np.full(1440, 600.0), 60.0) == Arrivals()


def test_history__that_is_short_or_of_long_windows_tells_nothing() -> None:
    counts = np.random.default_rng(9).poisson(100, 1440)
    assert dispersion_of_history(counts, 60.0) is not None
    assert dispersion_of_history(counts[:200], 60.0) is None
    assert dispersion_of_history(np.where(np.arange(1440) % 10, counts, np.nan), 60.0) is None
    assert dispersion_of_history(counts, 3600.0) is None


@pytest.mark.parametrize(
    ("share", "factor", "mean_s"), [(0.0, 1.0, 1.0), (0.5, 2.5, 1.0), (0.5, 0.9, 1.0), (0.5, 2, 0)]
)
def test_bursts__that_cannot_be_are_refused(share: float, factor: float, mean_s: float) -> None:
    with pytest.raises(ModelError, match="bursts"):
        Bursts(share, factor, mean_s)
