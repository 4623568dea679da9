"""An edit of one step: what may be, and the excuse for what may not."""

import pickle
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from horizon_cases import PAIR, START

from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.state_restore import StateRestore
from planner.decision_basis import BoundedSpan
from planner.edited_steps import StepEdit, edited_steps, limits_passed
from planner.errors import PlanError
from planner.horizon.horizon_plan import NO_RULES, Change, ChangeRules, Present
from planner.horizon.prices import ChangeTerms
from planner.limits import BoundError, Limits

# A change that grows stops the job 5 minutes after it is asked for, for half a minute; the next may follow 10 later.
TERMS = ChangeTerms(lead_s=300.0, downtime_s=30.0, apart_s=600.0, max_lag_s=180.0)
LIMITS = Limits(max_instances=12, max_parallelism={"work": 10})


def at(minutes: float) -> float:
    moment: datetime = START + timedelta(minutes=minutes)
    return moment.timestamp()


def plan(work: int) -> PhysicalPlan:
    return PhysicalPlan("pair", {"source": 1, "work": work})


# At 20:00 two run, and may be changed from 20:10 on.
PRESENT = Present(at(0), plan(2).parallelism, free_at_s=at(10))
STEPS = [Change(plan(5), at(60)), Change(plan(3), at(120))]


def edited(number: int, parallelism: dict[str, int], minute: float | None = None) -> list[tuple[int, float]]:
    at_s = None if minute is None else at(minute)
    steps = edited_steps(STEPS, StepEdit(number, parallelism, at_s), PAIR, LIMITS, TERMS, PRESENT)
    return [(step.plan.parallelism["work"], (step.at_s - at(0)) / 60) for step in steps]


def test_an_edit__changes_one_step_and_leaves_the_others() -> None:
    assert edited(0, {"work": 7}) == [(7, 60), (3, 120)]
    assert edited(1, {}, 150) == [(5, 60), (3, 150)]
    assert edited(0, {"work": 4}, 10) == [(4, 10), (3, 120)]


@pytest.mark.parametrize(
    ("number", "parallelism", "minute", "excuse"),
    [
        (0, {"wrok": 7}, None, "unknown operator 'wrok'; topology 'pair' has source, work"),
        (0, {"work": 11}, None, "work 11 has 11 instances of work > planning.max_parallelism of 10; give fewer"),
        (0, {"work": 9, "source": 4}, None, "has 13 instances > planning.max_instances of 12; give fewer"),
        (0, {"work": 200}, None, "parallelism 200 of operator 'work' > its max_parallelism 128"),
        (0, {"work": 5}, None, "the step has source 1 · work 5 at 2026-03-02 21:00 UTC already"),
        (0, {"work": 2}, None, "source 1 · work 2 runs already when that step's time comes"),
        (0, {"work": 3}, None, "source 1 · work 3 is the plan of the next step"),
        (0, {}, -5, "2026-03-02 19:55 UTC is past, it is 2026-03-02 20:00 UTC"),
        # Two have dwelt by 20:10.
        (0, {}, 9, "20:09 UTC is too early: the running plan .* by 2026-03-02 20:10 UTC; give that or later"),
        # Five are asked for at 21:00 and stop the job at 21:05; half a minute and ten more are over at 21:15:30.
        (1, {}, 75, r"21:15 UTC is too early: the step before it \(source 1 · work 5\) .* by 2026-03-02 21:16 UTC"),
        (0, {}, 106, r"21:46 UTC is too late: .* 22:02 UTC, and the next step \(source 1 · work 3\) .* 22:00 UTC"),
    ],
)
def test_an_edit__that_cannot_be_tells_why(
    number: int, parallelism: dict[str, int], minute: float | None, excuse: str
) -> None:
    with pytest.raises((PlanError, ModelError), match=excuse):
        edited(number, parallelism, minute)


@pytest.mark.parametrize(
    ("number", "parallelism", "minute", "facts"),
    [
        (0, {"work": 11}, None, ("planning.max_parallelism", 11, 10, "work")),
        (0, {"work": 9, "source": 4}, None, ("planning.max_instances", 13, 12, "")),
        (0, {}, -5, ("deploy_at", at(-5), at(0), "")),
        (0, {}, 9, ("deploy_at", at(9), at(10), "")),
        (1, {}, 75, ("deploy_at", at(75), at(75.5), "")),
        # The last minute at which it may be asked for: 5 of lead, a half of downtime and 10 of dwell before 22:00.
        (0, {}, 106, ("deploy_at", at(106), pytest.approx(at(104.5)), "")),
    ],
)
def test_an_edit_beyond_a_bound__has_field_value_and_bound(
    number: int, parallelism: dict[str, int], minute: float | None, facts: tuple[object, ...]
) -> None:
    with pytest.raises(BoundError) as refused:
        edited(number, parallelism, minute)
    excess = refused.value.excess
    assert (excess.field, excess.value, excess.bound, excess.operator) == facts
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.excess) == (str(excess), excess)


def test_a_step_before_another__may_be_as_late_as_that_allows() -> None:
    # 21:44 + 5 min of lead + half a minute + 10 minutes = 21:59:30.
    assert edited(0, {}, 104) == [(5, 104), (3, 120)]


