"""The review form of a real Airflow, answered with a mouse in a real browser."""

import os
import signal
import time

import pytest
from day_and_night import add_topology
from headless_chromium import headless_chromium
from playwright.sync_api import expect
from signed_in import signed_in_page
from test_airflow import PATIENCE_S, review_of, states, until, workers

from forescale.orchestration.review_operator import APPROVE, EDIT, UNDECIDED, VETO
from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.airflow, pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def browser():
    with headless_chromium() as launched:
        yield launched


@pytest.fixture
def asked(running, browser):
    """Asks for the review of a new topology; returns the run of `plan`, and the page with the form of a user."""
    pages = []

    def ask(topology, user):
        client = running.service.client
        add_topology(running.installation.settings, topology)
        run_id = client.trigger("plan", {"topology": topology})
        review_of(client, run_id)
        page = signed_in_page(browser, running.service, user, form_of(run_id))
        pages.append(page)
        return run_id, page

    yield ask
    for page in pages:
        page.context.close()


def form_of(run_id):
    return f"/dags/plan/runs/{run_id}/tasks/each.review/mapped/0/required_actions"


def button(page, choice):
    return page.get_by_role("button", name=choice, exact=True)


def steps_of(running, topology):
    ledger = ledger_of(running.installation.settings)
    return ledger.steps(schedule_id=ledger.schedules(topology, limit=1)[0].id)


@pytest.mark.parametrize("user", ["reviewer", "admin"])
def test_form__is_approved_with_one_click_as_it_loads(running, asked, user):
    run_id, page = asked(f"approved-by-{user}", user)
    for choice in (APPROVE, VETO, EDIT, UNDECIDED):
        expect(button(page, choice)).to_be_enabled()
    button(page, APPROVE).click()
    running.service.client.wait_for_success("plan", run_id, PATIENCE_S)
    steps = steps_of(running, f"approved-by-{user}")
    assert steps
    assert {(step.state, step.updated_by) for step in steps} == {("approved", user)}


def test_form__is_vetoed_with_one_click_as_it_loads(running, asked):
    run_id, page = asked("vetoed", "reviewer")
    button(page, VETO).click()
    running.service.client.wait_for_success("plan", run_id, PATIENCE_S)
    assert {step.state for step in steps_of(running, "vetoed")} == {"vetoed"}


def test_form__takes_an_edit_with_two_fields_filled(running, asked):
    run_id, page = asked("edited", "reviewer")
    page.locator("#element_step").fill("1")
    page.locator("#element_plan").fill("work=19")
    button(page, EDIT).click()
    running.service.client.wait_for_success("plan", run_id, PATIENCE_S)
    assert steps_of(running, "edited")[0].plan.parallelism["work"] == 19


def test_answer__is_kept_though_airflow_takes_its_task_for_killed(running):
    """The scheduler sees the answer and the end of the worker that asked at once: it takes that end for the answer's,
    and starts another try.
    """
    client, scheduler = running.service.client, running.service.processes.running["scheduler"]
    add_topology(running.installation.settings, "answered-at-once")
    run_id = client.trigger("plan", {"topology": "answered-at-once"})
    until(lambda: states(client, "plan", run_id).get("each.review") == "running")
    os.kill(scheduler.pid, signal.SIGSTOP)
    try:
        until(lambda: states(client, "plan", run_id)["each.review"] == "awaiting_input")
        until(lambda: all("<idle>" in worker for worker in workers(running)))
        client.answer(client.open_reviews("plan", run_id)[0], APPROVE, "at once")
        time.sleep(1)
    finally:
        os.kill(scheduler.pid, signal.SIGCONT)
    client.wait_for_success("plan", run_id, PATIENCE_S)
    (review,) = [task for task in client.task_instances("plan", run_id) if task["task_id"] == "each.review"]
    assert review["try_number"] == 2, "Airflow lost nothing: the test shows nothing"
    assert {(step.state, step.reason) for step in steps_of(running, "answered-at-once")} == {("approved", "at once")}
