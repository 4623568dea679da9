"""A plan and a moment as people type them: OPERATOR=INSTANCES, several with commas between; an ISO time."""

from datetime import datetime

from forecasting.arrivals.grid import typed_moment
from forescale.files.shown import shown
from planner.errors import PlanError

MAX_DIGITS = 9
"""More digits are not a number of instances, and Python refuses to parse thousands of them."""


def parallelism_of(place: str, text: str) -> dict[str, int]:
    """place: where it was typed. Raises PlanError naming that, the part and the right form."""
    asked: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        operator, _, count = part.strip().rpartition("=")
        if not (operator and count.isdecimal() and len(count) <= MAX_DIGITS):
            raise PlanError(f"{place} {shown(part)} is not OPERATOR=INSTANCES; give it like 'count=2,split=3'")
        if operator in asked:
            raise PlanError(f"{place} names {operator!r} twice; name each operator once")
        asked[operator] = int(count)
    return asked


def moment_of(place: str, text: str) -> datetime:
    """A time without an offset is UTC. Raises PlanError for anything else."""
    return typed_moment(text, place, PlanError)
