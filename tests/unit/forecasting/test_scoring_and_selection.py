"""Scores by hand, and a selection that never lets a loser through."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.backtest import BacktestTable
from forecasting.errors import ForecastError
from forecasting.scoring import better_naive, horizon_scores
from forecasting.selection import DEPLOYED, log_average, select, usual_ratio

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


def test_a_score__is_the_mean_pinball_loss_over_the_upper_quantiles() -> None:
    # 8 said, 10 came: (0.90 + 0.95 + 0.99) × 2 / 3 = 1.8933. The rival said 11: (0.10 + 0.05 + 0.01) × 1 / 3 = 0.05333.
    scores = {s.forecaster: s for s in horizon_scores(table({"prophet": 8.0, "persistence": 11.0}), 0)}
    assert scores["prophet"].pinball_per_s == pytest.approx(2 * 2.84 / 3)
    assert scores["persistence"].pinball_per_s == pytest.approx(0.16 / 3)
    assert scores["prophet"].ratio == pytest.approx(2 * 2.84 / 0.16)
    assert (scores["prophet"].coverage, scores["persistence"].coverage) == (0.0, 1.0)
    assert scores["prophet"].origins == 12


def test_a_rejection__names_the_value_the_bound_and_what_would_help() -> None:
    score = horizon_scores(table({"prophet": 8.0, "persistence": 11.0}), 0)[0]
    assert not score.allowed
    assert score.reason == (
        "peak loss 1.893/s against 0.05333/s of persistence: ratio 35.50, must be below 1; "
        "longer or cleaner history would help"
    )


def test_the_better_naive__is_the_rival() -> None:
    assert better_naive(table({"persistence": 13.0, "day_naive": 11.0}), 0, np.arange(12)) == "day_naive"


def test_the_three_best_winners__are_chosen_best_first() -> None:
    said = {"a": 10.1, "b": 10.2, "c": 10.3, "d": 10.4, "loser": 5.0, "persistence": 11.0}
    assert select(table(said)).chosen == {3600: ("a", "b", "c")}


def test_without_a_winner__the_better_naive_is_deployed_and_said_so() -> None:
    selection = select(table({"prophet": 8.0, "persistence": 11.0, "day_naive": 14.0}))
    assert selection.chosen == {3600: ("persistence",)}
    assert selection.notes == ("3600 s: no forecaster beats the naive rivals; persistence is deployed",)


def test_as_good_as_the_naive__is_not_good_enough() -> None:
    assert select(table({"prophet": 11.0, "persistence": 11.0})).chosen == {3600: ("persistence",)}


def test_where_nothing_ever_comes__the_naive_that_says_so_is_deployed() -> None:
    selection = select(table({"prophet": 0.0, "persistence": 0.0}, actual=0.0))
    assert selection.chosen == {3600: ("persistence",)}
    assert {score.ratio for score in selection.scores} == {1.0}


def test_three_origins__are_too_few_to_trust_a_winner() -> None:
    selection = select(table({"prophet": 10.1, "persistence": 14.0}, origins=3))
    assert selection.chosen == {3600: ("persistence",)}
    assert "3 origins to judge by, at least 4 are needed" in selection.scores[0].reason


def test_a_winner_by_luck__is_held_back_when_the_whole_procedure_loses() -> None:
    # Right at eleven origins, and at the twelfth so far off that it wins on all twelve only just: judged by the others
    # it is chosen there as well, and calibrated to be sure of itself.
    lucky = table({"prophet": 10.0, "persistence": 10.5})
    lucky.peak_per_s["prophet"][6] = 9.8
    selection = select(lucky)
    deployed = next(score for score in selection.scores if score.forecaster == DEPLOYED)
    assert deployed.allowed == (selection.chosen[3600] == ("prophet",))


def test_no_forecaster_at_all__means_to_hold_the_plan() -> None:
    nothing = table({"persistence": np.nan}, refusals={"persistence": "0.50 days of history, 1 are needed"})
    with pytest.raises(ForecastError, match=r"0\.50 days of history.*hold the plan"):
        select(nothing)


def test_a_naive_that_leads_by_a_hair__does_not_displace_the_one_that_usually_leads() -> None:
    # day_naive is 2 % better at twelve origins, elsewhere 1.86 against 1.02 at this horizon: its lead is luck.
    said = {"persistence": 11.0, "day_naive": 10.98, "prophet": 8.0}
    assert select(table(said)).chosen == {3600: ("persistence",)}
    # Three times better: log(1/3) × 1/2 outweighs log(1.86 / 1.02) × 1/2.
    assert select(table(said | {"persistence": 13.0, "day_naive": 11.0})).chosen == {3600: ("day_naive",)}


def test_log_average__is_the_geometric_mean_and_keeps_zero() -> None:
    # sqrt(4 × 9) = 6.
    assert log_average(np.array([[4.0, 0.0], [9.0, 0.0]]), 1e-9) == pytest.approx([6.0, 0.0])


def test_usual_ratio__lies_between_the_horizons_it_was_measured_at() -> None:
    # Half-way between 15 min and 1 h in logarithms is 30 min.
    assert usual_ratio("time_of_week", 1800) == pytest.approx((0.92 + 0.74) / 2)
    assert usual_ratio("something_new", 1800) == 1.0
