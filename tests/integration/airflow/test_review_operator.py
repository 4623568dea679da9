from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk.exceptions import TaskAwaitingInput

from forescale.codec import handed_over, taken_over
from forescale.orchestration.edited_review import edited
from forescale.orchestration.review_operator import (
    APPROVE,
    EDIT,
    UNDECIDED,
    VETO,
    ReviewAnswer,
    ReviewSchedule,
    ScheduleToReview,
    TypedEdit,
    answer_of,
    body,
    time_to_answer,
    typed_edit,
)
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.errors import PlanError

pytestmark = pytest.mark.airflow

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SCHEDULE = ScheduleToReview("t", "s1", (NOON + timedelta(hours=1), NOON + timedelta(hours=3)), "Two plans.")


def response(choice, text="", user=None):
    return {"chosen_options": [choice], "params_input": {"text": text}, "responded_by_user": user}


def test_decision__bears_the_name_and_the_reason_of_who_answered():
    answer = response(VETO, "sale is off", {"id": "7", "name": "reviewer"})
    assert answer_of(answer) == ReviewAnswer(False, "reviewer", "sale is off")
    assert answer_of(response(APPROVE, user={"id": "7", "name": "reviewer"})).approve is True


def test_decision__is_none_where_nobody_answered_in_time():
    assert answer_of(response(UNDECIDED)) == ReviewAnswer(None, "nobody in time", "")


def test_an_edit__is_no_decision_and_hands_on_what_was_typed():
    answer = answer_of(response(EDIT, "2 work=3 at 2026-03-02 15:30 because a fair", {"name": "anna"}))
    assert answer == ReviewAnswer(None, "anna", "a fair", TypedEdit("2", "work=3", "2026-03-02 15:30"))


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("2 work=3", TypedEdit("2", "work=3", "")),
        (" s1-2  work=3, read=1 ", TypedEdit("s1-2", "work=3, read=1", "")),
        ("2 at 2026-03-02T15:30+01:00", TypedEdit("2", "", "2026-03-02T15:30+01:00")),
        ("2 work=3 at 2026-03-02 15:30 override", TypedEdit("2", "work=3", "2026-03-02 15:30", override=True)),
        ("2 look at override=3", TypedEdit("2", "look at override=3", "")),
        ("2", TypedEdit("2", "", "")),
        ("", TypedEdit("", "", "")),
    ],
)
def test_a_typed_edit__has_a_step_a_plan_a_time_and_an_override(text, edit):
    assert typed_edit(text) == edit


def test_an_edit__overrides_limits_for_an_administrator_alone():
    with pytest.raises(PlanError, match="user 'anna' may not override limits"):
        edited(Workspace(Settings()), "s1", typed_edit("2 work=9 override"), by="anna", why="a fair")


def test_an_edit_without_a_plan_or_a_time__says_what_is_missing():
    with pytest.raises(PlanError, match="Edit names step '2' alone; give it a plan"):
        edited(Workspace(Settings()), "s1", typed_edit("2"), by="anna", why="a fair")


def test_the_form__has_one_field_above_its_buttons():
    asked = ReviewSchedule(task_id="review", schedule=handed_over(SCHEDULE))
    assert list(asked.params) == ["text"]


def test_an_answer__has_texts_of_bounded_length_whatever_the_form_brings():
    asked = ReviewSchedule(task_id="review", schedule=handed_over(SCHEDULE))
    event = response(EDIT, user={"name": "anna"}) | {"responded_at": NOON}
    event["params_input"] = {"text": "1 " + "x" * 999, "more": "y"}
    answer = taken_over(ReviewAnswer, asked.execute_complete({}, event))
    assert answer == ReviewAnswer(None, "anna", "", TypedEdit("1", "x" * 498, ""))


