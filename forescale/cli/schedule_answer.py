"""A proposed schedule as `forescale plan` and `forescale plan edit` answer: its facts, and their words."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forescale.codec import Moment
from forescale.jobs.plan_all import PlannedFleet
from forescale.jobs.proposals import proposal_of
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.violation_budget import BudgetUse
from forescale.report.decision.brief import markdown
from forescale.report.decision.proposal import Proposal
from forescale.report.decision.verdict import warnings
from forescale.report.kit.decision_words import calibration_notes, causes_words, load_notes
from forescale.report.kit.schedule_words import (
    alternative_name,
    alternative_words,
    impossible,
    near_words,
    schedule_words,
    short_words,
    step_words,
)
from planner.decision_basis import Rung
from planner.edit_facts import Edit, ExpectedValues, brief
from planner.errors import PlanError
from planner.ledger.step_state import StepState
from planner.provenance import Ground
from planner.replay.last_day import LastDay
from planner.scaling_schedule import Alternative, AlternativeKind, Disruption, ScalingSchedule


@dataclass(frozen=True)
class StepAnswer:
    """A step of the ledger. plan: parallelism of each operator, in brief. disruption, downtime_s, price_per_hour,
    more_per_hour: as in the schedule.
    """

    step_id: str
    deploy_at: Moment
    plan: str
    why: str
    state: StepState = StepState.PROPOSED
    downtime_s: float = 0.0
    disruption: Disruption | None = None
    price_per_hour: float | None = None
    more_per_hour: float | None = None


@dataclass(frozen=True)
class AlternativeAnswer:
    """An alternative in words: excuse: why it was not chosen."""

    name: str
    cost_instance_hours: float
    rescales: int
    violation_minutes: float
    excuse: str
    price: float | None = None
    kind: AlternativeKind = AlternativeKind.OTHER


@dataclass(frozen=True)
class ScheduleAnswer:
    """No steps if the running plan is held. peaks_per_s, budget, report, asks, last_day, earlier_at: as in
    ProposedSchedule. summary: for the reviewer. shadow: nothing of it is deployed; floor: its plans are lower bounds,
    and others decide what runs above them. rung: of the ladder it was planned by; cause: why no better rung, and other
    problems. alternatives: over the same horizon. price, instance_price_per_hour: as in the schedule. excuses: what is
    impossible within the limits, why, and what to change. stands_on: as in its basis. notes: of the calibration, and on
    what the model leaves out. warnings: as at the top of its report.
    """

    topology: str
    schedule_id: str
    steps: tuple[StepAnswer, ...]
    why: str
    cost_instance_hours: float
    peaks_per_s: Mapping[str, Mapping[int, Mapping[float, float]]]
    budget: BudgetUse
    report: Path
    summary: str
    shadow: bool = False
    floor: bool = False
    asks: bool = True
    rung: Rung = Rung.FORECAST
    cause: str = ""
    candidates: tuple[AlternativeAnswer, ...] = ()
    price: float | None = None
    instance_price_per_hour: float | None = None
    alternatives: tuple[AlternativeAnswer, ...] = ()
    last_day: LastDay | None = None
    excuses: tuple[str, ...] = ()
    stands_on: tuple[Ground, ...] = ()
    earlier_at: Moment | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class FleetAnswer:
    """As in PlannedFleet. short: what was not granted, and which topologies have it."""

    schedules: tuple[ScheduleAnswer, ...]
    failures: Mapping[str, str]
    short: Mapping[str, str]
    moved: tuple[str, ...]
    stuck: tuple[str, ...]
    uncounted: tuple[str, ...]


@dataclass(frozen=True)
class EditAnswer:
    """A new schedule in place of the edited one. before, after: over the same paths of the same forecasts. states: of
    its steps, by id. passed: limits of the topology file that this edit is the first to override. stands_on: as in its
    basis. warnings: as at the top of its report.
    """

    topology: str
    schedule_id: str
    in_place_of: str
    step_id: str
    change: str
    before: ExpectedValues
    after: ExpectedValues
    states: Mapping[str, StepState]
    deploy_at: Moment
    report: Path
    passed: tuple[str, ...] = ()
    stands_on: tuple[Ground, ...] = ()
    warnings: tuple[str, ...] = ()


def _proposal(made: ProposedSchedule) -> Proposal:
    return proposal_of(made.config, made.entry, made.steps, made.entry.schedule.made_at)


def schedule_answer(made: ProposedSchedule) -> ScheduleAnswer:
    schedule, basis, proposal = made.entry.schedule, made.basis, _proposal(made)
    others = [_alternative(schedule, each) for each in schedule.alternatives]
    return ScheduleAnswer(
        topology=schedule.topology,
        schedule_id=made.entry.id,
        steps=tuple(
            StepAnswer(
                step.id,
                step.deploy_at,
                step.plan.brief(),
                step_words(schedule, index),
                step.state,
                scheduled.downtime_s,
                scheduled.disruption,
                scheduled.price_per_hour,
                scheduled.more_per_hour,
            )
            for index, (step, scheduled) in enumerate(zip(made.steps, schedule.steps, strict=True))
        ),
        why=schedule_words(schedule),
        cost_instance_hours=schedule.cost_instance_hours,
        peaks_per_s=made.peaks_per_s,
        budget=made.budget,
        report=made.report,
        summary=markdown(proposal),
        shadow=made.entry.shadow,
        floor=basis.floor,
        asks=made.asks,
        rung=basis.rung,
        cause=causes_words(basis),
        candidates=tuple(each for each in others if each.kind is AlternativeKind.CANDIDATE),
        price=schedule.price,
        instance_price_per_hour=schedule.instance_price_per_hour,
        alternatives=tuple(each for each in others if each.kind is not AlternativeKind.CANDIDATE),
        last_day=made.last_day,
        # The report says why a plan is not smaller.
        excuses=tuple(map(str, impossible(schedule))),
        stands_on=basis.stands_on,
        earlier_at=made.earlier_at,
        notes=(*calibration_notes(basis.calibration), *load_notes(basis), *made.model_notes),
        warnings=warnings(proposal),
    )


def _alternative(schedule: ScalingSchedule, other: Alternative) -> AlternativeAnswer:
    return AlternativeAnswer(
        alternative_name(other),
        other.cost_instance_hours,
        other.rescales,
        other.violation_minutes,
        alternative_words(schedule, other),
        other.price,
        other.kind,
    )


def fleet_answer(fleet: PlannedFleet) -> FleetAnswer:
    short = {made.topology: short_words(made.entry.schedule) for made in fleet.schedules}
    return FleetAnswer(
        tuple(map(schedule_answer, fleet.schedules)),
        fleet.failures,
        {topology: words for topology, words in short.items() if words},
        tuple(map(near_words, fleet.moved)),
        tuple(map(near_words, fleet.stuck)),
        fleet.uncounted,
    )


def edit_answer(made: ProposedSchedule) -> EditAnswer:
    """Raises PlanError for a schedule that no edit has made."""
    edit = made.basis.edit
    if edit is None or edit.before is None or edit.after is None:
        raise PlanError(f"schedule {made.schedule_id} is no edited one; see it with `forescale plan list`")
    step = made.steps[edit.step - 1]
    return EditAnswer(
        topology=made.topology,
        schedule_id=made.schedule_id,
        in_place_of=edit.in_place_of,
        step_id=step.id,
        change=_change(made, edit),
        before=edit.before,
        after=edit.after,
        states={each.id: each.state for each in made.steps},
        deploy_at=step.deploy_at,
        report=made.report,
        passed=tuple(map(str, edit.overridden)),
        stands_on=made.basis.stands_on,
        warnings=warnings(_proposal(made)),
    )


def _change(made: ProposedSchedule, edit: Edit) -> str:
    step = made.entry.schedule.steps[edit.step - 1]
    was = "" if edit.was_at is None else f" instead of {brief(edit.was_plan)} at {edit.was_at:%a %H:%M} UTC"
    return f"{step.plan.brief()} at {step.deploy_at:%a %H:%M} UTC{was}"
