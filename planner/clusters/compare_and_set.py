"""Compare-and-set for engines without versions: compares with what ran just before the request."""

from collections.abc import Mapping
from datetime import datetime

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Refusal


def brief(parallelism: Mapping[str, int]) -> str:
    """As `PhysicalPlan.brief`, also for counts that are no plan yet."""
    return " · ".join(f"{operator} {count}" for operator, count in parallelism.items())


def not_as_assumed(place: str, running: Mapping[str, int], expected: PhysicalPlan) -> str | None:
    """Why a change decided for another plan is not requested; None if that plan runs."""
    if dict(expected.parallelism) == dict(running):
        return None
    return (
        f"{place} runs {brief(running)}, not {expected.brief()} as was assumed; make the decision again from what runs"
    )


def not_ours_to_undo(place: str, running: Mapping[str, int], away: PhysicalPlan, back: PhysicalPlan) -> str | None:
    """Why a change is not undone; None if what it requested still runs."""
    if dict(away.parallelism) == dict(running):
        return None
    return (
        f"{place} runs {brief(running)}, neither {away.brief()} nor {back.brief()}; "
        "decide anew instead of undoing what somebody else changed"
    )


def answered(
    plan: PhysicalPlan,
    replaced: PhysicalPlan,
    running: Mapping[str, int],
    *,
    place: str,
    at: datetime,
    misfit: str | None,
    there: bool,
    undoing: bool,
) -> Accepted | Refusal | None:
    """The answer to a request that needs no call to the engine; None if the engine may be asked.

    running: what ran at the look, taken at `at`. misfit: why the engine cannot run the plan, or None. there: whether it
    runs already. undoing: whether `replaced` is the plan to undo rather than the one that a decision assumed.
    """
    if misfit is not None:
        return Refusal(plan, misfit)
    if there:
        # Requested before, perhaps by a deployment that crashed before it could record that: send no second request.
        return Accepted(plan, replaced, at)
    stale = not_as_assumed(place, running, replaced)
    if undoing:
        stale = not_ours_to_undo(place, running, replaced, plan)
    return None if stale is None else Refusal(plan, stale)
