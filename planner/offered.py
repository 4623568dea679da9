"""The plan that a scaler of somebody else is offered now: what the approved steps say, whoever carries it out.

A step takes effect at the first moment, at its deploy time or later, at which it stands approved. It stays in effect
until the next one does, a person vetoes it, or the newest schedule ends; after that nothing is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from planner.ledger.entries import StepEntry, StepEvent
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, Maker, StepState

LOOKED_BACK = 50
"""Number of begun steps that are searched for the one in effect."""
_NEWEST = 5
_STANDS = frozenset({StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED})
_ENDS_UNSEEN = frozenset({StepState.SUPERSEDED, StepState.EXPIRED})


class NoOffer(StrEnum):
    """Why nothing is offered. NO_SCHEDULE: there is none that acts. ENDED: the newest one is over. NOT_BEGUN: no
    approved step has taken effect.
    """

    NO_SCHEDULE = "no schedule"
    ENDED = "ended"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class ComingPlan:
    """An approved plan that takes effect later."""

    at: datetime
    parallelism: dict[str, int]


@dataclass(frozen=True)
class OfferedPlan:
    """parallelism: by operator. since: when the step step_id took effect. until: when the newest schedule, schedule_id,
    ends, and with it what is known.
    """

    parallelism: dict[str, int]
    since: datetime
    until: datetime
    step_id: str
    schedule_id: str
    coming: tuple[ComingPlan, ...]


def offered_plan(ledger: Ledger, topology: str, now: datetime, *, asked_of_scaler: bool) -> OfferedPlan | NoOffer:
    """asked_of_scaler: a scaler carries the plans out, so that one which it has not reached stays in effect; else a
    plan that was undone does not. Raises LedgerError.
    """
    made = (each for each in ledger.schedules(topology, limit=_NEWEST) if not each.shadow)
    if (newest := next(made, None)) is None:
        return NoOffer.NO_SCHEDULE
    if now >= newest.schedule.end:
        return NoOffer.ENDED
    for step in ledger.begun_steps(topology, now, limit=LOOKED_BACK):
        since = _in_effect_since(step, ledger.events(step.id), now, asked_of_scaler)
        if since is not None:
            plan = ledger.planned(step)
            coming = tuple(
                ComingPlan(each.deploy_at, dict(ledger.planned(each).parallelism))
                for each in ledger.steps(topology=topology, states=TO_DEPLOY)
                if each.deploy_at > now
            )
            return OfferedPlan(dict(plan.parallelism), since, newest.schedule.end, step.id, newest.id, coming)
    return NoOffer.NOT_BEGUN


def _in_effect_since(
    step: StepEntry, events: Sequence[StepEvent], now: datetime, asked_of_scaler: bool
) -> datetime | None:
    if step.made_by is Maker.GUARD or step.state in (StepState.VETOED, StepState.SHADOW):
        return None
    if step.state is StepState.ROLLED_BACK and not asked_of_scaler:
        return None
    states = [event.to_state for event in events]
    while states and states[-1] in _ENDS_UNSEEN:
        states.pop()
    if not states or states[-1] is StepState.WITHHELD:
        return None
    for event, following in zip(events, [*events[1:], None], strict=True):
        begins = max(event.at, step.deploy_at)
        if event.to_state in _STANDS and begins <= now and (following is None or begins < following.at):
            return begins
    return None
