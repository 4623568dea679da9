"""What forescale asks Airflow for, over real HTTP."""

from json_stand_in import Query, json_stand_in

from forescale.local.airflow.client import AirflowClient


def test_question__is_open_once_its_task_waits_for_the_answer() -> None:
    """Airflow on SQLite may lose an answer that comes before."""
    states = ["running"]

    def questions(query: Query) -> object:
        assert query["response_received"] == ["false"]
        return {"hitl_details": [{"task_instance": {"state": state}} for state in states if state in query["state"]]}

    with json_stand_in() as server:
        server.answers["/auth/token"] = {"access_token": "token"}
        server.answers["/api/v2/dags/plan/dagRuns/one/hitlDetails"] = questions
        client = AirflowClient(server.url, "reviewer", "secret")
        assert client.open_reviews("plan", "one") == []
        states[0] = "awaiting_input"
        assert client.open_reviews("plan", "one") == [{"task_instance": {"state": "awaiting_input"}}]
