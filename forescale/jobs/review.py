"""The review of a schedule: a person (or the setting that switches review off) approves or vetoes its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forescale.jobs.deploy import beyond_now, deploy_now_words, replaced_since
from forescale.situation.workspace import Workspace
from planner.errors import PlanError
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import CALLED_OFF, UNDER_WAY, WAITING, StepState


@dataclass(frozen=True)
class ReviewedSchedule:
    """steps: the state of each step of the schedule, by its id."""

    schedule_id: str
    steps: Mapping[str, StepState]


def review(workspace: Workspace, schedule_id: str, *, approve: bool, by: str, why: str = "") -> ReviewedSchedule:
    """Approve the schedule's proposed steps, instead of waiting steps of earlier schedules, or veto its waiting steps.

    Idempotent. Raises LedgerError for an unknown schedule and for one made in shadow mode, PlanError for an approval
    that comes too late for every step or has more instances than the topology file allows by now, for that of any other
    while the topology is in shadow mode, and for a veto that stops nothing while a newer schedule waits in place of
    this one, or its steps have begun.
    """
    ledger, now = workspace.ledger, workspace.clock.now()
    made = ledger.schedule(schedule_id)
    if approve:
        if not made.shadow and workspace.config(made.schedule.topology).planning.shadow:
            raise PlanError(
                f"schedule {schedule_id} is not approved: topology {made.schedule.topology!r} is in shadow mode; set "
                "planning.mode: act in its file and plan again"
            )
        ledger.expire_steps(now, by=by, topology=made.schedule.topology)
        config = workspace.config(made.schedule.topology)
        for step in ledger.steps(schedule_id=schedule_id, states=(StepState.PROPOSED,)):
            if beyond := beyond_now(config, step):
                raise PlanError(f"schedule {schedule_id} is not approved: {beyond}")
        ledger.approve_schedule(schedule_id, at=now, by=by, why=why)
        _check_approved(ledger, schedule_id, made.schedule.topology)
    else:
        ledger.veto_schedule(schedule_id, at=now, by=by, why=why)
        _check_vetoed(ledger, schedule_id, made.schedule.topology)
    return ReviewedSchedule(schedule_id, {step.id: step.state for step in ledger.steps(schedule_id=schedule_id)})


def _check_approved(ledger: Ledger, schedule_id: str, topology: str) -> None:
    """Raises PlanError if the approval of a schedule with steps has approved none."""
    steps = ledger.steps(schedule_id=schedule_id)
    called_off = [step for step in steps if step.state in CALLED_OFF]
    if not called_off or any(step.state in WAITING or step.state in UNDER_WAY for step in steps):
        return
    newer = _newer_words(ledger, schedule_id, topology)
    remedy = newer or f"plan again: `forescale plan {topology}`"
    all_of_it = "all of it is" if len(called_off) == len(steps) else "none of it waits, it is"
    raise PlanError(f"schedule {schedule_id} is not approved: {all_of_it} {_states(steps)}; {remedy}")


def _check_vetoed(ledger: Ledger, schedule_id: str, topology: str) -> None:
    """Raises PlanError if the veto of a schedule has stopped none of its steps, and what it was against may go on."""
    steps = ledger.steps(schedule_id=schedule_id)
    if not steps or any(step.state is StepState.VETOED for step in steps):
        return
    refused = f"schedule {schedule_id} is not vetoed: none of it waits, it is {_states(steps)}"
    if any(step.state not in CALLED_OFF for step in steps):
        raise PlanError("; ".join(filter(None, [refused, _way_back(ledger, steps)])))
    newer = _newer_words(ledger, schedule_id, topology)
    if newer and ledger.steps(topology=topology, states=WAITING):
        raise PlanError(f"{refused}; {newer}")


def _way_back(ledger: Ledger, steps: Sequence[StepEntry]) -> str:
    """How to return to the plan before a schedule's first step; empty if that plan runs, or another than the step's."""
    begun = [step for step in steps if step.state in (StepState.VERIFIED, *UNDER_WAY)]
    if not begun or replaced_since(begun[-1], ledger) is not None:
        return ""
    before, now = begun[0].replaces, begun[-1].plan
    if before.same_parallelism(now):
        return ""
    return f"to return to the plan before: `{deploy_now_words(before, now)}`"


def _states(steps: Sequence[StepEntry]) -> str:
    return ", ".join(dict.fromkeys(str(step.state) for step in steps))


def _newer_words(ledger: Ledger, schedule_id: str, topology: str) -> str:
    """Which schedule to answer instead; empty if this is the newest."""
    newest = ledger.schedules(topology, limit=1)[0]
    if newest.id == schedule_id:
        return ""
    return f"schedule {newest.id} of {newest.schedule.made_at:%Y-%m-%d %H:%M} UTC is the newest: answer that one"
