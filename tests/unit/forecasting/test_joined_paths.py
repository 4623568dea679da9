"""Paths of several sources are paired as the sources have erred together; what each may come to stays as it was."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from joined_sources import END, errors, forecasts, histories, past
from scipy.stats import spearmanr

from forecasting.joined_paths import (
    MAX_SPAN_S,
    MIN_SPANS,
    compared_s,
    forecast_errors,
    joined_forecasts,
    joined_order,
    week_errors,
)


def paired(joined: dict) -> float:
    """Rank correlation of the levels of paths that go together."""
    app, web = (joined[source].paths_per_s.mean(axis=1) for source in ("app", "web"))
    return float(spearmanr(app, web)[0])


@pytest.mark.parametrize(("rho", "sign"), [(1.0, 1), (-1.0, -1)])
def test_sources_that_always_err_alike_or_in_turn__have_their_paths_sorted_together(rho: float, sign: int) -> None:
    levels = {"app": np.array([3.0, 1.0, 2.0, 4.0]), "web": np.array([20.0, 40.0, 10.0, 30.0])}
    order = joined_order(levels, {"app": np.arange(4.0), "web": rho * np.arange(4.0)}, seed=3)
    app, web = (levels[source][order[source]] for source in ("app", "web"))
    assert sorted(zip(app, web, strict=True)) == list(zip([1, 2, 3, 4], [10, 20, 30, 40][::sign], strict=True))


@pytest.mark.parametrize("rho", [0.9, 0.0, -0.8])
def test_the_total_of_two_sources__has_the_quantiles_of_a_sum_of_correlated_normals(rho: float) -> None:
    joined = joined_forecasts(forecasts(), histories(rho))
    assert joined.note == ""
    total = sum(each.paths_per_s[:, 0] for each in joined.forecasts.values())
    # Each source is normal with mean 100 and sd 10, so the total has mean 200 and sd √(2·10²·(1 + ρ)): 19.5, 14.1 and
    # 6.3. Paired independently it would have 14.1 each time.
    sd = np.sqrt(200 * (1 + rho))
    assert total.mean() == pytest.approx(200, rel=1e-3)
    assert total.std() == pytest.approx(sd, rel=0.08)
    # p95 and p99 of a normal lie 1.645 and 2.326 sd above its mean.
    assert np.quantile(total, [0.95, 0.99]) == pytest.approx([200 + 1.645 * sd, 200 + 2.326 * sd], rel=0.015)


def test_sources_as_they_come__have_too_low_a_total() -> None:
    total = sum(each.paths_per_s[:, 0] for each in forecasts().values())
    # 200 + 2.326 · 14.1 = 232.9, where sources that go together at .9 reach 200 + 2.326 · 19.5 = 245.3.
    assert np.quantile(total, 0.99) == pytest.approx(232.9, rel=0.015)
    assert np.quantile(total, 0.99) < 0.97 * 245.3


def test_a_common_growth__joins_nothing() -> None:
    # Over eight weeks both sources become four times as large, each with errors of its own.
    joined = joined_forecasts(forecasts(), histories(0.0, weekly_growth=0.2))
    assert abs(paired(dict(joined.forecasts))) < 0.1


def test_past_forecasts__rule_where_enough_of_them_are_over() -> None:
    known = histories(0.9)
    off = errors(-0.9, 40) * 0.1
    told = {source: past(source, each, known[source]) for source, each in zip(("app", "web"), off, strict=True)}
    assert paired(dict(joined_forecasts(forecasts(), known, past=told).forecasts)) < -0.7
    few = {source: each[: MIN_SPANS - 1] for source, each in told.items()}
    assert paired(dict(joined_forecasts(forecasts(), known, past=few).forecasts)) > 0.7


def test_errors_of_past_forecasts__are_what_came_over_their_median() -> None:
    known = histories(0.0)["app"]
    made = past("app", np.array([0.25, -0.5, 0.1]), known)
    at = [int((END - timedelta(hours=back)).timestamp()) for back in (1, 2, 3)]
    assert forecast_errors(made, known, END, 3600) == pytest.approx({at[0]: 1.1, at[1]: 0.5, at[2]: 1.25})
    # Only the second began a whole number of two hours before, but it reaches for one alone.
    assert forecast_errors(made, known, END, 7200) == {}
    # What had not begun by then, and what is not over, tells nothing.
    assert forecast_errors(made, known, END - timedelta(hours=2), 3600) == pytest.approx({at[2]: 1.25})
    unfinished = known.between(known.start, END - timedelta(minutes=15))
    assert set(forecast_errors(made, unfinished, END, 3600)) == set(at[1:])


def test_week_errors__leave_out_spans_of_which_too_little_is_known() -> None:
    known = histories(0.0, days=8)["app"]
    # Of eight days one has a week before it: 24 hours.
    whole = week_errors(known, END, 3600)
    assert len(whole) == 24
    last = int((END - timedelta(hours=1)).timestamp())
    rates = known.rate_per_s()
    assert whole[last] == pytest.approx(rates[-1] / rates[-1 - 7 * 96])
    counts = known.counts.copy()
    counts[-1] = np.nan
    assert set(whole) - set(week_errors(replace(known, counts=counts), END, 3600)) == {last}


@pytest.mark.parametrize(("days", "joins"), [(7, False), (8, True)])
def test_too_little_history__leaves_paths_as_they_come_and_says_so(days: int, joins: bool) -> None:
    # In eight days 24 hours have a week before them; in seven none has.
    given = forecasts()
    joined = joined_forecasts(given, histories(0.9, days=days))
    same = all(joined.forecasts[source] is each for source, each in given.items())
    assert same == (not joins)
    told = "sample paths of app, web are paired as they come: 0 spans of 1 h are known of all of them, 20 are needed"
    assert joined.note.startswith(told) == (not joins)
    assert bool(joined.note) == (not joins)


def test_a_source_without_history_and_a_single_source__stay_as_they_are() -> None:
    known, given = histories(0.9), forecasts()
    assert joined_forecasts(given, {"app": known["app"], "web": None}).forecasts is given
    alone = {"app": given["app"]}
    assert joined_forecasts(alone, known).forecasts is alone
    assert joined_forecasts(alone, known).note == ""


def test_levels__are_compared_as_far_as_paths_reach() -> None:
    hours = np.array([np.repeat([low, high], 4) for low, high in ((1.0, 8), (2, 6), (3, 4), (4, 2))])
    wide = {
        source: replace(each, paths_per_s=np.tile(hours, (25, 1)), rate_per_s=np.tile(each.rate_per_s, (2, 1)))
        for source, each in forecasts().items()
    }
    assert compared_s(wide) == 7200
    day = {source: replace(each, step_s=43200 // 4) for source, each in wide.items()}
    assert compared_s(day) == MAX_SPAN_S == 2 * 43200 // 4
    joined = joined_forecasts(wide, histories(1.0)).forecasts
    levels = {source: each.paths_per_s.mean(axis=1) for source, each in joined.items()}
    assert levels["app"].tolist() == levels["web"].tolist()