def passed(
    number: int,
    parallelism: dict[str, int],
    minute: float | None = None,
    terms: ChangeTerms = TERMS,
    rules: ChangeRules = NO_RULES,
    least: dict[str, int] | None = None,
    changes_s: tuple[float, ...] = (),
) -> list[str]:
    at_s = None if minute is None else at(minute)
    present = replace(PRESENT, changes=changes_s)
    steps = edited_steps(STEPS, StepEdit(number, parallelism, at_s), PAIR, LIMITS, terms, present)
    return list(map(str, limits_passed(steps, number, PAIR, terms, present, rules, least)))


def test_a_time_within_a_freeze__passes_it_and_tells_its_span() -> None:
    """Asked for at 20:55, the job is down until 21:00:30: half a minute of what begins at 21:00."""
    rules = ChangeRules(closed=[(at(60), at(90))])
    assert passed(0, {}, 55, rules=rules) == [
        "2026-03-02 20:55 UTC is within planning.freeze, from 2026-03-02 21:00 UTC to 2026-03-02 21:30 UTC"
    ]
    assert passed(0, {}, 54, rules=rules) == []


def test_a_downtime_that_reads_state__reaches_further_into_a_freeze() -> None:
    """Beside the half minute 10 GiB are read at 10 s each: from 20:59 on the job is down until 21:01:10."""
    restore = StateRestore(10.0, {"work": 10.0})
    rules = ChangeRules(closed=[(at(60), at(90))])
    assert passed(0, {}, 54, rules=rules) == []
    assert len(passed(0, {}, 54, terms=replace(TERMS, restore=restore), rules=rules)) == 1


def test_a_next_step__that_now_waits_for_instances_reaches_into_a_freeze() -> None:
    """Three after five are there at once, at 22:00; after one they take five minutes, and half of one more."""
    rules = ChangeRules(closed=[(at(124), at(130))])
    assert passed(0, {"work": 4}, rules=rules) == []
    assert passed(0, {"work": 1}, rules=rules) == [
        "2026-03-02 22:00 UTC is within planning.freeze, from 2026-03-02 22:04 UTC to 2026-03-02 22:10 UTC"
    ]


def test_an_edit__that_passes_a_limit_of_the_job_says_which_and_by_how_much() -> None:
    assert passed(0, {"work": 6}, terms=replace(TERMS, max_step=3)) == [
        "from source 1 · work 2 to source 1 · work 6 4 instances start or stop > planning.max_step of 3"
    ]
    # From 2 to 5 is within 3; from 5 to 7 instead of 3 as well.
    assert passed(1, {"work": 7}, terms=replace(TERMS, max_step=3)) == []
    # Eight before three: the next step stops five.
    assert passed(0, {"work": 8}, terms=replace(TERMS, max_step=6)) == []
    assert passed(0, {"work": 1}, terms=replace(TERMS, only_out=True)) == [
        "from source 1 · work 2 to source 1 · work 1 1 instances stop, and planning.scale_out_only stops none"
    ]
    assert passed(1, {"work": 1}, least={"work": 2}) == [
        "1 instances of operator 'work' < planning.min_parallelism of 2"
    ]


def test_an_edit_within_a_window__passes_either_of_its_bounds() -> None:
    # The edited plan runs from 21:05:30 to 22:00.
    few = ChangeRules(bounded=[BoundedSpan(at(80), at(90), most={"work": 6})])
    many = ChangeRules(bounded=[BoundedSpan(at(80), at(90), least={"work": 6})])
    assert passed(0, {"work": 6}, rules=few) == passed(0, {"work": 6}, rules=many) == []
    span = "planning.windows, from 2026-03-02 21:20 UTC to 2026-03-02 21:30 UTC"
    (more,), (fewer,) = passed(0, {"work": 7}, rules=few), passed(0, {"work": 4}, rules=many)
    assert (more, fewer) == (
        f"7 instances of operator 'work' > 6 of {span}",
        f"4 instances of operator 'work' < 6 of {span}",
    )


def test_what_an_edit_makes_of_the_next_step__counts_too() -> None:
    assert passed(0, {"work": 9}, terms=replace(TERMS, max_step=7)) == []
    assert passed(0, {"work": 10}, terms=replace(TERMS, max_step=6)) == [
        "from source 1 · work 2 to source 1 · work 10 8 instances start or stop > planning.max_step of 6",
        "from source 1 · work 10 to source 1 · work 3 7 instances start or stop > planning.max_step of 6",
    ]


def test_a_time__that_brings_too_many_rescales_into_a_day_says_so() -> None:
    """One was made at 21:30 the day before: before 21:30 it is the third within 24 hours, from then on the second."""
    rules, before = ChangeRules(most_a_day=2), (at(90) - 86400.0,)
    assert passed(1, {}, 80, rules=rules, changes_s=before) == [
        "3 rescales within 24 hours > planning.max_rescales_a_day of 2"
    ]
    assert passed(1, {}, 130, rules=rules, changes_s=before) == []


def test_rescales_of_a_day__are_counted_from_when_the_job_stops() -> None:
    """Two ended by 21:06 the day before. Asked for at 21:02 the job stops at 21:07, more than 24 hours later."""
    rules, before = ChangeRules(most_a_day=2), (at(65) - 86400.0, at(66) - 86400.0)
    assert passed(0, {}, 62, rules=rules, changes_s=before) == []
    assert passed(0, {}, 59.5, rules=rules, changes_s=before) == [
        "3 rescales within 24 hours > planning.max_rescales_a_day of 2"
    ]
