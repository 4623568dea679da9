"""A plan and a moment as people type them: OPERATOR=INSTANCES, several with commas between; an ISO time."""

from datetime import UTC, datetime, tzinfo

from forecasting.arrivals.grid import typed_moment
from forescale.files.shown import shown
from forescale.plain_numbers import typed_count
from planner.errors import PlanError


def parallelism_of(place: str, text: str) -> dict[str, int]:
    """place: where it was typed. Raises PlanError naming that, the part and the right form."""
    asked: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        operator, _, text_of_count = part.strip().rpartition("=")
        if not operator or (count := typed_count(text_of_count)) is None:
            raise PlanError(f"{place} {shown(part)} is not OPERATOR=INSTANCES; give it like 'count=2,split=3'")
        if operator in asked:
            raise PlanError(f"{place} names {operator!r} twice; name each operator once")
        asked[operator] = count
    return asked


def moment_of(place: str, text: str, zone: tzinfo = UTC) -> datetime:
    """A time without an offset is of the zone. Raises PlanError for anything else."""
    return typed_moment(text, place, PlanError, zone)
