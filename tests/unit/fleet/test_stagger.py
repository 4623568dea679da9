"""Large rescales of different topologies are brought apart: earlier where they can be, said where not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from fleet_cases import MONDAY, at, bounds, fleet, wish

from planner.fleet.holding import Holding
from planner.fleet.stagger import Staggered, staggered, started
from planner.fleet.terms import FleetTerms, Quota, Stagger
from planner.near_rescale import KeptBy, NearRescale

APART = Stagger(large_instances=8, apart_s=300)


def apart(
    wishes: list[Holding],
    quotas: tuple[Quota, ...] = (),
    dwell_s: float = 0.0,
    closed: Sequence[tuple[datetime, datetime]] = (),
) -> Staggered:
    return staggered(wishes, FleetTerms(quotas, APART), bounds(wishes, dwell_s, closed))


def asked(staggering: Staggered) -> list[list[float]]:
    """Seconds after Monday's midnight, by topology."""
    return [[(s.deploy_at - MONDAY).total_seconds() for s in each.schedule.steps] for each in staggering.holdings]


def test_the_smaller_of_two_at_the_same_time__comes_earlier_and_pays_for_it() -> None:
    """16 and 8 more at 09:00: the 8 are asked for 300 s before, and cost 8 x 300 s more."""
    made = apart([wish("orders", 4, {9: 20}), wish("clicks", 4, {9: 12})])
    assert asked(made) == [[32400], [32100]]
    moved = NearRescale("clicks", at(9), 8, "orders", 16, 0.0, earlier_s=300.0)
    assert made.moved == (moved,)
    schedule = made.holdings[1].schedule
    assert schedule.cost_instance_hours == 100 + 8 * 300 / 3600
    (step,) = schedule.steps
    assert step.cost_instance_hours == 12 + 12 * 300 / 3600
    assert step.in_place_at == at(9) + timedelta(seconds=330 - 300)
    assert step.moved == moved


def test_three_at_once__stand_in_a_row() -> None:
    made = apart([wish(name, 4, {9: 20}) for name in ("a", "b", "c")])
    assert asked(made) == [[32400], [32100], [31800]]


def test_small_ones_and_those_of_one_topology__are_left_alone() -> None:
    """7 more; and 8, then 8 more a minute later of the same topology."""
    wishes = [wish("orders", 4, {9: 12, 9 + 1 / 60: 20}), wish("clicks", 4, {9: 11})]
    made = apart(wishes)
    assert (made.holdings, made.moved, made.stuck) == (tuple(wishes), (), {})


def test_a_rescale_that_cannot_come_before_now__is_said() -> None:
    made = apart([wish("orders", 4, {0.05: 20}), wish("clicks", 4, {0.05: 12})])
    assert made.moved == ()
    near = NearRescale("clicks", at(0.05), 8, "orders", 16, 0.0, kept_by=KeptBy.NOW)
    assert made.stuck == {"clicks": (near,)}


def test_a_rescale__waits_for_the_one_before_it_to_dwell() -> None:
    """In place 330 s after 08:50, that is at 08:55:30; 600 s later it is past 08:55."""
    wishes = [wish("orders", 4, {9: 20}), wish("clicks", 2, {8 + 50 / 60: 4, 9: 12})]
    (near,) = apart(wishes, dwell_s=600).stuck["clicks"]
    assert (near.kept_by, near.since) == (KeptBy.DWELL, at(8 + 50 / 60))
    late = [wish("orders", 4, {9: 20}), wish("clicks", 2, {8.5: 4, 9: 12})]
    made = apart(late, dwell_s=600)
    assert asked(made)[1] == [8.5 * 3600, 32100]
    # What it replaces runs 300 s shorter.
    assert made.holdings[1].schedule.steps[0].cost_instance_hours == 4 - 4 * 300 / 3600


def test_a_rescale_that_would_pass_a_quota_earlier__stays() -> None:
    """mails gives 8 back at 09:00 alone: 20 + 12 + 4 of 36 from then on, 4 + 12 + 24 before."""
    wishes = [wish("orders", 4, {9: 20}), wish("clicks", 4, {9: 12}), wish("mails", 24, {9: 4})]
    made = apart(wishes, fleet(36, wishes))
    (near,) = made.stuck["clicks"]
    assert (near.kept_by, near.quota, near.quota_instances) == (KeptBy.QUOTA, "the quota", 36)


def test_a_rescale_that_would_come_within_a_freeze__stays_and_the_freeze_is_named() -> None:
    """Asked for at 08:55:00 it would be back 330 s later, at 09:00:30. So it meets a freeze until 08:56, not one until
    08:55; and one from 09:00, but not one from 09:01, though both would then hold what is asked for at 09:00.
    """
    wishes = [wish("orders", 4, {9: 20}), wish("clicks", 4, {9: 12})]
    closed = (at(8), at(8 + 56 / 60))
    (near,) = apart(wishes, closed=[closed]).stuck["clicks"]
    assert (near.kept_by, near.since, near.until) == (KeptBy.FREEZE, *closed)
    assert asked(apart(wishes, closed=[(at(8), at(8 + 55 / 60))])) == [[32400], [32100]]
    assert "clicks" in apart(wishes, closed=[(at(9), at(10))]).stuck
    assert asked(apart(wishes, closed=[(at(9 + 1 / 60), at(10))])) == [[32400], [32100]]


def test_what_is_fixed__is_not_moved() -> None:
    wishes = [wish("orders", 4, {9: 20}), replace(wish("clicks", 4, {9: 12}), fixed=True)]
    assert apart(wishes).holdings == tuple(wishes)


def test_started__counts_what_is_more_of_each_operator() -> None:
    (step,) = wish("orders", 4, {9: 2}).schedule.steps
    assert started(step) == 0
