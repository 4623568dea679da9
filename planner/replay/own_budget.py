"""Names of policies in a replay: one that keeps to a share of violations of its own has it in its name.

`planner@0.02` is `planner`, allowed 2 % of the minutes in violation whatever others are allowed. A timeline needs
nothing else to tell what each policy was asked for.
"""

from planner.errors import PlanError

MARK = "@"


def policy_of(name: str) -> str:
    """Which policy it is, whatever its budget.

    >>> policy_of("planner@0.02")
    'planner'
    """
    return name.partition(MARK)[0]


def own_budget(name: str) -> float | None:
    """The share of the minutes that this policy alone may violate in, None where it has what all have.

    Raises PlanError for what is no share.

    >>> own_budget("planner@0.02")
    0.02
    """
    _, mark, told = name.partition(MARK)
    if not mark:
        return None
    try:
        share = float(told)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise PlanError(f"policy {name!r} has the budget {told!r}; give a share of the minutes from 0 to 1, as @0.02")
    return share
