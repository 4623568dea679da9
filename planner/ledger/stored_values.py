"""Columns whose values may be damaged: read, they come back as such, so that whoever has the row can name it.

A database raises where a time or a body cannot be read while it fetches rows, and then nobody knows which row it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Date, DateTime
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from planner.errors import LedgerError

_Processor = Callable[[Any], Any]


@dataclass(frozen=True)
class Damaged:
    """A value that cannot be read, as it is stored."""

    stored: object


class UtcDateTime(TypeDecorator[datetime]):
    """A moment: always UTC, on every database, also on SQLite, which knows no time zones.

    Takes any aware datetime and gives it back in UTC. Raises LedgerError for one without a time zone.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise LedgerError(f"moment {value} has no time zone; give it in UTC")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return _named_if_damaged(super().result_processor(dialect, coltype))


class StoredDate(TypeDecorator[date]):
    """A day of UTC."""

    impl = Date
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return date

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return _named_if_damaged(super().result_processor(dialect, coltype))


class StoredFlag(TypeDecorator[bool]):
    """True or false; SQLite keeps numbers, and any other value would be true."""

    impl = Boolean
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return bool

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return lambda value: bool(value) if value in (0, 1) else value if value is None else Damaged(value)


class StoredBody(TypeDecorator[dict[str, Any]]):
    """An object of JSON."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = JSON
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return dict

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return _named_if_damaged(super().result_processor(dialect, coltype))


def _named_if_damaged(process: _Processor | None) -> _Processor | None:
    if process is None:
        return None

    def processed(value: Any) -> Any:
        try:
            return process(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return Damaged(value)

    return processed
