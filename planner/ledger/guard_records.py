"""The ledger's records of the guard: looks at the job, actions with their outcomes, and barred pairs."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import LedgerError
from planner.guard.actions import Action
from planner.guard.judgement import Verdict, VerdictKind, keeps_failing
from planner.guard.look import Look, look_from_json, look_to_json
from planner.guard_facts import REASON, GuardState
from planner.ledger.database import Records
from planner.ledger.entries import ActionCount, BarredPair, GuardAction, barred_pair, guard_action
from planner.ledger.rebase import rebase_steps
from planner.ledger.schedule_rows import lone_step_row
from planner.ledger.step_state import Maker
from planner.ledger.stored_rows import damaged_rows, entries_of, reading_row
from planner.ledger.tables import GuardActionTable, GuardBlacklistTable, GuardLookTable
from planner.ledger.transitions import add_step
from planner.schedule_json import numbers_to_json
from planner.step_cause import StepCause, StepCauseKind

GUARD = "guard"
"""The guard's name in the ledger."""

_JUDGED = {kind.value for kind in VerdictKind}


class GuardRecords(Records):
    """What the guard saw and did, and what it must not do."""

    def record_look(self, topology: str, look: Look, *, forget_before: datetime) -> None:
        """Store a look, replacing one of the same moment, and delete old ones."""
        old = delete(GuardLookTable).where(GuardLookTable.topology == topology, GuardLookTable.at < forget_before)
        with self._database.session() as session:
            session.execute(old)
            session.merge(GuardLookTable(topology=topology, at=look.at, body=look_to_json(look)))

    def looks(self, topology: str) -> list[Look]:
        """All stored looks, oldest first."""
        kept = select(GuardLookTable).where(GuardLookTable.topology == topology).order_by(GuardLookTable.at)
        with self._database.session() as session:
            return entries_of(self._database, session, kept, _look)

    def begin(
        self, action: Action, plan: PhysicalPlan, replaces: PhysicalPlan, *, at: datetime, expires_at: datetime
    ) -> GuardAction:
        """Store an action with the approved step that deploys it.

        Raises LedgerError while an earlier action is open: one at a time, so that each can be judged.
        """
        step_id = _id(GUARD, plan.topology, at)
        with self._database.session() as session:
            self._database.lock(session.connection(), plan.topology)
            if earlier := _open(session, plan.topology):
                raise LedgerError(
                    f"action {earlier.id} of the guard is open since {earlier.decided_at:%Y-%m-%d %H:%M:%S} UTC; "
                    "wait until it is judged"
                )
            times = {"deploy_at": at, "expires_at": expires_at, "at": at}
            why = StepCause(StepCauseKind.GUARD_ACTS, action=action.kind, diagnosis=action.diagnosis.kind)
            add_step(session, lone_step_row(step_id, plan, replaces, Maker.GUARD, by=GUARD, why=why, **times))
            row = _action_row(step_id, plan.topology, action, at, GuardState.OPEN, step_id)
            session.add(row)
            return guard_action(row)

    def advise(self, topology: str, action: Action, *, at: datetime, said_since: datetime) -> GuardAction | None:
        """Store advice for people; None if the same was advised for that operator after said_since."""
        newest = select(GuardActionTable).where(
            GuardActionTable.topology == topology,
            GuardActionTable.state == GuardState.ADVISED.value,
            GuardActionTable.diagnosis == action.diagnosis.kind.value,
            GuardActionTable.action == action.kind.value,
            GuardActionTable.operator == action.diagnosis.operator,
            GuardActionTable.decided_at > said_since,
        )
        with self._database.session() as session:
            self._database.lock(session.connection(), topology)
            if session.scalars(newest).first() is not None:
                return None
            advice_id = _id(f"advice-{action.kind}", topology, at)
            row = _action_row(advice_id, topology, action, at, GuardState.ADVISED, None)
            session.add(row)
            return guard_action(row)

    def action(self, action_id: str) -> GuardAction:
        with self._database.session() as session:
            return guard_action(_row(session, action_id))

    def open_action(self, topology: str) -> GuardAction | None:
        with self._database.session() as session:
            found = entries_of(self._database, session, _open_actions(topology).limit(1), guard_action)
            return found[0] if found else None

    def actions(self, topology: str, *, limit: int = 20) -> list[GuardAction]:
        """Newest first."""
        newest = select(GuardActionTable).where(GuardActionTable.topology == topology)
        with self._database.session() as session:
            ordered = newest.order_by(GuardActionTable.decided_at.desc(), GuardActionTable.id)
            return entries_of(self._database, session, ordered.limit(limit), guard_action)

    def counts(self, topology: str) -> list[ActionCount]:
        """Counts of all stored actions and advice, by kind and state."""
        table = GuardActionTable
        kind = (table.diagnosis, table.action, table.state)
        query = select(*kind, func.count()).where(table.topology == topology).group_by(*kind).order_by(*kind)
        found = []
        with self._database.session() as session:
            for diagnosis, action, state, number in session.execute(query):
                try:
                    found.append(ActionCount(diagnosis, action, GuardState(state), number))
                except ValueError as error:
                    self._database.leave_out(damaged_rows(table.__tablename__, {"topology": topology}, str(error)))
        return found

    def judge(self, action_id: str, verdict: Verdict, *, at: datetime, blacklist_after: int) -> BarredPair | None:
        """Close an action and bar its pair if that has kept failing since it was last lifted. Returns the new bar.

        A closed action stays as it is.
        """
        with self._database.session() as session:
            row = _row(session, action_id)
            self._database.lock(session.connection(), row.topology)
            session.refresh(row)
            if row.state != GuardState.OPEN.value:
                return None
            row.state, row.judged_at, row.judgement = verdict.kind.value, at, REASON.to_json(verdict.reason)
            row.measured = numbers_to_json(verdict.measured)
            session.flush()
            return _bar(session, row, at, blacklist_after)

    def barred(self, topology: str) -> list[BarredPair]:
        held = select(GuardBlacklistTable).where(
            GuardBlacklistTable.topology == topology, GuardBlacklistTable.lifted_at.is_(None)
        )
        with self._database.session() as session:
            return entries_of(self._database, session, held.order_by(GuardBlacklistTable.since), barred_pair)

    def lift(self, topology: str, diagnosis: str, action: str, *, at: datetime, by: str) -> BarredPair:
        """Allow a pair again and forget its failures so far. Raises LedgerError if it is not barred."""
        with self._database.session() as session:
            row = session.get(GuardBlacklistTable, (topology, diagnosis, action))
            if row is None or row.lifted_at is not None:
                known = ", ".join(f"{each.diagnosis} {each.action}" for each in _held(session, topology)) or "nothing"
                raise LedgerError(
                    f"{action} under {diagnosis} is not barred for topology {topology!r}; barred is {known}"
                )
            row.lifted_at, row.lifted_by = at, by
            return barred_pair(row)

    def rebase(self, before: PhysicalPlan, after: PhysicalPlan, *, max_instances: int, at: datetime) -> None:
        """Let planned steps follow on the plan that the guard has deployed in place of another."""
        with self._database.session() as session:
            self._database.lock(session.connection(), before.topology)
            rebase_steps(session, before, after, max_instances, at=at, by=GUARD)


