"""The review form of a real Airflow, answered with a mouse in a real browser."""

import sqlite3
import time
from contextlib import closing, contextmanager

import psutil
import pytest
from airflow_runs import PATIENCE_S, review_of, titles, until, workers
from day_and_night import add_topology
from playwright.sync_api import expect
from signed_in import signed_in_page

from forescale.orchestration.review_operator import APPROVE, EDIT, UNDECIDED, VETO
from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.airflow, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def asked(running, browser):
    """Asks for the review of a new topology; returns the run of `plan`, and the page with the form of a user."""
    pages = []

    def ask(topology, user):
        client = running.service.client
        add_topology(running.installation, topology)
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
    topology = f"approved-by-{user}"
    run_id, page = asked(topology, user)
    for choice in (APPROVE, VETO, EDIT, UNDECIDED):
        expect(button(page, choice)).to_be_enabled()
    button(page, APPROVE).click()
    running.service.client.wait_for_success("plan", run_id, PATIENCE_S)
    steps = steps_of(running, topology)
    assert steps
    assert {(step.state, step.updated_by) for step in steps} == {("approved", user)}


def test_form__shows_question_cost_risk_steps_picture_and_buttons_at_once_and_is_vetoed_with_one_click(running, asked):
    run_id, page = asked("vetoed", "reviewer")
    page.set_viewport_size({"width": 1400, "height": 900})
    picture = page.get_by_role("img", name="Past arrivals, forecast and capacity")
    expect(picture).to_be_visible()
    page.wait_for_function("image => image.complete && image.naturalHeight > 0", arg=picture.element_handle())
    for text in ("Approve, veto or edit", "Cost:", "Risk:", "Instances by step, in UTC:"):
        expect(page.get_by_text(text).first).to_be_in_viewport(ratio=1)
    expect(picture).to_be_in_viewport(ratio=1)
    for choice in (APPROVE, VETO, EDIT, UNDECIDED):
        expect(button(page, choice)).to_be_in_viewport(ratio=1)
    button(page, VETO).click()
    running.service.client.wait_for_success("plan", run_id, PATIENCE_S)
    assert {step.state for step in steps_of(running, "vetoed")} == {"vetoed"}


def test_form__takes_an_edit_in_its_one_field(running, asked):
    client = running.service.client
    run_id, page = asked("edited", "reviewer")
    page.locator("#element_text").fill("1 work=19 because a fair")
    button(page, EDIT).click()
    client.wait_for_success("plan", run_id, PATIENCE_S)
    assert steps_of(running, "edited")[0].plan.parallelism["work"] == 19
    # Answered as well, so that nothing of it is left for others to see.
    again = f"edited-{ledger_of(running.installation.settings).schedules('edited', limit=1)[0].id}"
    client.answer(review_of(client, again), VETO)
    client.wait_for_success("plan", again, PATIENCE_S)


@contextmanager
def stopped(process, database):
    """Not one instruction of it is run in this context. It is stopped between two transactions: nobody else could write
    to the SQLite file until the end of one that it has begun.
    """
    process.suspend()
    try:
        while being_written(database):
            process.resume()
            time.sleep(0.05)
            process.suspend()
        yield
    finally:
        process.resume()


def being_written(database):
    """Whether a transaction of somebody else holds the file for a second: Airflow's take much less."""
    with closing(sqlite3.connect(database, timeout=1.0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def review_task(client, run_id):
    """The task that asks, as soon as Airflow has it."""
    tasks = client.task_instances("plan", run_id)
    return next((task for task in tasks if task["task_id"] == "each.review" and task["map_index"] >= 0), None)


def at_work_on(review, executor):
    return any(review["id"] in title for title in titles(executor))


def begins(client, run_id, review, executor):
    """Wait until a worker is at work on the review: False if nobody saw it before it had asked."""
    looks = 0
    while not at_work_on(review, executor):
        time.sleep(0.02)
        looks += 1
        if looks % 50 == 0 and review_task(client, run_id)["state"] == "awaiting_input":
            return False
    return True


def test_answer__is_kept_though_airflow_takes_its_task_for_killed(running):
    """The scheduler sees the answer and the end of the worker that asked at once: it takes that end for the answer's,
    and starts another try. Whether it does is a matter of moments, so this goes on until it has done so once.
    """
    client, scheduler = running.service.client, psutil.Process(running.service.processes.running["scheduler"].pid)
    executor = scheduler.children()
    for attempt in range(1, 11):
        topology = f"answered-at-once-{attempt}"
        add_topology(running.installation, topology)
        run_id = client.trigger("plan", {"topology": topology})
        review = until(lambda run_id=run_id: review_task(client, run_id))
        if begins(client, run_id, review, executor):
            with stopped(scheduler, running.service.home / "airflow.db"):
                unseen = at_work_on(review, executor)  # so that its end is not seen either
                until(lambda run_id=run_id: client.open_reviews("plan", run_id))
                until(lambda: all("<idle>" in worker for worker in workers(running)))
                client.answer(review_of(client, run_id), APPROVE, "at once")
                time.sleep(1)
        else:
            unseen = False
            client.answer(review_of(client, run_id), APPROVE, "at once")
        client.wait_for_success("plan", run_id, PATIENCE_S)
        assert {(step.state, step.reason) for step in steps_of(running, topology)} == {("approved", "at once")}
        if unseen and review_task(client, run_id)["try_number"] == 2:
            return
    pytest.fail("Airflow lost nothing: the test shows nothing")
