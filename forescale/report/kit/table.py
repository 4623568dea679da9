"""Sentences and tables of a page as values: the template knows one way to lay them out, wide or on a phone."""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit


class Sentence(NamedTuple):
    """A labelled sentence above all tables."""

    label: str
    text: str


@dataclass(frozen=True)
class Column:
    """numeric: the column is right-aligned, so that digits line up."""

    label: str
    numeric: bool = False


def texts(*labels: str) -> tuple[Column, ...]:
    return tuple(Column(label) for label in labels)


def numbers(*labels: str) -> tuple[Column, ...]:
    return tuple(Column(label, numeric=True) for label in labels)


@dataclass(frozen=True)
class Cell:
    """text: the main text. notes: smaller lines below it. href: link of the text, if any."""

    text: str
    notes: tuple[str, ...] = ()
    href: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """compact: narrow enough to stay a table on a phone; other tables become a card per row there."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    compact: bool = False


def safe_href(url: str) -> str:
    """The URL if it is plain http(s), else nothing: a `javascript:` link must not come alive in a report."""
    try:
        return url if urlsplit(url).scheme in {"http", "https"} else ""
    except ValueError:
        return ""
