"""The penalised waves of the day and the week, held to a profile that is known."""

import numpy as np
import pytest
from arrival_series import MONDAY, week_of

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models import ridge_fourier_forecaster
from forecasting.models.fourier_terms import fourier_terms
from forecasting.models.ridge_fourier_forecaster import (
    DAILY_ORDER,
    WEEKLY_ORDER,
    RidgeFourierForecaster,
    _ridge_level,
    _wave_penalties,
)

WINDOW_S = 3600
LEVEL, SWING = 30.0, 6.0


def series_of(values: np.ndarray) -> ArrivalSeries:
    """A series whose counts do not matter: the level is fitted to values on the scale of a transform."""
    return ArrivalSeries("t", "s", MONDAY, WINDOW_S, np.maximum(values, 0.0))


def sine_of_the_day(days: int) -> np.ndarray:
    second, _ = week_of(WINDOW_S, days)
    return LEVEL + SWING * np.sin(2 * np.pi * second / 86400)


def waves(order: int) -> np.ndarray:
    """Slots of the week, in waves of the day."""
    return 2 * np.pi * order * np.arange(7 * 24) / 24


def test_a_known_sine__is_recovered_but_for_the_share_of_the_penalty() -> None:
    values = sine_of_the_day(56)
    slots = _ridge_level(series_of(values), values)[0].slots
    # Eight weeks with a half-life of three: an hour that is a weeks old weighs 0.5^(a/3), in all
    # 168 × 3 / ln 2 × (1 - 0.5^(8/3)) = 168 × 3.65 = 613 hours. The sine's square has a mean of 1/2, so that
    # these weigh 306 against a penalty of 2: 306 / (306 + 2) = 0.9935 of the swing stays, give or take what other
    # columns take over of the rest, a part of 0.0065.
    recovered = 2 * ((slots - slots.mean()) * np.sin(waves(1))).mean() / SWING
    assert recovered == pytest.approx(0.9935, abs=5e-4)
    # On two days of seven no other column does better than the weekend's own wave: 2/7 × 306 = 88, and 88 / 90 = 0.978.
    assert slots == pytest.approx(LEVEL + SWING * np.sin(waves(1)), abs=0.022 * SWING)


def test_a_day_of_the_sine__is_recovered_less() -> None:
    day, weeks = sine_of_the_day(2), sine_of_the_day(56)
    swings = [np.ptp(_ridge_level(series_of(values), values)[0].slots[:24]) for values in (day, weeks)]
    # Two weekdays: 48 hours, half of which is 24 against the penalty of 2, for the wave and what stands in for it.
    assert 24 / 26 - 0.01 < swings[0] / (2 * SWING) < swings[1] / (2 * SWING) <= 1.0 + 1e-6


def test_noise_about_a_sine__hardly_moves_the_profile() -> None:
    values = sine_of_the_day(56) + np.random.default_rng(5).normal(0, 1, 56 * 24)
    slots = _ridge_level(series_of(values), values)[0].slots
    # 58 columns fitted to 613 hours' weight leave an error of at most sqrt(58 / 613) = 0.31 a slot (weights count as
    # their squares there, which are smaller still), where each slot's own mean would have 1 / sqrt(3.65) = 0.52.
    off = slots - (LEVEL + SWING * np.sin(waves(1)))
    assert np.sqrt(np.square(off).mean()) < 0.31


@pytest.mark.parametrize("days", [2, 3, 7, 15])
def test_self_influence__is_a_share(days: int) -> None:
    rng = np.random.default_rng(days)
    values = sine_of_the_day(days) + rng.normal(0, 1, days * 24)
    values[rng.random(values.size) < 0.2] = np.nan
    own = _ridge_level(series_of(np.nan_to_num(values)), values)[1]
    known = np.isfinite(values)
    assert (own[known] > 0).all()
    assert (own[known] < 1).all()
    assert not own[~known].any()
    # The trace of the hat matrix: parameters in use, of which there are no more than columns, the mean among them.
    assert 1 < own.sum() < 1 + fourier_terms(WINDOW_S, DAILY_ORDER, WEEKLY_ORDER)[0].shape[1]


def test_self_influence__is_how_much_a_window_moves_its_own_level() -> None:
    values = sine_of_the_day(14) + np.random.default_rng(9).normal(0, 1, 14 * 24)
    at = 9 * 24 + 15
    level, leverage = _ridge_level(series_of(values), values)
    raised = values.copy()
    raised[at] += 1e-3
    moved = _ridge_level(series_of(raised), raised)[0].slots[at % 168] - level.slots[at % 168]
    assert moved / 1e-3 == pytest.approx(leverage[at], rel=1e-3)


def test_a_heavier_penalty__is_smoother(monkeypatch: pytest.MonkeyPatch) -> None:
    values = sine_of_the_day(14) + np.random.default_rng(7).normal(0, 3, 14 * 24)
    roughness, influence = [], []
    for hours in (0.02, 0.2, 2.0, 20.0, 200.0):
        monkeypatch.setattr(ridge_fourier_forecaster, "PENALTY_HOURS", hours)
        level, leverage = _ridge_level(series_of(values), values)
        slots = level.slots
        roughness.append(float(np.square(np.diff(slots, n=2, append=slots[:2])).sum()))
        influence.append(float(leverage.sum()))
    assert roughness == sorted(roughness, reverse=True)
    assert influence == sorted(influence, reverse=True)


def test_penalties__are_the_squares_of_the_orders_of_their_waves() -> None:
    terms, _ = fourier_terms(WINDOW_S, DAILY_ORDER, WEEKLY_ORDER)
    penalties = _wave_penalties(terms.shape[1])
    # At an hour a step, waves of up to 11 a day are resolved: a weekend step, 4 × 11 of the day, 2 × 6 of the week.
    assert penalties.size == terms.shape[1] == 1 + 44 + 12
    assert penalties[0] == 1
    assert penalties[1:45].tolist() == [order**2 for order in range(1, 12) for _ in range(4)]
    assert penalties[45:].tolist() == [order**2 for order in range(1, 7) for _ in range(2)]
    # A wave of the day comes back after a day over its order, one of the week after a week over it.
    assert np.abs(terms[:, 1 + 4 * 3] - np.sin(waves(4))).max() < 1e-9
    assert np.abs(terms[:, 45 + 2 * 5] - np.sin(waves(6) / 7)).max() < 1e-9


def test_nothing_known__is_a_level_of_zero() -> None:
    values = np.full(48, np.nan)
    level, leverage = _ridge_level(series_of(np.zeros(48)), values)
    assert not level.slots.any()
    assert not leverage.any()


def test_less_than_two_days__is_refused_with_how_much_there_is() -> None:
    values = sine_of_the_day(3)[:47]
    reason = RidgeFourierForecaster().unsuitable_because(series_of(values))
    assert reason is not None
    assert reason.startswith("1.96 days of history, 2 are needed")
