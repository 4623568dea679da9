"""Why a person has to approve a step, as values that the ledger keeps. Pages and commands put them in words."""

from dataclasses import dataclass
from enum import StrEnum

from planner.codec import Codec
from planner.errors import LedgerError


class ReviewCauseKind(StrEnum):
    """The first five are bounds of `planning.auto_approve`; UNPRICED: of a price that is not known."""

    COST = "cost"
    PRICE = "price"
    UNPRICED = "unpriced"
    PROBABILITY = "probability"
    MAX_STEP = "max_step"
    CALLS_OFF = "calls off"
    FOLLOWS = "follows"


@dataclass(frozen=True)
class ReviewCause:
    """value, bound: of the cost or price above that of holding, in instance-hours or the currency of the prices; of a
    probability; of instances that start or stop. price: of a COST, None if unknown. step: that is called off or
    followed; approved_by: who had approved it.
    """

    kind: ReviewCauseKind
    value: float = 0.0
    bound: float = 0.0
    price: float | None = None
    step: str = ""
    approved_by: str = ""


REVIEW_CAUSE = Codec(ReviewCause, 1, LedgerError, "a cause for review", "it stays in the ledger for a newer release")
"""Of what the ledger keeps."""
