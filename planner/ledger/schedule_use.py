"""Which schedules are still in use, and what they were made from: none of that may be deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from planner.decision_basis import DecisionBasis
from planner.ledger.database import Records
from planner.ledger.entries import ForecastEntry, forecast_entry
from planner.ledger.step_state import UNDER_WAY, WAITING
from planner.ledger.stored_rows import reading_columns
from planner.ledger.tables import ForecastTable, ScheduleForecastTable, ScheduleTable, StepTable
from planner.schedule_json import basis_from_json

UNSETTLED = (*WAITING, *UNDER_WAY)


@dataclass(frozen=True)
class ScheduleUse:
    """live: it is the newest of its topology, its horizon has not ended, or a step of it waits or is being deployed.
    forecasts: ids of those it was made from.
    """

    id: str
    made_at: datetime
    live: bool
    forecasts: frozenset[str]
    basis: DecisionBasis


class ScheduleUses(Records):
    """Which schedules are in use, and what they were made from."""

    def topologies(self) -> list[str]:
        """Names of all topologies with a forecast or a schedule, sorted."""
        with self._database.session() as session:
            forecast = session.scalars(select(ForecastTable.topology).distinct())
            planned = session.scalars(select(ScheduleTable.topology).distinct())
            return sorted({*forecast, *planned})

    def forecasts(self, topology: str) -> list[ForecastEntry]:
        """All forecasts of the topology, newest first."""
        query = select(ForecastTable).where(ForecastTable.topology == topology)
        with self._database.session() as session:
            rows = session.scalars(query.order_by(ForecastTable.issued_at.desc(), ForecastTable.id))
            return [forecast_entry(row) for row in rows]

    def schedules(self, topology: str, now: datetime) -> list[ScheduleUse]:
        """All schedules of the topology, newest first, and those that were set aside last."""
        columns = (ScheduleTable.id, ScheduleTable.made_at, ScheduleTable.end_at, ScheduleTable.basis)
        query = select(*columns).where(ScheduleTable.topology == topology)
        with self._database.session() as session:
            order = ScheduleTable.set_aside_at.is_not(None), ScheduleTable.made_at.desc(), ScheduleTable.id
            rows = session.execute(query.order_by(*order)).all()
            unsettled = _unsettled(session, topology)
            rests_on = _rests_on(session, topology)
        return [
            ScheduleUse(
                row.id,
                row.made_at,
                number == 0 or row.end_at > now or row.id in unsettled,
                frozenset(rests_on.get(row.id, ())),
                _basis(row.id, row.basis),
            )
            for number, row in enumerate(rows)
        ]


def _basis(schedule_id: str, stored: Mapping[str, Any]) -> DecisionBasis:
    with reading_columns(ScheduleTable.__tablename__, id=schedule_id):
        return basis_from_json(stored)


def _unsettled(session: Session, topology: str) -> set[str | None]:
    query = select(StepTable.schedule_id).where(
        StepTable.topology == topology, StepTable.state.in_([state.value for state in UNSETTLED])
    )
    return set(session.scalars(query))


def _rests_on(session: Session, topology: str) -> dict[str, set[str]]:
    query = (
        select(ScheduleForecastTable.schedule_id, ScheduleForecastTable.forecast_id)
        .join(ScheduleTable, ScheduleTable.id == ScheduleForecastTable.schedule_id)
        .where(ScheduleTable.topology == topology)
    )
    found: dict[str, set[str]] = {}
    for schedule_id, forecast_id in session.execute(query):
        found.setdefault(schedule_id, set()).add(forecast_id)
    return found
