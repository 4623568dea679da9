"""Scores by hand, and a selection that never lets a loser through."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.backtest import BacktestTable
from forecasting.errors import ForecastError
from forecasting.forecast import BacktestScore
from forecasting.scoring import horizon_scores, peak_losses
from forecasting.selection import DEPLOYED, EXPECTED_RATIO, MIN_WEIGHT, Ensembles, Selection, log_average, select

QUANTILES = (0.5, 0.9, 0.95, 0.99)
NAIVES = frozenset({"persistence", "day_naive"})


def table(
    said: dict[str, float], actual: float = 10.0, origins: int = 12, apart_h: float = 1e-3, **more: dict[str, str]
) -> BacktestTable:
    """Every forecaster says one number for all quantiles at every origin, and one number comes.

    apart_h: hours between origins; as good as none, so that all count alike.
    """
    first = datetime(2026, 1, 1, tzinfo=UTC)
    return BacktestTable(
        tuple(first + timedelta(hours=apart_h * number) for number in range(origins)),
        (1,),
        QUANTILES,
        np.full((origins, 1), actual),
        {name: np.full((origins, 1, 4), value) for name, value in said.items()},
        NAIVES & set(said),
        more.get("refusals", {}),
    )


def scores_of(backtest: BacktestTable) -> dict[str, BacktestScore]:
    return {score.forecaster: score for score in horizon_scores(backtest, peak_losses(backtest), 0)}


def selected(backtest: BacktestTable) -> Selection:
    return select(backtest, set(backtest.peak_per_s))


def test_a_score__is_the_mean_pinball_loss_over_the_upper_quantiles() -> None:
    # 8 said, 10 came: (0.90 + 0.95 + 0.99) × 2 / 3 = 1.8933. The rival said 11: (0.10 + 0.05 + 0.01) × 1 / 3 = 0.05333.
    scores = scores_of(table({"prophet": 8.0, "persistence": 11.0}))
    assert scores["prophet"].pinball_per_s == pytest.approx(2 * 2.84 / 3)
    assert scores["persistence"].pinball_per_s == pytest.approx(0.16 / 3)
    assert scores["prophet"].ratio == pytest.approx(2 * 2.84 / 0.16)
    assert (scores["prophet"].coverage, scores["persistence"].coverage) == (0.0, 1.0)
    assert scores["prophet"].origins == 12


def test_a_loss__names_the_value_the_bound_and_what_would_help() -> None:
    score = scores_of(table({"prophet": 8.0, "persistence": 11.0}))["prophet"]
    assert not score.allowed
    assert score.reason == (
        "peak loss 1.893/s against 0.05333/s of persistence: ratio 35.50, so the naives weigh more; "
        "longer or cleaner history would help"
    )


def test_the_better_naive__is_the_rival() -> None:
    losses = peak_losses(table({"persistence": 13.0, "day_naive": 11.0}))
    assert losses.better_naive(0, np.ones(12, dtype=bool)) == "day_naive"


def test_forecasters__are_weighed_by_their_steadied_losses() -> None:
    # The rival says 11. Loss ratios 0.1 and 0.2 over 12 origins are trusted by a half, as is what is expected of both:
    # 0.1 ** (6/2) against 0.2 ** (6/2) = 1 : 8 the other way round; the rival has (1 / (0.1 × 0.9)) ** -3 of a.
    ensemble = selected(table({"a": 10.1, "b": 10.2, "persistence": 11.0})).ensemble
    assert list(ensemble.weights[0]) == ["a", "b"]
    assert ensemble.weights[0]["a"] / ensemble.weights[0]["b"] == pytest.approx(8, rel=1e-3)
    assert sum(ensemble.weights[0].values()) == pytest.approx(1)
    assert min(ensemble.weights[0].values()) >= MIN_WEIGHT


def test_what_was_better_until_five_days_ago__counts_half() -> None:
    # Ten origins five days apart: their weights are 1, 1/2, 1/4 … from the newest back, 2 in all, so the trust is
    # 2 / (2 + 12) = 1/7. a said 10.1 but for the newest, when it said 12, and the rival 11 always: losses of .1 and 2
    # (per 1 of the rival) with half of the weight each give a ratio of 1.05.
    worse = table({"a": 10.1, "persistence": 11.0}, origins=10, apart_h=120)
    worse.peak_per_s["a"][8] = 12.0
    # What is said at the last origin is not over: the newest that counts is the ninth, of age 5 days.
    ensembles = Ensembles(worse)
    for row in range(9):
        ensembles.take(row, {"a", "persistence"})
    weights = ensembles.take(9, {"a", "persistence"}).weights[0]
    told = sum(0.5**age for age in range(1, 10))
    ratio = (0.5 * 2 + (told - 0.5) * 0.1) / told
    trust = told / (told + 12)
    expected = (ratio**trust * EXPECTED_RATIO ** (1 - trust)) ** -6
    assert weights["a"] / weights["persistence"] == pytest.approx(expected, rel=1e-3)


def test_two_that_say_the_same__share_alike() -> None:
    weights = selected(table({"a": 10.1, "b": 10.1, "persistence": 12.0})).ensemble.weights[0]
    assert weights == {"a": 0.5, "b": 0.5}


def test_what_clearly_loses_to_the_better_naive__is_not_deployed_and_that_is_said() -> None:
    selection = selected(table({"prophet": 8.0, "persistence": 11.0}))
    assert selection.ensemble.weights == ({"persistence": 1.0},)
    assert selection.notes == ("1 s: no forecaster beats the naive rivals; persistence is deployed",)


def test_what_loses_as_a_whole__stays_deployed_with_the_naives_in_it_and_its_score_says_so() -> None:
    """For eight origins `a` said 10.1 against 11, then 8 against 11. Losses at p90, p95, p99: .16 × what is too much
    / 3, 2.84 × what is too little / 3. Its weight by the first eight makes the mixture lose over all twelve.
    """
    backtest = table({"a": 10.1, "persistence": 11.0})
    backtest.peak_per_s["a"][8:] = 8.0
    selection = selected(backtest)
    (together,) = [score for score in selection.scores if score.forecaster == DEPLOYED]
    assert together.ratio > 1
    assert "persistence" in selection.ensemble.weights[0]
    assert selection.ensemble.held_back == (False,)


def test_where_nothing_ever_comes__what_is_deployed_says_so() -> None:
    nothing = table({"prophet": 0.0, "persistence": 0.0}, actual=0.0)
    assert {score.ratio for score in selected(nothing).scores} == {1.0}
    ensembles = Ensembles(nothing)
    for row in range(12):
        ensembles.take(row, {"prophet", "persistence"})
    assert (ensembles.deployed_per_s == 0).all()


def test_three_origins__are_too_few_to_judge_by_and_what_is_expected_decides() -> None:
    selection = selected(table({"time_of_week": 10.1, "persistence": 14.0, "day_naive": 14.0}, origins=3))
    weights = selection.ensemble.weights[0]
    assert weights["time_of_week"] / weights["persistence"] == pytest.approx(EXPECTED_RATIO**-6)
    assert "3 origins to judge by, at least 4 are needed" in selection.scores[0].reason + selection.scores[2].reason


def test_a_turn__knows_nothing_of_what_is_not_over() -> None:
    # A peak within a second is known at the next origin, 14 hours later; what comes from the sixth on changes nothing.
    before, after = (table({"a": 10.1, "persistence": 11.0}, apart_h=14) for _ in range(2))
    after.actual_per_s[6:] = 99.0
    ensembles = [Ensembles(before), Ensembles(after)]
    taken = [[each.take(row, {"a", "persistence"}) for row in range(7)] for each in ensembles]
    assert [ensemble.weights for ensemble in taken[0]] == [ensemble.weights for ensemble in taken[1]]
    assert np.array_equal(ensembles[0].deployed_per_s[:7], ensembles[1].deployed_per_s[:7])


def test_no_forecaster_at_all__means_to_hold_the_plan() -> None:
    nothing = table({"persistence": np.nan}, refusals={"persistence": "0.50 days of history, 1 are needed"})
    with pytest.raises(ForecastError, match=r"0\.50 days of history.*hold the plan"):
        select(nothing, set())


def test_the_naive_that_stands_in__is_the_better_one() -> None:
    said = {"persistence": 11.0, "day_naive": 10.98, "prophet": 8.0}
    assert selected(table(said)).ensemble.naive == ("day_naive",)
    assert selected(table(said | {"day_naive": 11.02})).ensemble.naive == ("persistence",)


def test_log_average__is_the_weighed_geometric_mean_and_keeps_zero() -> None:
    said = {"a": np.array([4.0, 0.0]), "b": np.array([9.0, 0.0])}
    # sqrt(4 × 9) = 6; 4^(3/4) × 9^(1/4) = 2.828 × 1.732 = 4.899.
    assert log_average(said, {"a": 0.5, "b": 0.5}, 1e-9) == pytest.approx([6.0, 0.0])
    assert log_average(said, {"a": 0.75, "b": 0.25}, 1e-9) == pytest.approx([4.899, 0.0], abs=1e-3)


def test_a_horizon_that_nothing_judged__is_named() -> None:
    backtest = table({"prophet": 10.0, "persistence": 11.0})
    # A third of the windows is missing, so that of twelve peaks three are known.
    backtest.actual_per_s[3:] = np.nan
    (note,) = selected(backtest).notes
    assert note.startswith("1 s: not judged, since 3 of 12 origins of the backtest have a known peak and 4 are needed")
    backtest.actual_per_s[3] = 10.0
    assert selected(backtest).notes == ()
