"""Rows of the ledger as they are read: a damaged one is named, with its table, its key and what is wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import QueryContext

from planner.clock import EPOCH, LATEST
from planner.errors import LedgerError, PlanError
from planner.ledger.stored_values import Damaged
from planner.ledger.tables import Base

REMEDY = "restore the ledger from a backup, or correct or delete this row"
_MAX_SHOWN = 60


@contextmanager
def reading_row(row: Base) -> Iterator[None]:
    """What is made of a row within it and cannot be is a LedgerError that names the row."""
    try:
        yield
    except (LedgerError, PlanError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged_row(row, str(error)) from None


def damaged_row(row: Base, why: str) -> LedgerError:
    """The error of a row that was not written by the ledger as it stands."""
    mapper = inspect(type(row))
    key = ", ".join(f"{column.name} {getattr(row, column.name)!s:.80}" for column in mapper.primary_key)
    return LedgerError(f"row of {row.__tablename__} with {key} is damaged: {why}; {REMEDY}")


@event.listens_for(Base, "load", propagate=True)
def _check_columns(row: Base, _context: QueryContext) -> None:
    """Every value is of its column's type: SQLite keeps whatever it is given in any column."""
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
