"""A schedule explains itself from its numbers: its reasons, those of its steps, and why not another schedule."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from forescale.report.decision.proposal import Proposal
from forescale.report.decision.verdict import step_reason, warnings
from forescale.report.kit.schedule_words import alternative_words, impossible, near_words, schedule_words, step_words
from forescale.report.kit.wording import NBSP
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import BoundedSpan, Cause, CauseKind, DecisionBasis, Rung
from planner.edit_facts import Edit, ExpectedValues
from planner.fleet.shortage import QUOTA
from planner.near_rescale import KeptBy, NearRescale
from planner.provenance import TOPOLOGY_FILE, Ground, Quantity
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def at(hours: float) -> datetime:
    return MONDAY + timedelta(hours=hours)


def plan(work: int) -> PhysicalPlan:
    return PhysicalPlan("calls", {"source": 1, "work": work})


STEP = ScheduledStep(
    at(6),
    at(6) + timedelta(seconds=300 + 30 + 70),
    at(6.5),
    at(9),
    plan(9),
    plan(3),
    {"source": 8.5},
    "work",
    0.94,
    1.06,
    30.0,
    70.0,
    30.0,
    violation_minutes_without=117.0,
    capacity_per_s=9.0,
    capacity_before_per_s=3.0,
    saved_h=-12.0,
)
SCHEDULE = ScalingSchedule(
    "calls", MONDAY, MONDAY, at(24), 0.95, plan(3), (STEP,), 72.0, "", 2.5, 0.1, 7.2, own_minutes=12.0
)
HOLD = Alternative(
    "", 96.0, 0, 119.5, kind=AlternativeKind.HOLD, parallelism={"work": 3}, more_h=-12.0, more_cost_h=30.0
)


def test_a_step__says_its_load_what_the_job_carries_and_the_minutes_that_it_spares() -> None:
    assert step_words(SCHEDULE, 0) == (
        "p95 of the peak is 8.5/s at source from Mon 06:05 to Mon 09:00 UTC; with 10 instances the job carries 9/s, "
        "with 4 3/s; without this step 117 min in violation are expected, with it 2.5"
    )


def evening(from_hour: float, **bounds: dict[str, int]) -> ScalingSchedule:
    span = BoundedSpan(at(from_hour).timestamp(), at(8).timestamp(), **bounds)
    return replace(SCHEDULE, basis=DecisionBasis(bounded=(span,)))


def test_a_step_for_a_span__names_what_people_want_in_it() -> None:
    assert "; planning.windows wants at least 9 instances of work from Mon 06:30 to Mon 08:00 UTC; " in step_words(
        evening(6.5, least={"work": 9}), 0
    )
    # The plan before keeps that, too: it is not why the step is there.
    assert "planning.windows" not in step_words(evening(6.5, least={"work": 3}), 0)


def test_a_span_that_a_schedule_breaks__is_a_warning_with_what_runs_instead() -> None:
    # The step runs from 06:05:30 on.
    (told,) = warnings(Proposal("s", evening(6, least={"work": 9}), MONDAY))
    assert told.replace(NBSP, " ").startswith(
        "planning.windows is not kept: at least 9 instances of work on Mon 2 Mar 06:00–08:00, and work has 3 on Mon 2 "
        "Mar 06:00–06:05 UTC. No change within the limits prevents that (max_instances, max_step, "
    )
    assert warnings(Proposal("s", evening(6.5, least={"work": 9}), MONDAY)) == ()
    assert "at most 5 instances of work" in warnings(Proposal("s", evening(6.5, most={"work": 5}), MONDAY))[0]
    two = evening(6, least={"work": 9})
    two = replace(two, basis=DecisionBasis(bounded=2 * two.basis.bounded))
    assert "–06:05 UTC; 1 more. No change" in warnings(Proposal("s", two, MONDAY))[0]


def test_a_step_that_spares_no_minutes_and_saves_nothing__says_how_busy_the_plan_before_would_be() -> None:
    full = replace(STEP, violation_minutes_without=2.5, busy_before=0.94, busy_most=0.85)
    words = "; without this step the job would be 94% busy, and at most 85% is aimed for"
    assert step_words(replace(SCHEDULE, steps=(full,)), 0).endswith(words)


def test_a_step_that_spares_no_minutes__says_what_it_saves_in_hours_or_in_money() -> None:
    saves = replace(SCHEDULE, steps=(replace(STEP, violation_minutes_without=2.5, saved_h=32.0),))
    assert step_words(saves, 0).endswith("; it saves 32 instance-hours")
    # Of 0.5 an instance-hour.
    assert step_words(replace(saves, instance_price_per_hour=0.5), 0).endswith("; it saves a price of 16")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "1 rescale follows the forecast over 24 h; 2.5 min in violation are expected, 7.2 are allowed"),
        (
            {"violation_minutes": 9.0},
            "the budget is not kept: 9 min in violation are expected, 7.2 are allowed; the week before used more than "
            "its share, and a minute less costs over 30 instance-hours; 1 rescale follows the forecast over 24 h",
        ),
        (
            {"steps": (), "violation_minutes": 14.0},
            "the budget is not kept: 14 min in violation are expected, 7.2 are allowed: no plan within the limits "
            "keeps that; no change within the limits does better than the running plan: hold it",
        ),
        (
            {"steps": (), "allowed_minutes": None, "violation_price_h": 0.01},
            "the running plan carries the forecast, and no change is worth its rescale: hold it; 2.5 min in violation "
            "are expected, at a price of 0.01 instance-hours each",
        ),
        (
            {"steps": (), "allowed_minutes": None, "violation_price_h": 0.01, "violation_minutes": 1360.0},
            "no change within the limits does better than the running plan: hold it; 1,360 min in violation are "
            "expected, at a price of 0.01 instance-hours each",
        ),
        (
            {"steps": (), "basis": DecisionBasis(Rung.GUARD, (Cause(CauseKind.NO_HISTORY, detail="it is lost"),))},
            "no basis for a plan: the running plan is held and only the guard acts: it is lost",
        ),
    ],
)
def test_a_schedule__says_why_it_is_what_it_is(changes: dict[str, object], words: str) -> None:
    assert schedule_words(replace(SCHEDULE, **changes)) == words  # type: ignore[arg-type]


def test_an_edit_a_quota_and_a_close_rescale__are_part_of_the_reasons() -> None:
    before, after = ExpectedValues(70.0, 4.0, 0.2), ExpectedValues(72.0, 2.5, 0.1)
    edit = Edit("anna", "a fair", "s0", 1, at(7), {"source": 1, "work": 5}, before=before, after=after)
    edited = replace(SCHEDULE, basis=DecisionBasis(edit=edit))
    change = "edited by anna: source 1 · work 9 at Mon 06:00 UTC instead of source 1 · work 5 at Mon 07:00 UTC (a fair)"
    assert schedule_words(edited).startswith(f"{change}; 72 instance-hours instead of 70, ")
    assert step_words(edited, 0).startswith(f"{change}; p95 of the peak")
    near = NearRescale("calls", at(6), 8, "orders", 16, 20.0, kept_by=KeptBy.NOW)
    short = Excuse(plan(9), QUOTA, "", 10, 8, "8 instances of the quota are granted", "raise it")
    shared = replace(SCHEDULE, excuses=(short,), crowded=(near,))
    assert schedule_words(shared).endswith(
        "; 8 instances of the quota are granted; calls starts 8 instances at Mon 06:00:00, 20 s from 16 of orders: it "
        "cannot be asked for earlier than now"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "117 min more in violation are expected"),
        ({"more_h": 24.0}, "117 min more in violation are expected, for 24 instance-hours more"),
        ({"violation_minutes": 2.5, "more_h": 24.0}, "costs 24 instance-hours more"),
        (
            {"violation_minutes": 2.5, "more_h": 0.0, "more_cost_h": 3.0},
            "costs 3 instance-hours more with its rescales and violations",
        ),
        ({"violation_minutes": 2.5, "more_h": 0.0, "more_cost_h": 0.0}, "is as good as what was chosen"),
        ({"more_cost_h": inf}, "is not within the limits of changes (freeze, max_step, scale_out_only, packing)"),
    ],
)
def test_an_alternative__says_what_it_would_cost_or_miss(changes: dict[str, object], words: str) -> None:
    assert alternative_words(SCHEDULE, replace(HOLD, **changes)) == f"{words} (work 3)"  # type: ignore[arg-type]


def test_todays_plan__says_what_of_its_cost_is_added_once_it_falls_behind() -> None:
    # 4 instances over 24 h are 96 instance-hours: 34 of 130 are of a rescue, without which it would cost less.
    rescued = replace(HOLD, cost_instance_hours=130.0, more_h=58.0)
    assert alternative_words(SCHEDULE, rescued) == (
        "117 min more in violation are expected, for 58 instance-hours more: 130 in all, 34.0 of them once it falls "
        "behind (work 3)"
    )
    # Where no instance-hours stand before them, they would be read as minutes.
    assert alternative_words(SCHEDULE, replace(rescued, more_h=-5.0)) == (
        "117 min more in violation are expected: 130 instance-hours in all, 34.0 of them once it falls behind (work 3)"
    )
    # With prices they are not an amount of money, which stands before them: 58 at 0.5 an hour.
    assert alternative_words(replace(SCHEDULE, instance_price_per_hour=0.5), rescued) == (
        "117 min more in violation are expected, for a price of 29 more: 130 instance-hours in all, 34.0 of them once "
        "it falls behind (work 3)"
    )


def test_a_reactive_scaler__says_that_it_is_not_judged_by_latency() -> None:
    limits = Ground(Quantity.LIMITS, TOPOLOGY_FILE, ("max_p95_latency_s", "max_instances"))
    bounded = replace(SCHEDULE, basis=DecisionBasis(stands_on=(limits,)))
    reactive = Alternative("", 279.0, 6, 0.0, kind=AlternativeKind.REACTIVE, sample_paths=5)
    assert alternative_words(bounded, reactive).endswith(
        "; its minutes are those of too much lag, whatever the latency"
    )
    assert "latency" not in alternative_words(SCHEDULE, reactive)


def test_a_reactive_scaler__says_how_many_paths_it_was_simulated_on() -> None:
    reactive = Alternative("", 8.0, 2, 4.0, kind=AlternativeKind.REACTIVE, sample_paths=5)
    assert alternative_words(SCHEDULE, reactive) == "simulated on 5 paths of the forecast"


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        # 30 instance-hours against 24: 6 more, a quarter.
        (24.0, "advising costs 6 instance-hours more, 25%: spikes are planned for instead of left to the guard "),
        (30.0, "it would save nothing "),
        (31.0, "it would save nothing "),
    ],
)
def test_a_guard_that_acts__says_what_advising_costs(hours: float, words: str) -> None:
    acting = Alternative("", hours, 2, 4.0, kind=AlternativeKind.ACTING_GUARD)
    assert alternative_words(replace(SCHEDULE, cost_instance_hours=30.0), acting).startswith(words)


def test_what_advising_costs__is_a_price_where_plans_have_one() -> None:
    # 12 against 10: 2 more, a fifth, although it has fewer instances.
    priced = replace(SCHEDULE, cost_instance_hours=30.0, price=12.0, instance_price_per_hour=0.5)
    acting = Alternative("", 40.0, 2, 4.0, price=10.0, kind=AlternativeKind.ACTING_GUARD)
    assert alternative_words(priced, acting).startswith("advising costs a price of 2 more, 20%: ")


def test_a_candidate_that_is_chosen__says_from_when_and_what_it_would_mean_all_the_time() -> None:
    chosen = replace(HOLD, kind=AlternativeKind.CANDIDATE, name="a.json", chosen_from=(at(6), at(18)))
    assert alternative_words(SCHEDULE, chosen) == (
        "is chosen from Mon 06:00 and Mon 18:00 UTC on; all the time it means 117 min more in violation are expected "
        "(work 3)"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"earlier_s": 300.0}, "asked for 300 s earlier"),
        (
            {"kept_by": KeptBy.DWELL, "since": at(5)},
            "the step before it, of Mon 05:00, has not run for planning.min_dwell_s by then",
        ),
        (
            {"kept_by": KeptBy.FREEZE, "since": at(4), "until": at(5.5)},
            "earlier it would be within planning.freeze, from Mon 04:00 to Mon 05:30",
        ),
        (
            {"kept_by": KeptBy.QUOTA, "quota": "the quota", "quota_instances": 36},
            "earlier it would pass the quota of 36 instances",
        ),
    ],
)
def test_a_close_rescale__says_what_became_of_it(changes: dict[str, object], words: str) -> None:
    near = NearRescale("clicks", at(9), 8, "orders", 16, 0.0)
    assert near_words(replace(near, **changes)) == (  # type: ignore[arg-type]
        f"clicks starts 8 instances at Mon 09:00:00, 0 s from 16 of orders: {words}"
    )


def test_what_an_earlier_release_recorded__is_shown_as_it_was_worded() -> None:
    old = replace(SCHEDULE, recorded="4 rescales", steps=(replace(STEP, recorded="the peak"),))
    assert (schedule_words(old), step_words(old, 0)) == ("4 rescales", "the peak")
    assert alternative_words(old, Alternative("", 1.0, 0, 0.0, "too late")) == "too late"


def test_large_numbers__have_no_exponent() -> None:
    large = replace(STEP, load_per_s={"source": 17_020_000.0}, capacity_per_s=18e6, capacity_before_per_s=8000.0)
    schedule = replace(SCHEDULE, steps=(replace(large, violation_minutes_without=0.0, saved_h=1234.0),))
    words = f"{schedule_words(replace(schedule, allowed_minutes=144.0))} {step_words(schedule, 0)}"
    for number in ("17,020,000/s at source", "18,000,000/s", "8,000/s", "1,234 instance-hours", ", 144 are allowed"):
        assert number in words


def test_what_no_plan_does_at_several_loads__is_said_of_the_farthest() -> None:
    missed = [Excuse(plan(9), "p95 latency in s", "", each, 0.01, f"it is {each}", "raise it") for each in (1.1, 1.7)]
    other = Excuse(plan(8), "max_instances", "", 11.0, 8.0, "it has 11", "raise that")
    assert impossible(replace(SCHEDULE, excuses=(*missed, other))) == [missed[1], other]


def test_fewer_instances_that_fall_behind__are_not_said_to_do() -> None:
    fewer = replace(STEP, plan=plan(3), replaces=plan(9), violation_minutes_without=0.0)
    assert "6 instances fewer will do" in step_reason(Proposal("s", replace(SCHEDULE, steps=(fewer,)), MONDAY), 0)
    full = replace(SCHEDULE, steps=(replace(fewer, utilisation=1.7),))
    assert "will do" not in step_reason(Proposal("s", full, MONDAY), 0)
