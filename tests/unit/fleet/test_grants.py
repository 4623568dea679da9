"""Grants: the most urgent topology first, within the quota at every moment, and an excuse for what is lacking."""

from dataclasses import replace

import numpy as np
from fleet_cases import at, capped, fleet, wish

from planner.fleet.grants import granted
from planner.fleet.holding import Holding
from planner.fleet.shortage import excuse, shortages
from planner.fleet.terms import Quota


def most(holding: Holding) -> int:
    return max(each.instances for each in (holding.schedule.current, *(step.plan for step in holding.schedule.steps)))


def test_a_holding__is_what_runs_until_a_step_asks_for_its_plan() -> None:
    holding = wish("orders", 4, {9: 10, 17: 2})
    moments_s = np.array([at(hours).timestamp() for hours in (0, 8.99, 9, 16.99, 17, 30)])
    assert holding.held(moments_s).tolist() == [4, 4, 10, 10, 2, 2]
    # What a shadow does not deploy runs on.
    assert replace(holding, at_least=6).held(moments_s).tolist() == [6, 6, 10, 10, 6, 6]


def test_urgency__is_what_growth_avoids_per_instance() -> None:
    """120 minutes by 6 instances more; nothing by none more: it is never made to wait."""
    assert wish("orders", 4, {9: 10}, held_minutes=120).urgency() == 20
    assert wish("orders", 4, {9: 2}).urgency() == np.inf


def test_wishes_that_fit__are_left_as_they_are() -> None:
    """16 + 8 at the same time, of 24."""
    wishes = [wish("orders", 4, {9: 16}, 60), wish("clicks", 4, {9: 8}, 60)]
    grants = granted(wishes, fleet(24, wishes), capped([]))
    assert (grants.holdings, grants.at_most) == (tuple(wishes), {})


def test_without_a_quota__every_wish_is_granted() -> None:
    wishes = [wish("orders", 4, {9: 16}, 60)]
    assert granted(wishes, (), capped([])).holdings == tuple(wishes)


def test_a_topology_of_no_quota__is_left_alone() -> None:
    wishes = [wish("orders", 4, {9: 30}, 60), wish("clicks", 4, {9: 30}, 60)]
    grants = granted(wishes, [Quota("", frozenset({"clicks"}), 10)], capped(wishes))
    assert [most(each) for each in grants.holdings] == [30, 10]


def test_wishes_at_different_hours__share_the_same_instances() -> None:
    """20 + 4, then 4 + 20, of 24."""
    wishes = [wish("orders", 4, {8: 20, 12: 4}, 60), wish("clicks", 4, {12: 20}, 60)]
    assert granted(wishes, fleet(24, wishes), capped([])).at_most == {}


def test_the_most_urgent__is_granted_first_and_the_other_is_told_who_has_what() -> None:
    """Of 40: orders avoids 240 minutes by 20 instances, clicks 60 by 20. So orders has 24, and 16 are left of 24."""
    wishes = [wish("clicks", 4, {9: 24, 11: 4}, 60), wish("orders", 4, {8: 24, 12: 4}, 240)]
    quotas = fleet(40, wishes)
    grants = granted(wishes, quotas, capped(wishes))
    assert [most(each) for each in grants.holdings] == [16, 24]
    assert grants.at_most == {"clicks": 16}
    (short,) = shortages(wishes, grants, quotas)
    assert str(short) == "8 instances short from Mon 09:00 to Mon 11:00: orders has 24"
    excused = excuse(wishes[0], grants, [short])
    assert excused is not None
    assert (excused.target, excused.value, excused.bound) == ("quota", 24, 16)
    assert excused.remedy == "raise the quota from 40 to 48 instances"
    assert excuse(wishes[1], grants, [short]) is None


def test_an_excuse__names_the_three_that_have_most() -> None:
    """Each of six runs 4 of 28 and wishes for 8, first the one that avoids most: 8 + 5 * 4 of 28 from 9 on."""
    wishes = [wish(name, 4, {9: 8}, minutes) for name, minutes in zip("abcdef", (6, 5, 4, 3, 2, 1), strict=True)]
    quotas = fleet(28, wishes)
    grants = granted(wishes, quotas, capped(wishes))
    assert [most(each) for each in grants.holdings] == [8, 4, 4, 4, 4, 4]
    told = str(shortages(wishes, grants, quotas)[0])
    assert told == "4 instances short from Mon 09:00 to Tue 00:00: a has 8, c 4, d 4, 2 others 8"


def test_what_runs__is_never_taken_away() -> None:
    """Of 20: 10 run of each. The urgent one would have 18, and gets no more than clicks leaves it: clicks gives 6 back
    at noon."""
    wishes = [wish("clicks", 10, {12: 4}), wish("orders", 10, {9: 18}, 500)]
    grants = granted(wishes, fleet(20, wishes), capped(wishes))
    assert [most(each) for each in grants.holdings] == [10, 10]
    later = [wish("clicks", 10, {12: 4}), wish("orders", 10, {12: 16}, 500)]
    assert granted(later, fleet(20, later), capped(later)).at_most == {}


def test_a_quota_of_a_group__holds_beside_that_of_all() -> None:
    """All three fit into 60. The group's two want 48 of 40."""
    wishes = [wish("orders", 4, {9: 24}, 240), wish("clicks", 4, {9: 24}, 60), wish("mails", 4, {9: 8}, 1)]
    group = Quota("the quota of shop", frozenset({"orders", "clicks"}), 40)
    quotas = (*fleet(60, wishes), group)
    grants = granted(wishes, quotas, capped(wishes))
    assert [most(each) for each in grants.holdings] == [24, 16, 8]
    (short,) = shortages(wishes, grants, quotas)
    assert short.quota == group


def test_what_cannot_be_planned_again__counts_and_stays() -> None:
    """mails holds 20 of 40 from 9 to 10, whatever happens: 20 are left for orders."""
    mails = replace(wish("mails", 4, {9: 20, 10: 4}), fixed=True)
    wishes = [wish("orders", 4, {9: 30}, 240), mails]
    grants = granted(wishes, fleet(40, wishes), capped(wishes))
    assert [most(each) for each in grants.holdings] == [20, 20]
    assert grants.holdings[1] == mails


def test_a_topology_that_fails_the_second_time__keeps_what_runs() -> None:
    wishes = [wish("clicks", 4, {9: 24}, 60), wish("orders", 4, {8: 24}, 240)]
    grants = granted(wishes, fleet(40, wishes), lambda at_most: {})
    assert [most(each) for each in grants.holdings] == [4, 24]
