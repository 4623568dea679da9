"""Column types that return damaged values as `Damaged`, so that the reader can name the row.

SQLAlchemy would raise while fetching, when it is not known which row a bad time or body is in.
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
    """A value that cannot be read, as stored."""

    stored: object


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC on every database, including SQLite, which has no time zones.

    Takes any aware datetime. Raises LedgerError for one without a time zone.
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
    """A UTC day."""

    impl = Date
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return date

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return _named_if_damaged(super().result_processor(dialect, coltype))


class StoredFlag(TypeDecorator[bool]):
    """True or false. SQLite stores numbers, and any other value would read as true."""

    impl = Boolean
    cache_ok = True

    @property
    def python_type(self) -> type[Any]:
        return bool

    def result_processor(self, dialect: Dialect, coltype: object) -> _Processor | None:
        return lambda value: bool(value) if value in (0, 1) else value if value is None else Damaged(value)


class StoredBody(TypeDecorator[dict[str, Any]]):
    """A JSON object."""

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
