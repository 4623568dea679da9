"""Forecasts that know each hour's mean, and of what lies within it only what earlier days had there."""

import numpy as np
import pytest
from replay_cases import contest, days_of

from modeling.arrays import Floats
from planner.errors import PlanError
from planner.replay.contest import run_one
from planner.replay.forecasts import LEVEL_PATHS, LevelForecasts
from planner.replay.load import Load

DAY, HOUR_S = 24 * 60, 3600


def load_of(rates: Floats, start_s: int = 0) -> Load:
    return Load(start_s, {"read": rates})


def noisy(days: int, seed: int) -> Floats:
    return np.random.default_rng(seed).uniform(5, 15, days * DAY)


def test_paths__have_the_true_mean_of_each_hour() -> None:
    past, load = noisy(3, 1), 4 * noisy(1, 2)
    forecasts = LevelForecasts("words", load_of(load, 3 * 86400), load_of(past), 60, 6 * HOUR_S)
    paths = forecasts.at(3 * 86400 + 2 * HOUR_S)["read"].paths_per_s
    assert paths.shape == (LEVEL_PATHS, 6 * 60)
    true = load[2 * 60 : 8 * 60].reshape(6, 60).mean(axis=1)
    assert np.allclose(paths.reshape(LEVEL_PATHS, 6, 60).mean(axis=2), true)
    assert len(np.unique(paths[:, 0])) > 1  # the days differ


def test_paths__know_nothing_of_how_arrivals_lie_within_the_hours_to_come() -> None:
    past, load = noisy(3, 1), noisy(2, 2)
    reordered = load.copy()
    reordered[2 * 60 :] = load[2 * 60 :].reshape(-1, 60)[:, ::-1].ravel()
    at_s = 3 * 86400 + 2 * HOUR_S
    told = [
        LevelForecasts("words", load_of(rates, 3 * 86400), load_of(past), 300, 30 * HOUR_S).at(at_s)["read"]
        for rates in (load, reordered)
    ]
    assert np.allclose(told[0].paths_per_s, told[1].paths_per_s)


def test_paths__draw_one_day_for_all_sources() -> None:
    """One source is twice the other, so each path of it is."""
    past, load = noisy(4, 1), noisy(1, 2)
    both = [Load(start_s, {"a": rates, "b": 2 * rates}) for start_s, rates in ((4 * 86400, load), (0, past))]
    told = LevelForecasts("words", both[0], both[1], 300, 12 * HOUR_S).at(4 * 86400)
    assert np.allclose(2 * told["a"].paths_per_s, told["b"].paths_per_s)


def test_a_step_that_begins_after_the_issue__is_drawn_from_days_that_were_over() -> None:
    """Issued at half past two for a step of an hour from three: of yesterday half past two to three is not known."""
    past, load = noisy(2, 1), noisy(2, 2)
    forecasts = LevelForecasts("words", load_of(load, 2 * 86400), load_of(past), HOUR_S, 24 * HOUR_S, every_s=1800)
    told = forecasts.at(2 * 86400 + 2.5 * HOUR_S)["read"]
    assert told.start.timestamp() == 2 * 86400 + 3 * HOUR_S
    assert told.paths_per_s.shape == (LEVEL_PATHS, 24)


def test_a_history_of_less_than_a_day__is_refused() -> None:
    whole = days_of(2)
    past = whole.between(whole.start_s + 6 * HOUR_S, whole.start_s + 24 * HOUR_S)
    one = contest(whole.between(whole.start_s + 24 * HOUR_S, whole.end_s), past)
    with pytest.raises(PlanError, match="at least a day before --from"):
        run_one(one, "planner-level", 0)
