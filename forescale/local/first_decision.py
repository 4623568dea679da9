"""The progress of a first decision in Airflow, in words: from raw events to a schedule that waits for its review."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Runs(Protocol):
    """What is asked of `AirflowClient`."""

    def runs(self, dag_id: str) -> list[dict[str, Any]]: ...

    def open_reviews(self) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class Stage:
    """A DAG on the way to a decision. work: what it does; about_s: how long that takes on two cores."""

    dag_id: str
    work: str
    about_s: int


STAGES = (
    Stage("aggregate", "counting the raw events into the arrival history", 45),
    Stage("forecast", "training forecasters and comparing them on the past", 90),
    Stage("plan", "calibrating, and searching the schedule", 75),
)
ABOUT_MINUTES = 4
UNDER_WAY = frozenset({"queued", "running"})


def never_decided(airflow: Runs) -> bool:
    """Whether no schedule was ever searched here."""
    return not airflow.runs(STAGES[-1].dag_id)


def has_begun(airflow: Runs) -> bool:
    """Whether a first stage is under way: Airflow itself starts a run that its DAG's schedule has just missed."""
    return any(run["state"] in UNDER_WAY for run in airflow.runs(STAGES[0].dag_id))


class FirstDecision:
    """Says once of each stage when it begins, and how it ended."""

    def __init__(self, airflow: Runs) -> None:
        self._airflow = airflow
        self._begun = 0
        self.over = False

    def news(self) -> Iterator[str]:
        """What has happened since the last call."""
        while not self.over and self._begun < len(STAGES):
            stage = STAGES[self._begun]
            if self._begun and (ended := self._failure(STAGES[self._begun - 1])):
                self.over = True
                yield ended
                return
            if not self._airflow.runs(stage.dag_id):
                return
            self._begun += 1
            yield f"{self._begun} of {len(STAGES)}: {stage.work}, about {stage.about_s} s …"
        if self.over:
            return
        if ended := self._failure(STAGES[-1]):
            self.over = True
            yield ended
        elif reviews := self._airflow.open_reviews():
            self.over = True
            yield f"Decided: {reviews[0]['subject']} Answer it in Airflow: Browse, Required Actions."
        elif self._airflow.runs(STAGES[-1].dag_id)[-1]["state"] == "success":
            self.over = True
            yield "Decided: nothing waits for an answer; see Scaling."

    def _failure(self, stage: Stage) -> str:
        runs: list[Mapping[str, Any]] = list(self._airflow.runs(stage.dag_id))
        if runs and runs[-1]["state"] == "failed":
            return f"The DAG {stage.dag_id} failed; its log in Airflow says why."
        return ""
