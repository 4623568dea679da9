"""Who may lend a shape, what a loan weighs, and that what was borrowed is kept with what was trained."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sibling_series import MONDAY, noisy, old, young

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast_file import forecast_digest
from forecasting.pipeline import issue, train
from forecasting.selection import EXPECTED_BORROWED_RATIO
from forecasting.siblings import NOTHING_LENT, Lent, found_siblings, is_young, likeness, sibling_of
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained
from forecasting.trained_file import read_trained, write_trained

TERMS = ForecastTerms(900, 86400, paths=200, origins=8)
OLD = noisy(old(), 1)


def wandering(seed: int, hours: float = 24) -> ArrivalSeries:
    """A load that wanders without any shape: a random walk of its logarithm."""
    walk = np.cumsum(np.random.default_rng(seed).normal(0, 0.1, int(hours * 4)))
    return ArrivalSeries("new", "clicks", MONDAY, 900, np.round(200 * np.exp(walk - walk.mean())))


def trained(series: ArrivalSeries, *siblings: ArrivalSeries) -> Trained:
    lent = Lent.by([sibling_of(series, sibling, named=True, snapshot="c1") for sibling in siblings])
    return train(series, issued_at=series.end, terms=TERMS, lent=lent)


def test_the_same_shape__is_alike_beyond_chance_within_a_day_and_another_is_not() -> None:
    day = likeness(noisy(young(24), 2), OLD)
    assert day.correlation > 0.9
    assert day.chance < 1e-4
    upside_down = likeness(noisy(young(24), 2), replace(OLD, counts=400 - np.clip(OLD.counts, 0, 400)))
    assert upside_down.correlation < -0.9
    assert upside_down.chance > 0.99


def test_a_few_hours__tell_nothing_for_sure() -> None:
    # Three hours are six spans: five differences, and two degrees of freedom.
    assert likeness(noisy(young(3), 2), OLD).chance > 0.01


@pytest.mark.parametrize("count", [0.0, 100.0])
def test_a_source_that_is_idle_or_steady__has_no_shape_to_be_alike(count: float) -> None:
    steady = replace(OLD, counts=np.full_like(OLD.counts, count))
    assert np.isnan(likeness(noisy(young(24), 2), steady).correlation)


def test_a_load_that_only_wanders__is_seldom_taken_for_alike() -> None:
    walks = [likeness(wandering(seed), OLD) for seed in range(200)]
    plain = np.mean([abs(walk.correlation) > 0.34 for walk in walks])
    # .34 is the bound of a hundredth for 48 independent spans. Random walks exceed it often, by chance.
    assert plain > 0.3
    assert np.mean([walk.chance < 0.01 for walk in walks]) <= 0.04


def test_the_more_sources_are_looked_through__the_surer_one_must_be() -> None:
    series = noisy(young(24), 2)
    alike = replace(sibling_of(series, OLD, named=False), chance=0.004)
    other = replace(alike, chance=0.9)
    assert found_siblings([alike, other]) == (alike,)
    # A hundredth shared among three is less than .004.
    assert found_siblings([alike, other, other]) == ()


def test_sources_are_young_from_three_hours_to_two_weeks() -> None:
    assert [is_young(young(hours)) for hours in (2, 3, 24 * 14 - 1, 24 * 14)] == [False, True, True, False]


def test_half_a_day__is_forecast_with_a_sibling_and_refused_without(tmp_path: Path) -> None:
    series = noisy(young(12), 3)
    with pytest.raises(ForecastError, match=r"0\.50 days of history, 1 are needed"):
        train(series, issued_at=series.end, terms=TERMS)
    made = trained(series, OLD)
    forecast = issue(made, series, issued_at=series.end)
    assert forecast.forecaster[86400] == "persistence + borrowed"
    assert forecast.sibling_notes[0].startswith("siblings: shape borrowed from old/clicks (named, correlation 0.9")
    assert "until its own record is better; it counts" in forecast.sibling_notes[0]
    [shape] = made.siblings
    assert (shape.digest, shape.snapshot) == (OLD.digest(), "c1")


def test_before_any_record__a_borrowed_shape_weighs_as_its_prior_says() -> None:
    # Three hours leave no origin to judge by: shares are 1.1^-6 = .564 to 1 of persistence, so 36 %.
    made = trained(noisy(young(3), 3), OLD)
    share = EXPECTED_BORROWED_RATIO**-6 / (1 + EXPECTED_BORROWED_RATIO**-6)
    assert share == pytest.approx(0.361, abs=0.001)
    for weights in made.deployed.ensemble.weights:
        assert weights == pytest.approx({"persistence": 1 - share, "borrowed": share})


def test_what_was_borrowed__is_kept_and_says_the_same_when_it_is_asked_again(tmp_path: Path) -> None:
    series = noisy(young(12), 3)
    made = trained(series, OLD, replace(noisy(old(), 9), source="orders", timezone="Europe/Berlin"))
    write_trained(made, tmp_path / "trained")
    again = read_trained(tmp_path / "trained")
    assert again.siblings == made.siblings
    later = noisy(young(14), 3)
    said, of_files = (issue(each, later, issued_at=later.end) for each in (made, again))
    assert forecast_digest(said) == forecast_digest(of_files)


def test_a_borrowed_shape__fades_at_once_where_it_is_wrong_and_within_two_weeks_where_it_is_right() -> None:
    def shares(hours: float, sibling: ArrivalSeries) -> list[float]:
        ensemble = trained(noisy(young(hours), 3), sibling).deployed.ensemble
        return [weights.get("borrowed", 0.0) for weights in ensemble.weights]

    # The wrong one is busy by night. Of 15 minutes and an hour half a day has a record, of a day it has none.
    wrong = replace(OLD, counts=np.maximum(400 - OLD.counts, 0))
    assert shares(12, wrong)[:2] == [0, 0]
    assert shares(12, wrong)[3] == pytest.approx(0.361, abs=0.001)
    assert min(shares(12, OLD)[:2]) > 0.5
    assert max(shares(24 * 13, OLD)) < 0.1


def test_without_siblings__nothing_changes() -> None:
    series = noisy(young(30), 3)
    plain, nothing = (train(series, issued_at=series.end, terms=TERMS, **more) for more in ({}, {"lent": NOTHING_LENT}))
    assert issue(plain, series, issued_at=series.end).peak_per_s[3600].tolist() == (
        issue(nothing, series, issued_at=series.end).peak_per_s[3600].tolist()
    )
    assert "borrowed" not in {score.forecaster for score in plain.scores}
    assert series.end - series.start == timedelta(hours=30)
