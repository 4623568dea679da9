"""The ledger: forecasts, decisions, the state of each step, and outcomes."""

import hashlib
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import DecisionBasis
from planner.errors import LedgerError
from planner.guard_facts import Reason
from planner.ledger.approvals import Approvals, replace_by_hand
from planner.ledger.clock_jumps import ClockJumps, return_schedule
from planner.ledger.database import Database
from planner.ledger.entries import (
    ForecastEntry,
    Outcome,
    ScheduleEntry,
    StepEntry,
    StepEvent,
    forecast_entry,
    outcome,
    schedule_entry,
    step_entry,
    step_event,
)
from planner.ledger.migrate import upgrade_database
from planner.ledger.minute_records import MinuteRecords
from planner.ledger.notice_records import NoticeRecords
from planner.ledger.schedule_rows import (
    ScheduleWords,
    is_newest,
    lone_step_row,
    schedule_digest,
    schedule_row,
    schedule_row_of,
    step_rows,
)
from planner.ledger.schedule_use import ScheduleUses
from planner.ledger.shadow_records import ShadowRecords
from planner.ledger.skipped_places import take_skipped_places
from planner.ledger.speed_records import SpeedRecords
from planner.ledger.step_state import TO_DEPLOY, WAITING, Approval, Maker, StepState
from planner.ledger.stored_rows import entries_of
from planner.ledger.tables import (
    ForecastTable,
    OutcomeTable,
    ScheduleForecastTable,
    ScheduleTable,
    StepEventTable,
    StepTable,
)
from planner.ledger.transitions import (
    add_step,
    assume,
    begin_again,
    is_called_off,
    move_step,
    note_never_asked,
    note_withheld,
    step_row,
    supersede_all,
    supersede_others,
)
from planner.scaling_schedule import Alternative, ScalingSchedule
from planner.schedule_json import numbers_to_json, schedule_to_json
from planner.step_cause import StepCause, StepCauseKind, Why

if TYPE_CHECKING:
    from planner.ledger.guard_records import GuardRecords


