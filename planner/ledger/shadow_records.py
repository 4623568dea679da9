"""The ledger's records of topologies in shadow mode: what a shadow would run, what ran, and one row a day for both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import func, select

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import DamagedRowError
from planner.ledger.database import Records
from planner.ledger.entries import Observation, ShadowDay, StepEntry, observation, shadow_day, step_entry
from planner.ledger.step_state import StepState
from planner.ledger.stored_rows import entries_of, reading_columns, undamaged
from planner.ledger.tables import ObservationTable, ScheduleTable, ShadowDayTable, StepTable
from planner.schedule_json import numbers_to_json, plan_from_json, plan_to_json


@dataclass(frozen=True)
class ShadowSpan:
    """The unbroken run of shadow schedules up to the newest schedule. start: when the first was made; first: the plan
    that really ran then. steps: those they would have deployed or still would, by time.
    """

    start: datetime
    first: PhysicalPlan
    steps: tuple[StepEntry, ...]

    def followed(self, before: datetime) -> tuple[StepEntry, ...]:
        """Steps that were due before that moment."""
        return tuple(step for step in self.steps if step.deploy_at < before)

    def plan_at(self, at: datetime) -> PhysicalPlan:
        """The plan that would have been requested last before a moment."""
        followed = self.followed(at)
        return followed[-1].plan if followed else self.first


class ShadowRecords(Records):
    """Records of topologies in shadow mode."""

    def span(self, topology: str) -> ShadowSpan | None:
        """None if the newest schedule is not a shadow, or there is none.

        Going back in time, a span ends before a schedule that is not a shadow, one with other operators and, on a copy
        from `past_damage`, a damaged one.
        """
        newest = (
            select(ScheduleTable.id, ScheduleTable.made_at, ScheduleTable.shadow, ScheduleTable.current_plan)
            .where(ScheduleTable.topology == topology, ScheduleTable.set_aside_at.is_(None))
            .order_by(ScheduleTable.made_at.desc(), ScheduleTable.id)
        )
        shadows = select(StepTable).where(StepTable.topology == topology, StepTable.state == StepState.SHADOW.value)
        with self._database.session() as session:
            begun: tuple[datetime, PhysicalPlan] | None = None
            for schedule_id, *values in session.execute(newest):
                try:
                    with reading_columns(ScheduleTable.__tablename__, id=schedule_id):
                        made_at, shadow, current = undamaged(values)
                        plan = plan_from_json(current)
                except DamagedRowError as error:
                    self._database.leave_out(error)
                    break
                if not shadow or (begun is not None and set(plan.parallelism) != set(begun[1].parallelism)):
                    break
                begun = (made_at, plan)
            if begun is None:
                return None
            start, first = begun
            followed = shadows.where(StepTable.deploy_at >= start).order_by(StepTable.deploy_at, StepTable.position)
            return ShadowSpan(start, first, tuple(entries_of(self._database, session, followed, step_entry)))

    def record_observations(self, topology: str, observations: Sequence[Observation]) -> int:
        """Store observations of moments that have none yet. Returns how many were new."""
        if not observations:
            return 0
        moments = [each.observed_at for each in observations]
        known = select(ObservationTable.observed_at).where(
            ObservationTable.topology == topology, ObservationTable.observed_at.between(min(moments), max(moments))
        )
        with self._database.session() as session:
            self._database.lock(session.connection(), topology)
            kept = set(session.scalars(known))
            new = [each for each in observations if each.observed_at not in kept]
            session.add_all(
                ObservationTable(
                    **vars(each) | {"plan": plan_to_json(each.plan), "backlog": numbers_to_json(each.backlog)}
                )
                for each in new
            )
        return len(new)

    def observations(self, topology: str, start: datetime, end: datetime) -> list[Observation]:
        """Observations in [start, end], oldest first."""
        within = select(ObservationTable).where(
            ObservationTable.topology == topology,
            ObservationTable.observed_at >= start,
            ObservationTable.observed_at <= end,
        )
        with self._database.session() as session:
            return [observation(row) for row in session.scalars(within.order_by(ObservationTable.observed_at))]

    def last_observed(self, topology: str) -> datetime | None:
        with self._database.session() as session:
            of_topology = ObservationTable.topology == topology
            return session.scalar(select(func.max(ObservationTable.observed_at)).where(of_topology))

    def record_day(self, day: ShadowDay) -> None:
        """Store a day; one that is stored already stays as it is."""
        with self._database.session() as session:
            self._database.lock(session.connection(), day.topology)
            if session.get(ShadowDayTable, (day.topology, day.day)) is None:
                session.add(ShadowDayTable(**vars(day) | {"notes": "\n".join(day.notes)}))

    def days(self, topology: str, *, since: date = date.min) -> list[ShadowDay]:
        """Oldest first."""
        kept = select(ShadowDayTable).where(ShadowDayTable.topology == topology, ShadowDayTable.day >= since)
        with self._database.session() as session:
            return entries_of(self._database, session, kept.order_by(ShadowDayTable.day), shadow_day)
