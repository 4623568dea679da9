"""What is under way and what a person can do next, at the top of *Scaling*."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forescale.report.kit.wording import duration
from modeling.wording import count_of

WORK = {
    "aggregate": "counting events into the arrival history",
    "forecast": "forecasting",
    "plan": "planning",
    "deploy": "deploying",
}
"""What a DAG does while it runs."""
REFRESH_S, CALM_REFRESH_S = 15, 60
"""How often a page in Airflow is loaded anew: while something is under way, and else."""


@dataclass(frozen=True)
class Activity:
    """A run of a DAG that works now, for for_s so far. usual_s: how long one usually takes, None before the first."""

    dag_id: str
    for_s: float
    usual_s: float | None


@dataclass(frozen=True)
class Review:
    """An open review and the address of its form. topology: empty if Airflow does not say."""

    topology: str
    form: str


@dataclass(frozen=True)
class Actions:
    """under_way: oldest first. reviews: the open ones, oldest first. answer, decide, ask: addresses of Airflow's list
    of reviews, of the DAG that starts a decision and of the one that asks for its review. failed: address of what
    failed in the newest run of each DAG whose newest run failed.
    """

    under_way: Sequence[Activity]
    reviews: Sequence[Review]
    answer: str
    decide: str
    failed: Mapping[str, str] = field(default_factory=dict)
    ask: str = ""

    @property
    def news(self) -> list[str]:
        """A sentence for each DAG whose last run failed, and for each that works now, by its oldest run."""
        return [
            *(f"The last run of {dag_id} ({WORK[dag_id]}) failed." for dag_id in self.failed),
            *map(_under_way, {each.dag_id: each for each in reversed(self.under_way)}.values()),
        ]

    @property
    def links(self) -> dict[str, str]:
        """Addresses by what they are for."""
        count = len(self.reviews)
        where = self.reviews[0].form if count == 1 else self.answer
        reviews = {f"Answer {count_of(count, 'review')}": where} if count else {}
        why = {f"See why {dag_id} failed": run for dag_id, run in self.failed.items()}
        return {**reviews, **why, "Decide now": self.decide}

    def of(self, topology: str) -> "Actions":
        """Without the reviews of other topologies."""
        return replace(self, reviews=[each for each in self.reviews if each.topology == topology])

    def that_decide(self, asks: Callable[[str], bool]) -> "Actions":
        """Without the reviews whose answer decides nothing any more: of a topology that does not ask, and those before
        the newest of one that does. Airflow keeps them open until their steps would have been due.
        """
        newest = {each.topology: each for each in self.reviews}
        reviews = [each for each in self.reviews if not each.topology or newest[each.topology] is each]
        return replace(self, reviews=[each for each in reviews if not each.topology or asks(each.topology)])


def shown(actions: Actions | None) -> dict[str, object]:
    """The variables of a page for them; None: outside Airflow."""
    if actions is None:
        return {"news": [], "links": {}, "refresh_s": 0}
    refresh_s = REFRESH_S if actions.under_way else CALM_REFRESH_S
    return {"news": actions.news, "links": actions.links, "refresh_s": refresh_s}


def _under_way(activity: Activity) -> str:
    usual = "the first run here takes one to five minutes"
    if activity.usual_s is not None:
        usual = f"it usually takes about {duration(activity.usual_s)}"
    return f"Under way: {WORK[activity.dag_id]}, for {duration(activity.for_s)} so far; {usual}."
