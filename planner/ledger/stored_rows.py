"""Reads rows of the ledger; the error for a damaged one names its table, its key and the problem."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Select, event, inspect
from sqlalchemy.orm import Mapper, QueryContext, Session

from planner.clock import EPOCH, LATEST
from planner.errors import DamagedRowError, LedgerError, PlanError
from planner.ledger.database import Database
from planner.ledger.stored_values import Damaged
from planner.ledger.tables import Base

REMEDY = "restore the ledger from a backup, or correct or delete this row"
_MAX_SHOWN = 60
_UNREADABLE = (LedgerError, PlanError, ValueError, TypeError, KeyError, AttributeError)
Entry = TypeVar("Entry")


def entries_of(
    database: Database, session: Session, query: Select[*tuple[Any, ...]], entry: Callable[..., Entry]
) -> list[Entry]:
    """The entry for each row. query: selects whole rows of one or several tables; entry: takes one of each.

    Raises DamagedRowError, unless the database is a copy from `past_damage`.
    """
    try:
        return [entry(*rows) for rows in session.execute(query).all()]
    except DamagedRowError as error:
        database.leave_out(error)
    tables: list[Mapper[Any]] = [inspect(each["entity"]) for each in query.column_descriptions]
    found = []
    for key in session.execute(query.with_only_columns(*(one for table in tables for one in table.primary_key))).all():
        session.expunge_all()
        try:
            found.append(entry(*_rows(session, tables, key)))
        except DamagedRowError as error:
            database.leave_out(error)
    return found


def _rows(session: Session, tables: Sequence[Mapper[Any]], key: Sequence[object]) -> Iterator[Any]:
    """One row of each table. key: the tables' primary keys, concatenated."""
    rest = iter(key)
    for table in tables:
        values = {column.name: next(rest) for column in table.primary_key}
        for name, value in values.items():
            if isinstance(value, Damaged):
                raise damaged_rows(table.class_.__tablename__, values, f"{name} is {_shown(value.stored)}")
        yield session.get_one(table.class_, tuple(values.values()))


@contextmanager
def reading_row(row: Base) -> Iterator[None]:
    """Turn errors while interpreting a row into a DamagedRowError that names the row."""
    try:
        yield
    except _UNREADABLE as error:
        raise damaged_row(row, str(error)) from None


@contextmanager
def reading_columns(table: str, **key: object) -> Iterator[None]:
    """The same for some columns of the row with that key."""
    try:
        yield
    except _UNREADABLE as error:
        raise damaged_rows(table, key, str(error)) from None


def undamaged(values: Sequence[Any]) -> Sequence[Any]:
    """The same values. Raises ValueError if one is damaged."""
    for value in values:
        if isinstance(value, Damaged):
            raise ValueError(f"it holds {_shown(value.stored)}")
    return values


def damaged_row(row: Base, why: str) -> DamagedRowError:
    """The error for a row whose content the ledger cannot have written."""
    names = [column.name for column in inspect(type(row)).primary_key]
    return damaged_rows(row.__tablename__, {name: getattr(row, name) for name in names}, why)


def damaged_rows(table: str, values: Mapping[str, object], why: str) -> DamagedRowError:
    """The error for the rows that have these values."""
    shown = {name: value.stored if isinstance(value, Damaged) else value for name, value in values.items()}
    which = ", ".join(f"{name} {value!s:.80}" for name, value in shown.items())
    return DamagedRowError(f"row of {table} with {which} is damaged: {why}; {REMEDY}")


@event.listens_for(Base, "load", propagate=True)
def _check_columns(row: Base, _context: QueryContext) -> None:
    """Check that every value has its column's type: SQLite stores any type in any column."""
    for column in inspect(type(row)).columns:
        value = row.__dict__.get(column.name)
        if value is None and column.nullable:
            continue
        if not _is(value, column.type.python_type):
            stored = value.stored if isinstance(value, Damaged) else value
            raise damaged_row(row, f"{column.name} is {_shown(stored)}")


def _is(value: object, kind: type[Any]) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, datetime):
        return kind is datetime and EPOCH <= value < LATEST
    return isinstance(value, kind)


def _shown(stored: object) -> str:
    whole = repr(stored)
    return whole if len(whole) <= _MAX_SHOWN else f"{whole[:_MAX_SHOWN]}…"
