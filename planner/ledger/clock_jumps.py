"""What was recorded while a clock was ahead: set aside once the time is right again, and its calls-off taken back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from planner.ledger.database import Records
from planner.ledger.step_state import WAITING, StepState
from planner.ledger.tables import (
    ForecastTable,
    GuardLookTable,
    LagHourTable,
    ObservationTable,
    ScheduleTable,
    ShadowDayTable,
    StepEventTable,
    StepTable,
)
from planner.ledger.transitions import move_step, take_back
from planner.step_cause import StepCause, StepCauseKind

AHEAD = timedelta(minutes=5)
"""Clocks of machines that share a ledger differ by less."""

_CALLED_OFF = (StepState.EXPIRED, StepState.SUPERSEDED)


@dataclass(frozen=True)
class SetAside:
    """Ids of what was set aside: schedules and forecasts. steps: those that wait again, since they were called off at a
    time that has not come.
    """

    schedules: tuple[str, ...] = ()
    forecasts: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schedules or self.forecasts or self.steps)


class ClockJumps(Records):
    """What was recorded while a clock was ahead."""

    def newest_ahead(self, topology: str, now: datetime) -> datetime | None:
        """The latest time of a schedule or forecast of the topology that is ahead of now and not set aside; None
        without one.
        """
        with self._database.session() as session:
            made = [row.made_at for row in _schedules_ahead(session, topology, now)]
            issued = [row.issued_at for row in _forecasts_ahead(session, topology, now)]
            moved = [event.at for _, event in _called_off_ahead(session, topology, now)]
        return max((*made, *issued, *moved), default=None)

    def set_aside(self, topology: str, now: datetime, *, by: str) -> SetAside:
        """Set aside schedules and forecasts of a time ahead of now, call off their waiting steps, let steps wait again
        that were called off then, and delete measurements of that time. Idempotent.
        """
        with self._database.session() as session:
            self._database.lock(session.connection(), topology)
            schedules, forecasts = _schedules_ahead(session, topology, now), _forecasts_ahead(session, topology, now)
            both: list[ScheduleTable | ForecastTable] = [*schedules, *forecasts]
            for row in both:
                row.set_aside_at = now
            apart = {row.id for row in schedules}
            session.flush()
            for step in session.scalars(_waiting(topology).where(StepTable.schedule_id.in_(apart))).all():
                why = StepCause(StepCauseKind.CLOCK_AHEAD)
                state = StepState(step.state)
                move_step(session, step.id, expected=state, to=StepState.SUPERSEDED, at=now, by=by, why=why)
            waiting = []
            replaced = set(session.scalars(select(ScheduleTable.id).where(ScheduleTable.replaced_by.is_not(None))))
            for step, event in _called_off_ahead(session, topology, now):
                before = StepState(str(event.from_state))
                if step.schedule_id in apart | replaced or step.expires_at <= now or before not in WAITING:
                    continue
                why = StepCause(StepCauseKind.CLOCK_RIGHT, state=step.state, at=event.at)
                take_back(session, step.id, expected=StepState(step.state), to=before, at=now, by=by, why=why)
                waiting.append(step.id)
            _forget_ahead(session, topology, now + AHEAD)
            ids = tuple(sorted(apart)), tuple(sorted(row.id for row in forecasts))
        return SetAside(*ids, tuple(sorted(waiting)))


def return_schedule(session: Session, row: ScheduleTable, made_at: datetime, *, by: str) -> None:
    """Let a schedule that was set aside stand, since the same was decided at the right time."""
    row.set_aside_at, row.made_at = None, made_at
    row.body = row.body | {"made_at": made_at.isoformat()}
    session.flush()
    called_off = select(StepTable.id).where(
        StepTable.schedule_id == row.id, StepTable.state == StepState.SUPERSEDED.value
    )
    for step_id in session.scalars(called_off).all():
        why = StepCause(StepCauseKind.DECIDED_AGAIN)
        expected, to = StepState.SUPERSEDED, StepState.SHADOW if row.shadow else StepState.PROPOSED
        take_back(session, step_id, expected=expected, to=to, at=made_at, by=by, why=why)


def _schedules_ahead(session: Session, topology: str, now: datetime) -> list[ScheduleTable]:
    ahead = select(ScheduleTable).where(
        ScheduleTable.topology == topology, ScheduleTable.made_at > now + AHEAD, ScheduleTable.set_aside_at.is_(None)
    )
    return list(session.scalars(ahead))


def _forecasts_ahead(session: Session, topology: str, now: datetime) -> list[ForecastTable]:
    ahead = select(ForecastTable).where(
        ForecastTable.topology == topology, ForecastTable.issued_at > now + AHEAD, ForecastTable.set_aside_at.is_(None)
    )
    return list(session.scalars(ahead))


def _called_off_ahead(session: Session, topology: str, now: datetime) -> Iterable[tuple[StepTable, StepEventTable]]:
    """Steps that were called off at a time ahead, each with the first of these moves."""
    query = (
        select(StepTable, StepEventTable)
        .join(StepEventTable, StepEventTable.step_id == StepTable.id)
        .where(
            StepTable.topology == topology,
            StepTable.state.in_([state.value for state in _CALLED_OFF]),
            StepTable.updated_at > now + AHEAD,
            StepEventTable.at > now + AHEAD,
            StepEventTable.to_state.in_([state.value for state in _CALLED_OFF]),
            StepEventTable.from_state != StepEventTable.to_state,
        )
        .order_by(StepEventTable.id)
    )
    first: dict[str, tuple[StepTable, StepEventTable]] = {}
    for step, event in session.execute(query):
        first.setdefault(step.id, (step, event))
    return first.values()


def _waiting(topology: str) -> Select[StepTable]:
    return select(StepTable).where(
        StepTable.topology == topology, StepTable.state.in_([state.value for state in WAITING])
    )


def _forget_ahead(session: Session, topology: str, after: datetime) -> None:
    for table, moment in (
        (GuardLookTable, GuardLookTable.at),
        (LagHourTable, LagHourTable.hour),
        (ObservationTable, ObservationTable.observed_at),
        (ShadowDayTable, ShadowDayTable.accrued_at),
    ):
        session.execute(delete(table).where(table.topology == topology, moment > after))
