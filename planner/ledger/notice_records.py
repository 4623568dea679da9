"""What the ledger keeps of messages: which service was told of which incident, so that each is told once.

A row that is damaged says nothing: its message is sent again, as one too many is better than none, and the row is
written anew.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from planner.errors import DamagedRowError
from planner.ledger.database import Database
from planner.ledger.tables import NoticeTable

logger = logging.getLogger(__name__)

ABANDONED = timedelta(minutes=10)
"""A message that was begun so long ago and never told of as sent was cut short: it is begun again."""


@dataclass(frozen=True)
class NoticeKey:
    """service: a digest, never its address. subject: what tells two incidents of a kind apart."""

    service: str
    topology: str
    kind: str
    subject: str


class NoticeRecords:
    """Every method is one transaction; all raise LedgerError for a database that fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def is_due(self, key: NoticeKey, at: datetime) -> bool:
        with self._database.session() as session:
            try:
                return _is_due(_row(session, key), at)
            except DamagedRowError:
                return True

    def begin(self, keys: Sequence[NoticeKey], at: datetime) -> list[NoticeKey]:
        """Those of a topology that the caller is to tell of, all in one message: nobody has told of them, and nobody
        else is about to.
        """
        with self._database.session() as session:
            self._database.lock(session.connection(), keys[0].topology)
            begun = [key for key in keys if _is_due(_readable_row(session, key), at)]
            for key in begun:
                session.merge(NoticeTable(**vars(key), begun_at=at, told_at=None, over_at=None))
            return begun

    def record_told(self, keys: Iterable[NoticeKey], at: datetime) -> None:
        with self._database.session() as session:
            for key in keys:
                if (row := _row(session, key)) is not None:
                    row.told_at = at

    def give_up(self, keys: Iterable[NoticeKey]) -> None:
        """The message was not taken: it is due again."""
        with self._database.session() as session:
            for key in keys:
                session.execute(delete(NoticeTable).filter_by(**vars(key)).where(NoticeTable.told_at.is_(None)))

    def end_others(self, topology: str, kind: str, subjects: Collection[str], at: datetime) -> None:
        """Incidents of a kind that last no longer: should one come back, it is told again."""
        lasting = (
            update(NoticeTable)
            .where(
                NoticeTable.topology == topology,
                NoticeTable.kind == kind,
                NoticeTable.subject.not_in(subjects),
                NoticeTable.over_at.is_(None),
            )
            .values(over_at=at)
        )
        with self._database.session() as session:
            session.execute(lasting)


def _row(session: Session, key: NoticeKey) -> NoticeTable | None:
    return session.scalars(select(NoticeTable).filter_by(**vars(key))).first()


def _readable_row(session: Session, key: NoticeKey) -> NoticeTable | None:
    """The same, without a row that is damaged, which is deleted."""
    try:
        return _row(session, key)
    except DamagedRowError as error:
        logger.warning("%s. Its message is sent again, and the row written anew", error)
        session.expunge_all()
        session.execute(delete(NoticeTable).filter_by(**vars(key)))
        return None


def _is_due(row: NoticeTable | None, at: datetime) -> bool:
    if row is None or row.over_at is not None:
        return True
    return row.told_at is None and at - row.begun_at > ABANDONED
