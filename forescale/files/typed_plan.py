"""A plan and a moment as people type them: OPERATOR=INSTANCES, several with commas between; an ISO time."""

from datetime import UTC, datetime

from forescale.files.shown import shown
from planner.errors import PlanError


def parallelism_of(place: str, text: str) -> dict[str, int]:
    """place: where it was typed. Raises PlanError naming that, the part and how it is written."""
    asked: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        operator, _, count = part.strip().rpartition("=")
        if not (operator and count.isdecimal()):
            raise PlanError(f"{place} {shown(part)} is not OPERATOR=INSTANCES; give it like 'count=2,split=3'")
        if operator in asked:
            raise PlanError(f"{place} names {operator!r} twice; name each operator once")
        asked[operator] = int(count)
    return asked


def moment_of(place: str, text: str) -> datetime:
    """One without an offset is UTC. Raises PlanError for anything else."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise PlanError(f"{place} {shown(text)} is no ISO time; give it like '2026-03-02 08:30'") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