def test_what_was_approved_before__is_asked_of_nobody(monkeypatch):
    monkeypatch.setenv("FORESCALE_REVIEW", "true")
    asked = ReviewSchedule(task_id="review", schedule=handed_over(replace(SCHEDULE, asks=False)))
    answer = taken_over(ReviewAnswer, asked.execute({}))
    assert (answer.approve, answer.why) == (None, "all of it was approved before, or is within planning.auto_approve")


def test_time_to_answer__ends_with_the_last_deploy_time():
    assert time_to_answer(SCHEDULE, NOON) == timedelta(hours=3)


def test_time_to_answer__is_never_nothing_nor_more_than_a_day():
    assert time_to_answer(SCHEDULE, NOON + timedelta(hours=9)) == timedelta(minutes=1)
    assert time_to_answer(SCHEDULE, NOON - timedelta(days=9)) == timedelta(hours=24)


def test_body__shows_the_summary_the_picture_and_a_link_to_the_report():
    at = "/scaling/topologies/t/decisions/s1"
    assert body(SCHEDULE) == (
        f"Two plans. [Open the report]({at})\n\n![Past arrivals, forecast and capacity]({at}/picture.svg)"
    )


def test_body__leads_below_the_path_that_airflow_is_served_at(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://flows.example.org/team/a/")
    assert "[Open the report](/team/a/scaling/topologies/t/decisions/s1)" in body(SCHEDULE)


@pytest.mark.parametrize("review", ["true", "false"])
def test_a_shadow_schedule__is_asked_of_nobody_and_never_approved(monkeypatch, review):
    monkeypatch.setenv("FORESCALE_REVIEW", review)
    asked = ReviewSchedule(task_id="review", schedule=handed_over(replace(SCHEDULE, shadow=True)))
    answer = taken_over(ReviewAnswer, asked.execute({}))
    assert (answer.approve, answer.why) == (None, "shadow mode (planning.mode): nothing is deployed")


@pytest.mark.parametrize("review", ["true", "false"])
def test_a_plan_that_is_held_for_want_of_a_forecast__takes_the_place_of_nothing(monkeypatch, review):
    monkeypatch.setenv("FORESCALE_REVIEW", review)
    held = replace(SCHEDULE, deploy_at=(), plans=False, cause="no history")
    answer = taken_over(ReviewAnswer, ReviewSchedule(task_id="review", schedule=handed_over(held)).execute({}))
    assert (answer.approve, answer.why) == (None, "nothing to plan by (no history); what was approved before stands")


WHO = {"id": "7", "name": "reviewer"}


def asked_again(event):
    asked = ReviewSchedule(task_id="review", schedule=handed_over(SCHEDULE))
    return lambda: asked.ask_unless_answered({"task_instance": SimpleNamespace(id=uuid4())}, event)


@pytest.fixture
def questions(monkeypatch):
    """What is asked of Airflow: each question deletes the answer that is stored."""
    asked = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **question: asked.append(question))
    return asked


@pytest.mark.parametrize("since", [{}, {"question": "answered"}])
def test_later_try__takes_the_answer_to_the_question_before_or_one_given_since(since, questions):
    again = asked_again(response(APPROVE, "at once", WHO) | {"responded_at": NOON} | since)
    assert taken_over(ReviewAnswer, again()) == ReviewAnswer(True, "reviewer", "at once")
    assert questions == []


def test_later_try__waits_for_the_answer_to_a_question_that_stands_and_asks_no_other(questions):
    again = asked_again({"question": "waiting"})
    with pytest.raises(TaskAwaitingInput) as waits:
        again()
    assert waits.value.method_name == "execute_complete"
    assert questions == []


@pytest.mark.parametrize("event", [{"question": "gone"}, None])
def test_later_try__tells_the_person_where_the_question_before_is_gone(event, questions):
    again = asked_again(event)
    with pytest.raises(TaskAwaitingInput):
        again()
    (question,) = questions
    assert question["subject"] == "Asked again: Deploy 2 plans of topology t?"
    assert question["body"].startswith("**Airflow has started this review again")
    assert "Two plans." in question["body"]
