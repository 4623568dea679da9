"""Scores by hand, and a selection that never lets a loser through."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.backtest import BacktestTable
from forecasting.errors import ForecastError
from forecasting.forecast import BacktestScore
from forecasting.scoring import horizon_scores, peak_losses
from forecasting.selection import LEAST_WEIGHT, Selection, Turns, log_average, select, usual_ratio

QUANTILES = (0.5, 0.9, 0.95, 0.99)
NAIVES = frozenset({"persistence", "day_naive"})


def table(said: dict[str, float], actual: float = 10.0, origins: int = 12, **more: dict[str, str]) -> BacktestTable:
    """Every forecaster says one number for all quantiles at every origin, and one number comes."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    return BacktestTable(
        tuple(first + timedelta(hours=14 * number) for number in range(origins)),
        (3600,),
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


def test_a_rejection__names_the_value_the_bound_and_what_would_help() -> None:
    score = scores_of(table({"prophet": 8.0, "persistence": 11.0}))["prophet"]
    assert not score.allowed
    assert score.reason == (
        "peak loss 1.893/s against 0.05333/s of persistence: ratio 35.50, must be below 1; "
        "longer or cleaner history would help"
    )


def test_the_better_naive__is_the_rival() -> None:
    losses = peak_losses(table({"persistence": 13.0, "day_naive": 11.0}))
    assert losses.better_naive(0, np.ones(12, dtype=bool)) == "day_naive"


def test_forecasters__are_weighed_by_their_steadied_losses() -> None:
    # Nothing is usual of a and b; the rival says 11. Loss ratios 0.1 and 0.2 over 12 origins are trusted by a half:
    # 0.1 ** (6/2) against 0.2 ** (6/2) = 1 : 8 the other way round; the rival has (1/0.1) ** -3 = 1/1000 of a.
    turn = selected(table({"a": 10.1, "b": 10.2, "persistence": 11.0})).turn
    assert list(turn.weights[0]) == ["a", "b"]
    assert turn.weights[0]["a"] / turn.weights[0]["b"] == pytest.approx(8)
    assert sum(turn.weights[0].values()) == pytest.approx(1)
    assert min(turn.weights[0].values()) >= LEAST_WEIGHT


def test_two_that_say_the_same__share_alike() -> None:
    weights = selected(table({"a": 10.1, "b": 10.1, "persistence": 12.0})).turn.weights[0]
    assert weights == {"a": 0.5, "b": 0.5}


def test_what_clearly_loses_to_the_better_naive__is_not_deployed_and_that_is_said() -> None:
    selection = selected(table({"prophet": 8.0, "persistence": 11.0}))
    assert selection.turn.weights == ({"persistence": 1.0},)
    assert selection.notes == ("3600 s: no forecaster beats the naive rivals; persistence is deployed",)


def test_where_nothing_ever_comes__what_is_deployed_says_so() -> None:
    nothing = table({"prophet": 0.0, "persistence": 0.0}, actual=0.0)
    assert {score.ratio for score in selected(nothing).scores} == {1.0}
    turns = Turns(nothing)
    for row in range(12):
        turns.take(row, {"prophet", "persistence"})
    assert (turns.deployed_per_s == 0).all()


def test_three_origins__are_too_few_to_judge_by_and_what_is_usual_decides() -> None:
    selection = selected(table({"time_of_week": 10.1, "persistence": 14.0, "day_naive": 14.0}, origins=3))
    weights = selection.turn.weights[0]
    # Usual at an hour: 0.83, 1.03 and 1.49.
    assert weights["time_of_week"] / weights["persistence"] == pytest.approx((1.03 / 0.83) ** 6)
    assert "3 origins to judge by, at least 4 are needed" in selection.scores[0].reason + selection.scores[2].reason


def test_what_lost_so_far__is_held_back_and_the_naive_stands_in() -> None:
    # a wins by itself, but what was deployed said 11.5 where persistence said 11 and 10 came: half the trust in a ratio
    # of 1.5, half in the usual 0.83 give 1/2 log 1.5 + 1/2 log 0.83 = 0.11 > 0.
    turns = Turns(table({"a": 10.9, "persistence": 11.0}))
    turns.calibrated_per_s[:] = 11.5
    turn = turns.take(12, {"a", "persistence"})
    assert turn.held_back == (True,)
    assert turn.weights == ({"persistence": 1.0},)


def test_a_turn__knows_nothing_of_what_is_not_over() -> None:
    # A peak within an hour is known at the next origin, 14 hours later; what comes from the sixth on changes nothing.
    before, after = table({"a": 10.1, "persistence": 11.0}), table({"a": 10.1, "persistence": 11.0})
    after.actual_per_s[6:] = 99.0
    turns = [Turns(before), Turns(after)]
    taken = [[each.take(row, {"a", "persistence"}) for row in range(7)] for each in turns]
    assert [turn.weights for turn in taken[0]] == [turn.weights for turn in taken[1]]
    assert np.array_equal(turns[0].deployed_per_s[:7], turns[1].deployed_per_s[:7])


def test_no_forecaster_at_all__means_to_hold_the_plan() -> None:
    nothing = table({"persistence": np.nan}, refusals={"persistence": "0.50 days of history, 1 are needed"})
    with pytest.raises(ForecastError, match=r"0\.50 days of history.*hold the plan"):
        select(nothing, set())


def test_a_naive_that_leads_by_a_hair__does_not_displace_the_one_that_usually_leads() -> None:
    # day_naive is 2 % better at twelve origins, elsewhere 1.49 against 1.03 at this horizon: its lead is luck.
    said = {"persistence": 11.0, "day_naive": 10.98, "prophet": 8.0}
    assert selected(table(said)).turn.naive == ("persistence",)
    # Three times better: log(1/3) × 1/2 outweighs log(1.49 / 1.03) × 1/2.
    assert selected(table(said | {"persistence": 13.0, "day_naive": 11.0})).turn.naive == ("day_naive",)


def test_log_average__is_the_weighed_geometric_mean_and_keeps_zero() -> None:
    said = {"a": np.array([4.0, 0.0]), "b": np.array([9.0, 0.0])}
    # sqrt(4 × 9) = 6; 4^(3/4) × 9^(1/4) = 2.828 × 1.732 = 4.899.
    assert log_average(said, {"a": 0.5, "b": 0.5}, 1e-9) == pytest.approx([6.0, 0.0])
    assert log_average(said, {"a": 0.75, "b": 0.25}, 1e-9) == pytest.approx([4.899, 0.0], abs=1e-3)


def test_usual_ratio__lies_between_the_horizons_it_was_measured_at() -> None:
    # Half-way between 15 min and 1 h in logarithms is 30 min.
    assert usual_ratio("time_of_week", 1800) == pytest.approx((0.98 + 0.83) / 2)
    assert usual_ratio("something_new", 1800) == 1.0
