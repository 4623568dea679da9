"""The ledger's records of messages: which service was notified of which incident, so that each is notified once.

A damaged row counts as missing: its message is sent again, since one too many is better than none, and the row is
rewritten.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from planner.errors import DamagedRowError
from planner.ledger.database import Records
from planner.ledger.tables import NoticeTable

logger = logging.getLogger(__name__)

ABANDONED = timedelta(minutes=10)
"""A message begun this long ago and not recorded as sent was cut short: it is begun again."""


@dataclass(frozen=True)
class NoticeKey:
    """service: a digest, never its address. subject: distinguishes incidents of one kind."""

    service: str
    topology: str
    kind: str
    subject: str


class NoticeRecords(Records):
    """Which service was notified of which incident."""

    def is_due(self, key: NoticeKey, at: datetime) -> bool:
        with self._database.session() as session:
            try:
                return _is_due(_row(session, key), at)
            except DamagedRowError:
                return True

    def begin(self, keys: Sequence[NoticeKey], at: datetime) -> list[NoticeKey]:
        """Claim the notices of one topology that the caller is to send, in one message: those not sent before and not
        claimed by another process.
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
        """Release notices whose message was not accepted: they are due again."""
        with self._database.session() as session:
            for key in keys:
                session.execute(delete(NoticeTable).filter_by(**vars(key)).where(NoticeTable.told_at.is_(None)))

    def end_others(self, topology: str, kind: str, subjects: Collection[str], at: datetime) -> None:
        """End the incidents of a kind that are not among `subjects`: if one comes back, it is notified again."""
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
    """The same, but a damaged row is deleted and None returned."""
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
