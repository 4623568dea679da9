"""What each diagnosis is resolved by, with its arithmetic; and when nothing is done."""

from dataclasses import replace

import pytest
from guard_bench import KEYED, PAIR, TERMS
from guard_windows import look, steady, window

from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Topology
from planner.guard.actions import Action, Schedule
from planner.guard.assessment import Assessment, Pair, assessed
from planner.guard.judgement import Verdict, VerdictKind, judged, keeps_failing
from planner.guard.sizing import Sizing
from planner.guard.terms import GuardTerms, RescueWorth
from planner.guard.window import Window
from planner.guard_facts import ActionKind, DiagnosisKind, ReasonKind
from planner.limits import Limits
from planner.plan_model import PlanModel

HOUR_S = 3600.0
FULL = steady(work=(1.0, 1.0), waits=0.5, offered=30.0, backlog=1200.0)
"""10/s of 30/s are taken in, by two instances that are always busy: each manages 5/s."""

IDLE = steady(work=(0.1,) * 10, into=(1.0,) * 10, offered=10.0)
"""10/s by ten instances of .1 s a tuple."""


NO_SCHEDULE = Schedule()


def assess(
    of: Window | None,
    terms: GuardTerms = TERMS,
    *,
    schedule: Schedule = NO_SCHEDULE,
    ran_s: float = HOUR_S,
    barred: frozenset[Pair] = frozenset(),
) -> Assessment:
    return assessed(of, terms, schedule, barred, ran_s)


def done(of: Assessment) -> Action:
    assert of.action is not None, of.reasons
    return of.action


def kinds(of: Assessment) -> list[ReasonKind]:
    return [reason.kind for reason in of.reasons]


def values(of: Assessment) -> list[tuple[ReasonKind, float | None, float | None]]:
    return [(reason.kind, reason.observed, reason.bound) for reason in of.reasons]


def test_scale_up__adds_what_the_load_lacks_and_what_drains_the_backlog() -> None:
    # λ / μ: 30/s at 70 %, and (1,200 + 30 · 30) / 600 s = 3.5/s: 46.4/s of 5/s each.
    assert Sizing(FULL, TERMS).needed_instances()["work"] == pytest.approx((30 / 0.7 + 3.5) / 5)
    action = done(assess(FULL))
    assert (action.kind, action.plan) == (ActionKind.SCALE_UP, {"read": 1, "work": 10})
    # Ten manage 50/s; of these 30/s come.
    assert action.expected == pytest.approx({"sustained_per_s": 50.0, "utilisation": 0.6})
    assert action.before == pytest.approx(
        {"offered_per_s": 30.0, "taken_per_s": 10.0, "backlog": 1200.0, "sustained_per_s": 10.0}
    )


def test_scale_up__sizes_the_operators_behind_the_bottleneck_too() -> None:
    # read works .4 at 10/s, so at 46.4/s it would need 1.9 instances: it is the next bottleneck.
    plan = done(assess(steady(work=(1.0, 1.0), waits=0.5, offered=30.0, backlog=1200.0, read=0.4))).plan
    assert plan == {"read": 2, "work": 10}


def test_scale_up__keeps_to_the_limits() -> None:
    def plan(limits: Limits, topology: Topology = PAIR) -> object:
        return done(assess(Window(topology, FULL.looks), replace(TERMS, limits=limits))).plan

    assert plan(Limits(max_instances=7)) == {"read": 1, "work": 6}
    assert plan(Limits(max_parallelism={"work": 4})) == {"read": 1, "work": 4}
    assert plan(Limits(), replace(PAIR, operators=(Operator("read"), Operator("work", 5)))) == {"read": 1, "work": 5}
    nothing = assess(FULL, replace(TERMS, limits=Limits(max_instances=3)))
    assert nothing.action is None
    assert kinds(nothing) == [ReasonKind.NO_ROOM]


def test_too_few_instances_allowed__go_to_who_lacks_most() -> None:
    both = steady(work=(1.0, 1.0), waits=0.5, offered=30.0, backlog=1200.0, read=0.4)
    # Wanted are 2 of read and 10 of work. work lacks 10/2, 10/3, 10/4, then as much as read: 10/5 = 2/1.
    assert done(assess(both, replace(TERMS, limits=Limits(max_instances=6)))).plan == {"read": 1, "work": 5}


@pytest.mark.parametrize(("most_s", "acts"), [(360.0, False), (340.0, True)])
def test_scale_up_beside_a_schedule__waits_for_as_long_as_the_job_may_be_late(most_s: float, acts: bool) -> None:
    """2,800 wait, and 20/s more: 12,400 in the 480 s of a window and the lead. 180 s of 30/s are 5,400, so the job is
    late for 350 s by then. 8 more instances for half an hour and two changes are worth an hour, but it may not be so
    late.
    """
    behind = [look(n, work=(1.0, 1.0), waits=0.5, offered=30.0, backlog=400.0 + 1200.0 * n) for n in range(3)]
    schedule = Schedule(lead_s=300.0, worth=RescueWorth.at(0.1, rescale_h=1.0, most_s=most_s), held_s=1800.0)
    found = assess(window(*behind), schedule=schedule)
    if acts:
        assert done(found).plan == {"read": 1, "work": 10}
    else:
        assert (found.action, values(found)) == (None, [(ReasonKind.MAY_BE_LATE, 8, pytest.approx(360.0))])


def test_scale_down__goes_to_what_the_load_needs_and_not_below_the_floor() -> None:
    # (10 / .7 + 10 · 30 / 600) / 10 = 1.48.
    assert done(assess(IDLE)).plan == {"read": 1, "work": 2}
    assert done(assess(IDLE, schedule=Schedule({"work": 6}))).plan == {"read": 1, "work": 6}
    held = assess(IDLE, schedule=Schedule({"work": 10}))
    assert (held.action, kinds(held)) == (None, [ReasonKind.NEEDED])


