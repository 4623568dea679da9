"""Floor mode: plans are lower bounds, and a reactive scaler or a person decides what runs above them.

The running plan, or the lower bound of the cluster's own scaler, is raised to the plan, operator by operator. forescale
lowers only what it raised itself, while nobody has changed that since, and never below the count from before. It never
lowers what others have set.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import StepEntry
from planner.limits import raised_within


@dataclass(frozen=True)
class OwnRaise:
    """For one operator: the count that forescale set last, and the count that somebody else had set before."""

    to: int
    before: int


@dataclass(frozen=True)
class Floored:
    """The plan to run, and why it differs from the floor; `why` is empty if it does not."""

    plan: PhysicalPlan
    why: str


def own_raises(verified: Iterable[StepEntry]) -> dict[str, OwnRaise]:
    """Raises by operator, for the operators whose count is forescale's own as far as is known.

    verified: steps of forescale's schedules, oldest first; each has the plan before and after.
    """
    own = dict[str, OwnRaise]()
    for step in verified:
        for name, after in step.plan.parallelism.items():
            before, known = step.replaces.parallelism.get(name, after), own.get(name)
            if known is not None and known.to != before:
                known = None  # somebody else has changed it since
                del own[name]
            if after != before:
                own[name] = OwnRaise(after, min(after, before if known is None else known.before))
    return own


def floored(running: PhysicalPlan, floor: PhysicalPlan, own: Mapping[str, OwnRaise], max_instances: int) -> Floored:
    """The plan to run over a floor. If max_instances are too few, the operator that lacks the largest share comes
    first.
    """
    counts = {
        name: _lowered(count, floor.parallelism[name], own.get(name)) for name, count in running.parallelism.items()
    }
    wanted = {name: max(count, floor.parallelism[name]) for name, count in counts.items()}
    plan = raised_within(counts, wanted, max_instances)
    above = [f"{name} {count}" for name, count in plan.items() if count > floor.parallelism[name]]
    short = [f"{name} {count} of {wanted[name]}" for name, count in plan.items() if count < wanted[name]]
    why = [
        *(
            [f"{', '.join(above)} above the floor {'is' if len(above) == 1 else 'are'} not forescale's to lower"]
            if above
            else []
        ),
        *([f"planning.max_instances of {max_instances} leaves room for {', '.join(short)}"] if short else []),
    ]
    return Floored(PhysicalPlan(running.topology, plan), "; ".join(why))


def _lowered(count: int, floor: int, own: OwnRaise | None) -> int:
    return count if own is None or own.to != count else min(count, max(floor, own.before))