class Ledger:
    """The ledger at a SQLAlchemy URL. Opening it creates its tables or upgrades them to the newest revision.

    home: folder below which paths of forecasts and reports are stored relatively; it may be moved.

    Each method is one transaction and raises LedgerError if the database fails. No connection stays open in between.
    """

    def __init__(self, url: str, home: Path | None = None) -> None:
        database = Database(url, home)
        upgrade_database(database)
        self._keep_in(database)

    def _keep_in(self, database: Database) -> None:
        self._database = database
        self.approvals = Approvals(database)
        self.clock_jumps = ClockJumps(database)
        self.minutes = MinuteRecords(database)
        self.notices = NoticeRecords(database)
        self.shadow = ShadowRecords(database)
        self.speeds = SpeedRecords(database)
        self.uses = ScheduleUses(database)

    @property
    def guard(self) -> "GuardRecords":
        from planner.ledger.guard_records import GuardRecords  # with the guard and the model, which few commands need

        return GuardRecords(self._database)

    def past_damage(self) -> "Ledger":
        """A copy whose lists leave out damaged rows, which `damaged` names, so that all others can be shown."""
        other = copy(self)
        other._keep_in(self._database.past_damage())
        return other

    @property
    def damaged(self) -> tuple[str, ...]:
        """A message for each row that was left out so far."""
        return self._database.damaged

    def __repr__(self) -> str:
        return f"Ledger({self._database.shown!r})"

    def record_forecast(self, forecast: ForecastEntry) -> str:
        """Store a forecast and return its id; a known id changes nothing."""
        with self._database.session() as session:
            self._database.lock(session.connection(), forecast.topology)
            known = session.get(ForecastTable, forecast.id)
            columns = vars(forecast) | {"folder": self._database.stored_path(forecast.folder)}
            if known is None:
                session.add(ForecastTable(**columns))
            elif known.set_aside_at is not None:
                # The same was forecast again at the right time.
                session.merge(ForecastTable(**columns, set_aside_at=None))
        return forecast.id

    def forecasts(self, topology: str, *, limit: int = 100) -> list[ForecastEntry]:
        """The topology's forecasts, newest first, without those that were set aside."""
        newest = select(ForecastTable).where(ForecastTable.topology == topology, ForecastTable.set_aside_at.is_(None))
        with self._database.session() as session:
            ordered = newest.order_by(ForecastTable.issued_at.desc(), ForecastTable.id)
            return entries_of(self._database, session, ordered.limit(limit), self._forecast_entry)

    def forecast_topologies(self) -> list[str]:
        """Names of the topologies that have forecasts, sorted."""
        with self._database.session() as session:
            return list(session.scalars(select(ForecastTable.topology).distinct().order_by(ForecastTable.topology)))

    def forecasts_of(self, schedule_id: str) -> list[ForecastEntry]:
        """The forecasts that a schedule was made from, however old."""
        rests_on = select(ScheduleForecastTable.forecast_id).where(ScheduleForecastTable.schedule_id == schedule_id)
        with self._database.session() as session:
            rows = session.scalars(
                select(ForecastTable).where(ForecastTable.id.in_(rests_on)).order_by(ForecastTable.id)
            )
            return [self._forecast_entry(row) for row in rows]

    def record_schedule(
        self,
        schedule: ScalingSchedule,
        *,
        forecasts: Sequence[str] = (),
        report: str = "",
        by: str = "planner",
        shadow: bool = False,
        decides: bool = True,
        asked: DecisionBasis | None = None,
        words: ScheduleWords | None = None,
    ) -> str:
        """Store a schedule with its steps, proposed, and call off the proposed steps of the topology's earlier
        schedules.

        forecasts: ids of the recorded forecasts it was made from. shadow: its steps are never deployed, and all waiting
        steps of earlier schedules are called off. decides: False for a schedule without a basis; the shadow's earlier
        steps then stand, as approved steps always do. If a schedule that was made later is recorded already, this one's
        own steps are called off instead.

        Returns an id that is the same for the same decision, whenever it was made; recording it again changes nothing.
        asked: the basis that was asked for. If the newest schedule answers it, another planner was faster: its id is
        returned and nothing is stored. words: for the tables; None: those of the schedule.
        """
        words = words or ScheduleWords.recorded(schedule)
        schedule_id = schedule_digest(schedule, shadow=shadow)
        with self._database.session() as session:
            self._database.lock(session.connection(), schedule.topology)
            if asked is not None and (quicker := self._answered(session, schedule, asked)):
                return quicker
            others = partial(supersede_others, session, schedule.topology, schedule_id, at=schedule.made_at, by=by)
            if (known := session.get(ScheduleTable, schedule_id)) is not None:
                if known.set_aside_at is not None:
                    return_schedule(session, known, schedule.made_at, by=by)
                if shadow:
                    # A schedule of another mode may have been made in between.
                    others(WAITING)
                return schedule_id
            stored = self._database.stored_path(report)
            row = schedule_row(schedule_id, schedule, stored, words.schedule, shadow=shadow)
            session.add(row)
            session.flush()
            for forecast_id in dict.fromkeys(forecasts):
                if session.get(ForecastTable, forecast_id) is None:
                    raise LedgerError(
                        f"schedule {schedule_id} rests on forecast {forecast_id!r}, which the ledger does not have; "
                        "record the forecast first"
                    )
                session.add(ScheduleForecastTable(schedule_id=schedule_id, forecast_id=forecast_id))
            for step in step_rows(schedule_id, schedule, by, words.steps, shadow=shadow):
                add_step(session, step)
            if not is_newest(session, row):
                # Another planner has recorded a later schedule first, so this one could never be approved.
                supersede_all(session, schedule_id, at=schedule.made_at, by=by)
                return schedule_id
            # Approved steps stand until this schedule is approved: a topology must not be left without a plan.
            called_off = WAITING if shadow else (StepState.PROPOSED,)
            others(called_off)
            # Shadow steps from before this schedule stay: the shadow has followed them.
            if decides:
                others((StepState.SHADOW,), due_from=schedule.made_at)
        return schedule_id

    def _answered(self, session: Session, schedule: ScalingSchedule, asked: DecisionBasis) -> str:
        """The id of the newest schedule if it answers; else empty."""
        for row in session.scalars(_newest_first(schedule.topology).limit(1)):
            entry = self._schedule_entry(session, row)
            return entry.id if entry.schedule.answers(asked, schedule.made_at) else ""
        return ""

    def approve_schedule(
        self,
        schedule_id: str,
        *,
        at: datetime,
        by: str,
        why: Why,
        only: Collection[str] | None = None,
        how: Approval = Approval.PERSON,
    ) -> None:
        """Approve the schedule's proposed steps, and call off waiting steps of the topology's other schedules.

        only: ids of steps; None for all. Changes nothing if a newer schedule has been recorded or the steps were called
        off. Raises LedgerError for a schedule of shadow mode.
        """
        with self._database.session() as session:
            row = schedule_row_of(session, schedule_id)
            if row.shadow:
                raise LedgerError(
                    f"schedule {schedule_id} was made in shadow mode and is never deployed; set planning.mode: act in "
                    "the topology file and plan again"
                )
            self._database.lock(session.connection(), row.topology)
            if not is_newest(session, row) or is_called_off(session, schedule_id):
                return
            proposed = select(StepTable.id).where(
                StepTable.schedule_id == schedule_id, StepTable.state == StepState.PROPOSED.value
            )
            for step_id in session.scalars(proposed).all():
                if only is not None and step_id not in only:
                    continue
                expected, to = StepState.PROPOSED, StepState.APPROVED
                move_step(session, step_id, expected=expected, to=to, at=at, by=by, why=why, approval=how)
            supersede_others(session, row.topology, schedule_id, WAITING, at=at, by=by)

    def veto_schedule(self, schedule_id: str, *, at: datetime, by: str, why: Why) -> None:
        """Veto the schedule's waiting steps: all that wait at one moment, whoever else moves them."""
        with self._database.session() as session:
            row = schedule_row_of(session, schedule_id)
            self._database.lock(session.connection(), row.topology)
            waiting = select(StepTable).where(StepTable.schedule_id == schedule_id, StepTable.state.in_(WAITING))
            for step in session.scalars(waiting.with_for_update()).all():
                expected, to = StepState(step.state), StepState.VETOED
                move_step(session, step.id, expected=expected, to=to, at=at, by=by, why=why)

    def record_report(self, schedule_id: str, report: str) -> None:
        """Store the path of the schedule's report."""
        with self._database.session() as session:
            schedule_row_of(session, schedule_id).report = self._database.stored_path(report)

    def record_comparison(self, schedule_id: str, other: Alternative) -> None:
        """Add an alternative that the decision did not weigh; once for each kind."""
        with self._database.session() as session:
            row = schedule_row_of(session, schedule_id)
            schedule = self._schedule_entry(session, row).schedule
            if other.kind not in {each.kind for each in schedule.alternatives}:
                row.body = schedule_to_json(replace(schedule, alternatives=(*schedule.alternatives, other)))

    def schedule(self, schedule_id: str) -> ScheduleEntry:
        with self._database.session() as session:
            return self._schedule_entry(session, schedule_row_of(session, schedule_id))

    def report(self, schedule_id: str) -> str:
        """Path of the schedule's report, even if the rest of its row is damaged; empty if there is none yet."""
        with self._database.session() as session:
            report = session.scalar(select(ScheduleTable.report).where(ScheduleTable.id == schedule_id))
        return self._database.absolute_path(report) if isinstance(report, str) else ""

    def schedules(self, topology: str, *, limit: int = 20) -> list[ScheduleEntry]:
        """The topology's schedules, newest first, without those that were set aside."""
        newest = _newest_first(topology).limit(limit)
        with self._database.session() as session:
            return entries_of(self._database, session, newest, partial(self._schedule_entry, session))

    def record_hand_made_step(
        self,
        request_id: str,
        plan: PhysicalPlan,
        *,
        replaces: PhysicalPlan,
        deploy_at: datetime,
        expires_at: datetime,
        at: datetime,
        by: str,
        why: Why,
    ) -> str:
        """Store a step that a person requested, which approves it; no schedule supersedes it. Returns its id.

        The same request gives the same step. Raises LedgerError if it now asks for another plan.
        """
        step_id = _hand_made(plan.topology, request_id)
        with self._database.session() as session:
            self._database.lock(session.connection(), plan.topology)
            known = session.get(StepTable, step_id)
            if known is None:
                times = {"deploy_at": deploy_at, "expires_at": expires_at, "at": at}
                row = lone_step_row(step_id, plan, replaces, Maker.PERSON, by=by, why=why, **times)
                add_step(session, row)
            elif not step_entry(known).plan.same_parallelism(plan):
                raise LedgerError(
                    f"request {request_id!r} is step {step_id}, which asks for {step_entry(known).plan.brief()}, not "
                    f"{plan.brief()}; give the new request an id of its own"
                )
        return step_id

    def hand_made_step(self, topology: str, request_id: str) -> StepEntry | None:
        """The step that `record_hand_made_step` has stored for the request, or None."""
        with self._database.session() as session:
            known = session.get(StepTable, _hand_made(topology, request_id))
            return None if known is None else step_entry(known)

    def step(self, step_id: str) -> StepEntry:
        with self._database.session() as session:
            return step_entry(step_row(session, step_id))

    def steps(
        self,
        *,
        topology: str | None = None,
        schedule_id: str | None = None,
        states: Collection[StepState] = tuple(StepState),
        changed_since: datetime | None = None,
    ) -> list[StepEntry]:
        """Steps by deploy time. changed_since: only those that entered their state then or later.

        Raises LedgerError for a step in an unknown state.
        """
        asked = {state.value for state in states}
        others = [state.value for state in StepState if state.value not in asked]
        query = select(StepTable).where(StepTable.state.not_in(others))
        if topology is not None:
            query = query.where(StepTable.topology == topology)
        if schedule_id is not None:
            query = query.where(StepTable.schedule_id == schedule_id)
        if changed_since is not None:
            query = query.where(StepTable.updated_at >= changed_since)
        with self._database.session() as session:
            ordered = query.order_by(StepTable.deploy_at, StepTable.position, StepTable.id)
            return entries_of(self._database, session, ordered, step_entry)

    def newest_steps(self, topology: str, *, limit: int) -> list[StepEntry]:
        """Those with the latest deploy times, in whatever state, by deploy time."""
        query = select(StepTable).where(StepTable.topology == topology).limit(limit)
        with self._database.session() as session:
            ordered = query.order_by(StepTable.deploy_at.desc(), StepTable.position.desc(), StepTable.id.desc())
            return entries_of(self._database, session, ordered, step_entry)[::-1]

    def step_topologies(self) -> list[str]:
        """Topologies that have steps, by name."""
        with self._database.session() as session:
            return list(session.scalars(select(StepTable.topology).distinct().order_by(StepTable.topology)))

    def begun_steps(self, topology: str, now: datetime, *, limit: int) -> list[StepEntry]:
        """Steps whose deploy time has come, newest first, in whatever state."""
        query = select(StepTable).where(StepTable.topology == topology, StepTable.deploy_at <= now).limit(limit)
        with self._database.session() as session:
            ordered = query.order_by(StepTable.deploy_at.desc(), StepTable.updated_at.desc(), StepTable.id.desc())
            return entries_of(self._database, session, ordered, step_entry)

    def step_counts(self, topology: str) -> dict[StepState, int]:
        """Number of the topology's steps in each state, for all states."""
        query = select(StepTable.state, func.count()).where(StepTable.topology == topology).group_by(StepTable.state)
        with self._database.session() as session:
            counted = {row[0]: row[1] for row in session.execute(query)}
        return {state: counted.get(state.value, 0) for state in StepState}

    def due_steps(self, now: datetime, *, topology: str | None = None) -> list[StepEntry]:
        """Approved steps that are due and have not expired."""
        approved = self.steps(topology=topology, states=TO_DEPLOY)
        return [step for step in approved if step.deploy_at <= now < step.expires_at]

    def expire_steps(self, now: datetime, *, by: str, topology: str | None = None) -> list[str]:
        """Expire waiting steps whose time has passed. Returns their ids."""
        query = select(StepTable).where(StepTable.state.in_(WAITING), StepTable.expires_at <= now)
        if topology is not None:
            query = query.where(StepTable.topology == topology)
        with self._database.session() as session:
            rows = session.scalars(query.with_for_update())
            expired = [(row.id, StepState(row.state), row.expires_at) for row in rows]
            for step_id, state, expires_at in expired:
                why = StepCause(StepCauseKind.TOO_LATE, at=now, until=expires_at)
                move_step(session, step_id, expected=state, to=StepState.EXPIRED, at=now, by=by, why=why)
        return [step_id for step_id, *_ in expired]

    def transition(
        self,
        step_id: str,
        *,
        expected: StepState,
        to: StepState,
        at: datetime,
        by: str,
        why: Why,
        never_asked: bool = False,
        withheld: Reason | None = None,
    ) -> StepEntry:
        """Compare-and-set: move a step on from the expected state. A move to `deploying` counts as an attempt. A plan
        of a person that is verified replaces the schedule whose plan it is not. never_asked: it is rolled back before
        the cluster was asked. withheld: why it waits, for a move to `withheld`.

        Raises LedgerError with the step's state if that is another, and for a transition that is not allowed.
        """
        with self._database.session() as session:
            move_step(session, step_id, expected=expected, to=to, at=at, by=by, why=why)
            if never_asked:
                note_never_asked(session, step_id)
            if withheld is not None:
                note_withheld(session, step_id, withheld)
            step = step_entry(step_row(session, step_id))
            if to is StepState.VERIFIED and step.made_by is Maker.PERSON:
                self._database.lock(session.connection(), step.topology)
                replace_by_hand(session, step, at=at, by=by)
            return step_entry(step_row(session, step_id))

    def assume(
        self,
        step_id: str,
        *,
        expected: StepState,
        plan: PhysicalPlan,
        replaces: PhysicalPlan,
        at: datetime,
        by: str,
        why: Why,
    ) -> StepEntry:
        """Replace the plans that a step deploys and replaces; its schedule keeps the original ones.

        Raises LedgerError unless the step is in the expected state.
        """
        with self._database.session() as session:
            assume(session, step_id, expected=expected, plan=plan, replaces=replaces, at=at, by=by, why=why)
            return step_entry(step_row(session, step_id))

    def take_skipped_places(self, step: StepEntry, *, at: datetime, by: str) -> StepEntry:
        """If the steps of its schedule right before a deployable step were withheld or their time went by, let the step
        follow on what runs; those that still wait are called off. Idempotent, across processes too.
        """
        with self._database.session() as session:
            self._database.lock(session.connection(), step.topology)
            return take_skipped_places(session, step.id, at=at, by=by)

    def planned(self, step: StepEntry) -> PhysicalPlan:
        """The plan in the step's schedule, however the step was changed; its own plan if it has no schedule."""
        if step.schedule_id is None:
            return step.plan
        return self.schedule(step.schedule_id).schedule.steps[step.position - 1].plan

    def resume(self, step_id: str, *, expected: StepState, at: datetime, by: str, why: Why) -> StepEntry:
        """Count another attempt at a step whose deployment was cut short."""
        with self._database.session() as session:
            begin_again(session, step_id, expected=expected, at=at, by=by, why=why)
            return step_entry(step_row(session, step_id))

    def events(self, step_id: str) -> list[StepEvent]:
        """Every transition of a step, oldest first."""
        query = select(StepEventTable).where(StepEventTable.step_id == step_id).order_by(StepEventTable.id)
        with self._database.session() as session:
            return entries_of(self._database, session, query, step_event)

    def record_outcome(self, known: Outcome) -> None:
        """Store the outcome of a step, replacing an earlier one."""
        with self._database.session() as session:
            step_row(session, known.step_id)
            numbers = {"predicted": numbers_to_json(known.predicted), "measured": numbers_to_json(known.measured)}
            session.merge(OutcomeTable(**vars(known) | numbers))

    def outcome(self, step_id: str) -> Outcome | None:
        with self._database.session() as session:
            row = session.get(OutcomeTable, step_id)
            return None if row is None else outcome(row)

    def outcomes(
        self, topology: str, *, states: Collection[StepState] = tuple(StepState), limit: int = 20
    ) -> list[tuple[StepEntry, Outcome]]:
        """Outcomes of the topology's steps in these states, the latest first."""
        newest = (
            select(StepTable, OutcomeTable)
            .join(OutcomeTable, OutcomeTable.step_id == StepTable.id)
            .where(StepTable.topology == topology, StepTable.state.in_([state.value for state in states]))
            .order_by(StepTable.updated_at.desc(), StepTable.id)
            .limit(limit)
        )
        with self._database.session() as session:
            return entries_of(self._database, session, newest, lambda step, known: (step_entry(step), outcome(known)))

    def _forecast_entry(self, row: ForecastTable) -> ForecastEntry:
        entry = forecast_entry(row)
        return replace(entry, folder=self._database.absolute_path(entry.folder))

    def _schedule_entry(self, session: Session, row: ScheduleTable) -> ScheduleEntry:
        rests_on = select(ScheduleForecastTable.forecast_id).where(ScheduleForecastTable.schedule_id == row.id)
        ordered = rests_on.order_by(ScheduleForecastTable.forecast_id)
        entry = schedule_entry(row, tuple(session.scalars(ordered)))
        return replace(entry, report=self._database.absolute_path(entry.report))


def _hand_made(topology: str, request_id: str) -> str:
    return f"hand-{hashlib.sha256(f'{topology}|{request_id}'.encode()).hexdigest()[:12]}"


def _newest_first(topology: str) -> Select[ScheduleTable]:
    of_topology = select(ScheduleTable).where(ScheduleTable.topology == topology, ScheduleTable.set_aside_at.is_(None))
    return of_topology.order_by(ScheduleTable.made_at.desc(), ScheduleTable.id)