def test_scale_down__must_save_a_tenth_of_all_instances() -> None:
    # One of eleven is 9 %, two are 18 %.
    kept = assess(IDLE, schedule=Schedule({"work": 9}))
    assert (kept.action, values(kept)) == (None, [(ReasonKind.NOT_WORTH_IT, 1, 11)])
    assert done(assess(IDLE, schedule=Schedule({"work": 8}))).plan == {"read": 1, "work": 8}


def test_scale_down__waits_for_the_dwell_and_for_a_planned_step() -> None:
    young = assess(IDLE, ran_s=1799.0)
    assert (young.action, values(young)) == (None, [(ReasonKind.DWELLS, 1799, 1800)])
    near = assess(IDLE, schedule=Schedule({}, planned_in_s=300.0, lead_s=300.0))
    assert (near.action, values(near)) == (None, [(ReasonKind.STEP_AHEAD, 300, None)])
    assert assess(IDLE, schedule=Schedule({}, planned_in_s=301.0, lead_s=300.0)).action is not None


def test_a_window_that_is_not_covered__decides_nothing() -> None:
    assert values(assess(None)) == [(ReasonKind.SHORT_WINDOW, 0, 180)]
    assert assess(window(look(0, work=(1.0, 1.0), waits=0.5))).action is None


def test_slow_instance__is_to_be_restarted_by_people() -> None:
    found = assess(steady(work=(0.5, 1.0), into=(5.0, 5.0), waits=0.5))
    (advice,) = found.advice
    assert (found.action, advice.kind, advice.plan) == (None, ActionKind.RESTART_INSTANCE, None)
    assert (advice.diagnosis.operator, advice.diagnosis.instance) == ("work", 1)


def test_data_skew__names_the_hot_keys_where_they_are_known() -> None:
    skewed = steady(work=(1.0, 0.2), into=(10.0, 2.0), waits=0.5)
    keys = KeyHistogram({"b": 0.1, "a": 0.6, "c": 0.05, "d": 0.01})
    profiles = {"read": OperatorProfile("read", 0.0001), "work": OperatorProfile("work", 0.1, keys=keys)}
    known = replace(TERMS, model=PlanModel(KEYED, profiles))
    (advice,) = assess(skewed, known).advice
    assert advice.reason.keys == {"a": 0.6, "b": 0.1, "c": 0.05}
    (blind,) = assess(skewed).advice
    assert (blind.reason.kind, blind.reason.keys) == (ReasonKind.SPLITS_KEYS, {})


def test_a_barred_pair__is_named_and_not_tried() -> None:
    found = assess(FULL, barred=frozenset({(DiagnosisKind.UNDER_PROVISIONED, ActionKind.SCALE_UP)}))
    assert found.action is None
    assert [(reason.kind, reason.action) for reason in found.reasons] == [(ReasonKind.BARRED, ActionKind.SCALE_UP)]
    other = frozenset({(DiagnosisKind.TARGET_MISSED, ActionKind.SCALE_UP)})
    assert assess(FULL, barred=other).action is not None


def verdict(action: Action, of: Window) -> Verdict:
    return judged(action.kind, action.before, action.expected, of, TERMS)


def test_a_scale_up__is_effective_once_the_job_keeps_up_or_half_the_gain_is_there() -> None:
    up = done(assess(FULL))
    assert verdict(up, steady(work=(0.6,) * 10, offered=30.0)).kind is VerdictKind.EFFECTIVE
    # 10/s were taken in and 50/s can be: half of the gain is 30/s. Still full, since the backlog drains too slowly.
    for taken, kind in ((31.0, VerdictKind.EFFECTIVE), (29.0, VerdictKind.INEFFECTIVE)):
        still = steady(work=(1.0,) * 10, into=(taken / 10,) * 10, waits=0.5, offered=30.0, backlog=1e6)
        assert verdict(up, still).kind is kind


def test_more_load_than_an_action_was_sized_for__says_nothing_of_it() -> None:
    up = done(assess(FULL))
    still = steady(work=(1.0,) * 10, into=(2.0,) * 10, waits=0.5, offered=34.0, backlog=1e6)
    assert verdict(up, still).kind is VerdictKind.MOOT


def test_a_scale_down__that_backpressure_follows_has_failed() -> None:
    down = done(assess(IDLE))
    assert verdict(down, steady(work=(0.7, 0.7), offered=10.0)).kind is VerdictKind.EFFECTIVE
    assert verdict(down, steady(work=(1.0, 1.0), waits=0.3, offered=10.0)).kind is VerdictKind.INEFFECTIVE
    assert verdict(down, steady(work=(1.0, 1.0), waits=0.3, offered=20.0)).kind is VerdictKind.MOOT


def test_keeps_failing__counts_failures_in_a_row_and_skips_what_says_nothing() -> None:
    good, bad, moot = VerdictKind.EFFECTIVE, VerdictKind.INEFFECTIVE, VerdictKind.MOOT
    assert keeps_failing([bad, moot, bad], 2)
    assert not keeps_failing([bad, good, bad], 2)
    assert not keeps_failing([moot, bad], 2)
    assert not keeps_failing([], 1)


def test_nothing_that_comes__sustains_anything() -> None:
    still = steady(work=(0.0, 0.0), into=(0.0, 0.0), read=0.0, offered=0.0)
    assert Sizing(still, TERMS).sustained_per_s({"read": 1, "work": 1}) == float("inf")
    assert done(assess(still)).plan == {"read": 1, "work": 1}
