from datetime import UTC, datetime, timedelta

import pytest

from forescale.orchestration.review_operator import APPROVE, UNDECIDED, VETO, body, decision_of, time_to_answer

pytestmark = pytest.mark.airflow

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SCHEDULE = {
    "topology": "t",
    "summary": "Two plans.",
    "report": "/reports/s1.html",
    "steps": [
        {"step_id": "s1-1", "deploy_at": "2026-03-02T13:00:00+00:00"},
        {"step_id": "s1-2", "deploy_at": "2026-03-02T15:00:00+00:00"},
    ],
}


def response(choice, why="", user=None):
    return {"chosen_options": [choice], "params_input": {"why": why}, "responded_by_user": user}


def test_decision__bears_the_name_and_the_reason_of_who_answered():
    answer = response(VETO, "sale is off", {"id": "7", "name": "reviewer"})
    assert decision_of(answer) == {"approve": False, "by": "reviewer", "why": "sale is off"}
    assert decision_of(response(APPROVE, user={"id": "7", "name": "reviewer"}))["approve"] is True


def test_decision__is_none_where_nobody_answered_in_time():
    assert decision_of(response(UNDECIDED)) == {"approve": None, "by": "nobody in time", "why": ""}


def test_time_to_answer__ends_with_the_last_deploy_time():
    assert time_to_answer(SCHEDULE, NOON) == timedelta(hours=3)


def test_time_to_answer__is_never_nothing_nor_more_than_a_day():
    assert time_to_answer(SCHEDULE, NOON + timedelta(hours=9)) == timedelta(minutes=1)
    assert time_to_answer(SCHEDULE, NOON - timedelta(days=9)) == timedelta(hours=24)


def test_body__shows_the_summary_and_where_the_report_is():
    assert body(SCHEDULE) == "Two plans.\n\nReport: `/reports/s1.html`"
