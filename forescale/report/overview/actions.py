"""What is under way and what a person can do next, at the top of *Scaling*."""

from collections.abc import Sequence
from dataclasses import dataclass

from forescale.report.kit.wording import duration
from modeling.wording import count_of

WORK = {
    "aggregate": "counting events into the arrival history",
    "forecast": "forecasting",
    "plan": "planning",
    "deploy": "deploying",
}
"""What a DAG does while it runs."""
UNSEEN_S = 90
"""How long a first run of a DAG takes on two cores, until one has been seen."""


@dataclass(frozen=True)
class Activity:
    """A run of a DAG that works now, for for_s so far. usual_s: how long one usually takes, None before the first."""

    dag_id: str
    for_s: float
    usual_s: float | None


@dataclass(frozen=True)
class Actions:
    """under_way: oldest first. to_answer: open reviews. answer, decide: addresses of Airflow's list of reviews and of
    the DAG that starts a decision.
    """

    under_way: Sequence[Activity]
    to_answer: int
    answer: str
    decide: str

    @property
    def news(self) -> list[str]:
        """A sentence for each run that works now."""
        return [
            f"Under way: {WORK[each.dag_id]}, for {duration(each.for_s)} so far; it "
            f"usually takes about {duration(each.usual_s or UNSEEN_S)}."
            for each in self.under_way
        ]

    @property
    def links(self) -> dict[str, str]:
        """Addresses by what they are for."""
        reviews = {f"Answer {count_of(self.to_answer, 'review')}": self.answer} if self.to_answer else {}
        return {**reviews, "Decide now": self.decide}
