"""Which decisions and steps were lost or doubled over the hours of a run, by the ledger and the cluster.

A topology's decision is due in each of its hours in which the cluster reports what runs and the ledger can be written.
It is lost if no schedule was made or confirmed in that hour, doubled if two were. A step is lost if it was approved,
its time came while it could be deployed, nothing withheld it, and it was not deployed. It is doubled if the cluster
changed its plan more often than steps asked for (a step whose plan already ran asks for nothing), if it is verified
twice, or if steps of two schedules waited at once. A topology stopped in silence if steps of its newest schedule are
called off before their time, though no job failed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import StepEntry, StepEvent
from planner.ledger.step_state import TO_DEPLOY, UNDER_WAY, WAITING, StepState

GRACE = timedelta(minutes=10)
"""How long after its time a step may wait until another schedule takes its place: deployments start by the minute."""
_CALLED_OFF = frozenset({StepState.SUPERSEDED, StepState.EXPIRED})
_APPROVED = frozenset(TO_DEPLOY)
_NOT_BEGUN = frozenset(WAITING)


@dataclass(frozen=True)
class Span:
    """From begin until end, by the clock of the run."""

    begin: datetime
    end: datetime

    def meets(self, begin: datetime, end: datetime) -> bool:
        return self.begin < end and begin < self.end


@dataclass(frozen=True)
class Hour:
    """begin: by the clock. decisions: by topology, ids of the schedules made or confirmed in the hour. excused:
    topologies that were not due, or that nobody could decide on.
    """

    begin: datetime
    decisions: Mapping[str, frozenset[str]]
    excused: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SteppedStep:
    """A step with its transitions, oldest first."""

    entry: StepEntry
    events: Sequence[StepEvent]


@dataclass(frozen=True)
class Deployed:
    """One topology's deployments. hindered: when steps could not be deployed. rescales: how often the cluster changed
    its plan. ended: the clock at the end of the run.
    """

    steps: Sequence[SteppedStep]
    hindered: Sequence[Span]
    rescales: int
    ended: datetime


@dataclass(frozen=True)
class Reckoning:
    """lost, doubled, stopped: a line each. decisions, steps: number of due ones."""

    decisions: int
    steps: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    stopped: tuple[str, ...] = ()

    def __add__(self, other: "Reckoning") -> "Reckoning":
        return Reckoning(
            self.decisions + other.decisions,
            self.steps + other.steps,
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.stopped + other.stopped,
        )


def reckoned_decisions(topology: str, hours: Sequence[Hour]) -> Reckoning:
    """Lost and doubled decisions, as the module defines them."""
    due = [hour for hour in hours if topology not in hour.excused]
    lost = [hour for hour in due if not hour.decisions.get(topology)]
    doubled = [hour for hour in hours if len(hour.decisions.get(topology, ())) > 1]
    return Reckoning(
        len(due),
        0,
        tuple(f"{topology}: no decision in the hour from {hour.begin:%d %b %H:%M}" for hour in lost),
        tuple(
            f"{topology}: {len(hour.decisions[topology])} decisions in the hour from {hour.begin:%d %b %H:%M}"
            for hour in doubled
        ),
    )


def reckoned_steps(topology: str, deployed: Deployed) -> Reckoning:
    """Lost and doubled steps, as the module defines them."""
    lost, doubled, due, asked = [], [], 0, Counter[str]()
    ran_already = _ran_already(deployed.steps)
    for step in deployed.steps:
        if any(event.to_state is StepState.APPROVED for event in step.events):
            due += _came(step, deployed.ended)
            if why := _lost_because(step, deployed):
                lost.append(f"{topology}: step {step.entry.id} of {step.entry.deploy_at:%d %b %H:%M} {why}")
        if step.entry.id not in ran_already:
            asked.update(_asked(step))
    if deployed.rescales > asked["changes"]:
        doubled.append(
            f"{topology}: the cluster changed its plan {deployed.rescales} times for {asked['changes']} steps"
        )
    if deployed.rescales < asked["verified"]:
        lost.append(
            f"{topology}: {asked['verified']} steps are verified, and the cluster changed {deployed.rescales} times"
        )
    doubled += [f"{topology}: step {step.entry.id} is verified twice" for step in deployed.steps if _verified(step) > 1]
    return Reckoning(0, due, tuple(lost), tuple(doubled))


def doubled_places(topology: str, waiting: Sequence[StepEntry]) -> Reckoning:
    """waiting: the topology's steps at one moment of the run, whatever their state."""
    schedules = {step.schedule_id for step in waiting if step.state in _APPROVED and step.schedule_id is not None}
    told = (f"{topology}: steps of {len(schedules)} schedules wait at once: {', '.join(sorted(map(str, schedules)))}",)
    return Reckoning(0, 0, (), told if len(schedules) > 1 else ())


def silent_stops(topology: str, newest: Sequence[StepEntry], now: datetime) -> Reckoning:
    """newest: steps of the newest schedule after an hour without a fault."""
    called_off = [step for step in newest if step.state in _CALLED_OFF and step.deploy_at > now]
    told = (f"{topology}: {step.state} step {step.id} of {step.deploy_at:%d %b %H:%M}" for step in called_off)
    return Reckoning(0, 0, (), (), tuple(f"{each} at {now:%d %b %H:%M}, in the newest schedule" for each in told))


def _came(step: SteppedStep, ended: datetime) -> bool:
    """Whether the step's time came before another schedule superseded it."""
    called_off = [event.at for event in step.events if event.to_state is StepState.SUPERSEDED]
    return step.entry.deploy_at < min([*called_off, ended])


def _lost_because(step: SteppedStep, deployed: Deployed) -> str:
    entry, last = step.entry, step.events[-1]
    if any(event.to_state is StepState.WITHHELD for event in step.events):
        return ""
    until = min(entry.expires_at, last.at if last.to_state is StepState.SUPERSEDED else deployed.ended)
    if any(span.meets(entry.deploy_at, until) for span in deployed.hindered):
        return ""
    if last.to_state is StepState.EXPIRED:
        return "expired"
    if last.to_state is StepState.SUPERSEDED and last.at > entry.deploy_at + GRACE:
        return "was called off after its time"
    if last.to_state in _NOT_BEGUN | frozenset(UNDER_WAY) and deployed.ended > entry.deploy_at + GRACE:
        return f"is still {last.to_state}"
    return ""


def _ran_already(steps: Sequence[SteppedStep]) -> frozenset[str]:
    """Ids of verified steps that changed nothing, for example because the guard had just set the same plan."""
    running: PhysicalPlan | None = None
    found = set()
    for step in sorted(filter(_verified, steps), key=_verified_at):
        if running is not None and step.entry.plan.same_parallelism(running):
            found.add(step.entry.id)
        running = step.entry.plan
    return frozenset(found)


def _verified_at(step: SteppedStep) -> datetime:
    return next(event.at for event in step.events if event.to_state is StepState.VERIFIED)


def _asked(step: SteppedStep) -> dict[str, int]:
    """How often the cluster may have changed its plan for the step; an undone step changes it and changes it back."""
    if step.entry.plan.same_parallelism(step.entry.replaces):
        return {}
    ended = {event.to_state for event in step.events}
    if StepState.VERIFIED in ended:
        return {"changes": 1, "verified": 1}
    return {"changes": 2} if StepState.DEPLOYING in ended else {}


def _verified(step: SteppedStep) -> int:
    return sum(event.to_state is StepState.VERIFIED for event in step.events)
