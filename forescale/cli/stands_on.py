"""The end of an answer: what it stands on."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from forescale.cli.output import plain
from forescale.report.kit.stands_on import placeholder_line, stands_on_lines
from planner.provenance import Ground

_GROUNDS = TypeAdapter(tuple[Ground, ...])


def say_placeholders(grounds: Sequence[Ground], topology: str) -> None:
    """Before the answer: what nobody has measured though it decides the numbers."""
    if line := placeholder_line(grounds, topology):
        plain(line)


def say_grounds(grounds: Sequence[Ground]) -> None:
    """After the answer, in one to three lines."""
    for line in stands_on_lines(grounds, None, datetime.now().date()):
        plain(line)


def grounds_fields(grounds: Sequence[Ground]) -> dict[str, Any]:
    """Every quantity with its provenance."""
    return {"stands_on": _GROUNDS.dump_python(tuple(grounds), mode="json")}
