"""Properties of what topologies are granted under shared quotas."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from fleet_cases import at, bounds, capped, wish
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.fleet.grants import granted, totals
from planner.fleet.holding import Holding, moments_s
from planner.fleet.shortage import shortages
from planner.fleet.stagger import QuotaUse, staggered
from planner.fleet.terms import FleetTerms, Quota, Stagger

CHANGES = st.dictionaries(st.integers(1, 23), st.integers(1, 20), max_size=5).map(
    lambda each: dict(sorted(each.items()))
)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Holding], tuple[Quota, ...]]:
    """What runs fits into each of the quotas: of all, and of the first half."""
    names = "abcdef"[: draw(st.integers(1, 6))]
    wishes = [wish(name, draw(st.integers(1, 10)), draw(CHANGES), draw(st.floats(0, 500))) for name in names]
    of = {"all": names, "half": names[: (len(names) + 1) // 2]}
    running = {each.name: each.running for each in wishes}
    quotas = [
        Quota(name, frozenset(some), sum(running[one] for one in some) + draw(st.integers(0, 30)))
        for name, some in of.items()
    ]
    return wishes, tuple(quotas)


@pytest.mark.slow
@settings(max_examples=60)
@given(fleets())
def test_the_sum__never_exceeds_a_quota_that_what_runs_is_within(made: tuple[list[Holding], tuple[Quota, ...]]) -> None:
    wishes, quotas = made
    grants = granted(wishes, quotas, capped(wishes))
    apart = staggered(grants.holdings, FleetTerms(quotas, Stagger(3, 300)), bounds(wishes))
    for holdings in (grants.holdings, apart.holdings):
        held = totals(holdings, quotas, moments_s(holdings))
        assert (held.max(axis=1) <= [quota.instances for quota in quotas]).all()


@settings(max_examples=60)
@given(fleets(), st.lists(st.tuples(st.integers(0, 5), st.floats(0.01, 0.9)), max_size=4))
def test_the_use_of_a_quota_after_changes__is_that_of_holdings_counted_anew(
    made: tuple[list[Holding], tuple[Quota, ...]], earlier: list[tuple[int, float]]
) -> None:
    """Whether one may come earlier is asked against all others too, moment by moment."""
    wishes, quotas = made
    uses, now = [QuotaUse(quota, wishes) for quota in quotas], list(wishes)
    for number, hours in earlier:
        before = now[number % len(now)]
        steps = [replace(s, deploy_at=s.deploy_at - timedelta(hours=hours)) for s in before.schedule.steps]
        changed = before.with_schedule(replace(before.schedule, steps=tuple(steps)))
        at_s = moments_s([*now, changed])
        more = changed.held(at_s) - before.held(at_s)
        held = totals(now, quotas, at_s)
        for use, quota, total in zip(uses, quotas, held, strict=True):
            if before.name in quota.topologies:
                passed = bool(((more > 0) & (total + more > quota.instances)).any())
                assert use.passed_by(before, changed) == passed
                use.change(before, changed)
        now[number % len(now)] = changed


@settings(max_examples=30)
@given(fleets(), st.integers(0, 23), st.integers(1, 120), st.integers(1, 60))
def test_what_is_brought_apart__never_comes_into_a_freeze(
    made: tuple[list[Holding], tuple[Quota, ...]], hour: int, minutes: int, before_minutes: int
) -> None:
    wishes, _ = made
    closed = at(hour) - timedelta(minutes=before_minutes), at(hour) - timedelta(minutes=before_minutes - minutes)
    apart = staggered(wishes, FleetTerms((), Stagger(3, 300)), bounds(wishes, closed=[closed]))
    for own, holding in zip(wishes, apart.holdings, strict=True):
        for was, step in zip(own.schedule.steps, holding.schedule.steps, strict=True):
            back = step.deploy_at + timedelta(seconds=330 if step.plan.instances > step.replaces.instances else 30)
            assert step.deploy_at == was.deploy_at or step.deploy_at >= closed[1] or back <= closed[0]


@pytest.mark.slow
@settings(max_examples=60)
@given(fleets())
def test_nobody__loses_what_runs_and_whoever_lacks_something_is_told_who_has_it(
    made: tuple[list[Holding], tuple[Quota, ...]],
) -> None:
    wishes, quotas = made
    grants = granted(wishes, quotas, capped(wishes))
    short = shortages(wishes, grants, quotas)
    at_s = moments_s([*wishes, *grants.holdings])
    for own, holding in zip(wishes, grants.holdings, strict=True):
        assert (holding.held(at_s) >= np.minimum(own.held(at_s), own.running)).all()
        if own.name in grants.at_most:
            assert grants.at_most[own.name] >= own.running
        assert (own.name in grants.at_most) == any(each.topology == own.name for each in short)
    for each in short:
        # Those named, with what it has and what it lacks, are more than there are.
        assert sum(count for _, count in each.others) + each.unnamed[1] + each.wished > each.quota.instances


@pytest.mark.slow
@settings(max_examples=60)
@given(fleets())
def test_the_most_urgent__has_its_wish_where_what_the_others_run_leaves_it(
    made: tuple[list[Holding], tuple[Quota, ...]],
) -> None:
    wishes, quotas = made
    first = max(wishes, key=lambda each: (each.urgency(), -ord(each.name)))
    grants = granted(wishes, quotas, capped(wishes))
    most = max([first.running, *(step.plan.instances for step in first.schedule.steps)])
    running = {each.name: each.running for each in wishes}
    left = [
        quota.instances - sum(count for name, count in running.items() if name in quota.topologies - {first.name})
        for quota in quotas
        if first.name in quota.topologies
    ]
    if most <= min(left):
        assert first in grants.holdings
