"""No policy peeks: what comes later changes nothing of what it decided before. One that peeks is caught."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from replay_cases import START_S, TOPOLOGY, contest, days_of

from planner.replay.contest import FORECASTING, POLICIES, Contest
from planner.replay.forecasts import PerfectForecasts
from planner.replay.load import Load
from planner.replay.policies.forecast_only import ForecastOnly
from planner.replay.policy import Policy
from planner.replay.run import replay

KNOWS = {"static-peak", "static-half", "planner-perfect", "planner-level", "horizon-perfect", "hindsight"}
"""Policies that are given what comes, as their pages say."""


def _decided(made: Callable[[Contest], Policy], one: Contest) -> list[tuple[float, dict[str, int]]]:
    done = replay(made(one), one.load, one.reality(0), one.first(), past=one.past)
    return [(each.decided_s, dict(each.plan)) for each in done.decisions]


def _peeks(made: Callable[[Contest], Policy], one: Contest, at_s: float) -> bool:
    """Whether what comes after a moment changes what was decided by then."""
    minute = round((at_s - one.load.start_s) / 60)
    rates = one.load.rate_per_s["ingest"].copy()
    rates[minute:] = rates[minute:] * np.where(np.arange(rates.size - minute) % 120 < 60, 3.0, 0.1)
    other = replace(one, load=Load(one.load.start_s, {"ingest": rates}))
    before, after = ([d for d in _decided(made, each) if d[0] < at_s] for each in (one, other))
    return before != after


@pytest.mark.parametrize("name", sorted(set(POLICIES) - KNOWS - FORECASTING))
@pytest.mark.slow
def test_a_policy__decides_by_what_was_over(name: str) -> None:
    whole = days_of(9)
    past, load = whole.between(START_S, START_S + 8 * 86400), whole.between(START_S + 8 * 86400, whole.end_s)
    one = contest(load, past)
    assert not _peeks(lambda c: POLICIES[name](c, 0), one, load.start_s + 12 * 3600)


@pytest.mark.slow
def test_a_policy_whose_forecast_sees_the_next_hour__is_caught() -> None:
    def peeking(one: Contest) -> Policy:
        forecasts = PerfectForecasts(TOPOLOGY.name, one.load, 300, 3600)
        return ForecastOnly(one.need(), forecasts, 600.0, 900, 0.95)

    load = days_of(1)
    assert _peeks(peeking, contest(load), load.start_s + 11.5 * 3600)
