"""Names of policies in a replay, with an optional budget of violations.

`planner@0.02` is `planner` with 2 % of the minutes allowed in violation, whatever others are allowed. The name thus
tells a timeline's reader each policy's budget.
"""

from planner.errors import PlanError

MARK = "@"


def policy_of(name: str) -> str:
    """The policy's name without its budget.

    >>> policy_of("planner@0.02")
    'planner'
    """
    return name.partition(MARK)[0]


def own_budget(name: str) -> float | None:
    """The share of minutes in violation that the name allows; None if it has no budget of its own.

    Raises PlanError for a value that is no share.

    >>> own_budget("planner@0.02")
    0.02
    """
    _, mark, text = name.partition(MARK)
    if not mark:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise PlanError(f"policy {name!r} has the budget {text!r}; give a share of the minutes from 0 to 1, as @0.02")
    return share