def _id(kind: str, topology: str, at: datetime) -> str:
    return f"{kind}-{hashlib.sha256(f'{topology}|{at.isoformat()}'.encode()).hexdigest()[:12]}"


def _action_row(
    action_id: str, topology: str, action: Action, at: datetime, state: GuardState, step_id: str | None
) -> GuardActionTable:
    return GuardActionTable(
        id=action_id,
        topology=topology,
        decided_at=at,
        diagnosis=action.diagnosis.kind.value,
        action=action.kind.value,
        operator=action.diagnosis.operator,
        reason=REASON.to_json(action.reason),
        step_id=step_id,
        plan=dict(action.plan or {}),
        before=numbers_to_json(action.before),
        expected=numbers_to_json(action.expected),
        state=state.value,
        judged_at=None,
        judgement={},
        measured={},
    )


def _look(row: GuardLookTable) -> Look:
    with reading_row(row):
        return look_from_json(row.body)


def _row(session: Session, action_id: str) -> GuardActionTable:
    row = session.get(GuardActionTable, action_id)
    if row is None:
        raise LedgerError(f"the ledger has no action {action_id} of the guard; `forescale guard --past` lists them")
    return row


def _open(session: Session, topology: str) -> GuardActionTable | None:
    return session.scalars(_open_actions(topology)).first()


def _open_actions(topology: str) -> Select[GuardActionTable]:
    return select(GuardActionTable).where(
        GuardActionTable.topology == topology, GuardActionTable.state == GuardState.OPEN.value
    )


def _held(session: Session, topology: str) -> list[GuardBlacklistTable]:
    of_topology = select(GuardBlacklistTable).where(GuardBlacklistTable.topology == topology)
    return [row for row in session.scalars(of_topology) if row.lifted_at is None]


def _bar(session: Session, judged: GuardActionTable, at: datetime, after: int) -> BarredPair | None:
    pair: Mapping[str, str] = {
        "topology": judged.topology,
        "diagnosis": judged.diagnosis,
        "action": judged.action,
    }
    row = session.get(GuardBlacklistTable, tuple(pair.values()))
    tried = select(GuardActionTable).filter_by(**pair).where(GuardActionTable.state.in_(_JUDGED))
    if row is not None and row.lifted_at is not None:
        tried = tried.where(GuardActionTable.decided_at > row.lifted_at)
    newest = session.scalars(tried.order_by(GuardActionTable.decided_at.desc())).all()
    if not keeps_failing([VerdictKind(each.state) for each in newest], after):
        return None
    last = judged.judgement
    kept = session.merge(GuardBlacklistTable(**pair, since=at, failures=after, last=last, lifted_at=None, lifted_by=""))
    return barred_pair(kept)
