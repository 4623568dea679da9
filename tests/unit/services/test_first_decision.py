"""What `forescale up` says of its first decision."""

from typing import Any

from forescale.local.first_decision import FirstDecision, has_begun, never_decided


class Airflow:
    """Runs by DAG, as states, and open reviews."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.reviews: list[dict[str, Any]] = []

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        return [{"state": self.states[dag_id]}] if dag_id in self.states else []

    def open_reviews(self) -> list[dict[str, Any]]:
        return self.reviews


def test_each_stage__is_told_once_as_it_begins_and_the_review_ends_it() -> None:
    airflow = Airflow()
    first = FirstDecision(airflow)
    airflow.states["aggregate"] = "running"
    assert list(first.news()) == ["1 of 3: counting the raw events into the arrival history, about 45 s …"]
    assert list(first.news()) == []
    airflow.states |= {"aggregate": "success", "forecast": "success", "plan": "running"}
    assert [line[:7] for line in first.news()] == ["2 of 3:", "3 of 3:"]
    assert not first.over
    airflow.reviews = [{"subject": "Deploy 2 plans of topology calls?"}]
    assert list(first.news()) == [
        "Decided: Deploy 2 plans of topology calls? Answer it in Airflow: Browse, Required Actions."
    ]
    assert first.over


def test_a_failed_stage__is_told_and_ends_it() -> None:
    airflow = Airflow()
    airflow.states["aggregate"] = "failed"
    first = FirstDecision(airflow)
    assert list(first.news())[-1] == "The DAG aggregate failed; its log in Airflow says why."
    assert first.over


def test_a_first_decision__is_told_though_airflow_began_it_by_itself() -> None:
    """Within minutes of the full hour it starts the hour's run as it comes up."""
    airflow = Airflow()
    assert never_decided(airflow)
    assert not has_begun(airflow)
    airflow.states["aggregate"] = "queued"
    assert never_decided(airflow)
    assert has_begun(airflow)
    airflow.states |= {"aggregate": "failed"}
    assert not has_begun(airflow)
    airflow.states |= {"aggregate": "success", "forecast": "success", "plan": "running"}
    assert not never_decided(airflow)
