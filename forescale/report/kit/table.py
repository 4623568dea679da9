"""Sentences and tables of a page as values: the template knows one way to lay them out, wide or on a phone."""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit


class Sentence(NamedTuple):
    """What stands above all tables, each with its label."""

    label: str
    text: str


@dataclass(frozen=True)
class Column:
    """numeric columns are set flush right, so that digits stand under digits."""

    label: str
    numeric: bool = False


def texts(*labels: str) -> tuple[Column, ...]:
    return tuple(Column(label) for label in labels)


def numbers(*labels: str) -> tuple[Column, ...]:
    return tuple(Column(label, numeric=True) for label in labels)


@dataclass(frozen=True)
class Cell:
    """text: what is read first. notes: smaller lines under it. href: where the text links to, if anywhere."""

    text: str
    notes: tuple[str, ...] = ()
    href: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """compact: few and narrow enough columns to stay a table on a phone; the others become a card per row there."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    compact: bool = False


def safe_href(url: str) -> str:
    """The URL if it is plain http(s), else nothing: a `javascript:` link must not come alive in a report."""
    try:
        return url if urlsplit(url).scheme in {"http", "https"} else ""
    except ValueError:
        return ""
