"""The DAGs in a running Airflow: real scheduler, triggerer and API, real jobs, simulated cluster, trace clock."""

import time
from datetime import timedelta

import psutil
import pytest
from airflow_runs import PATIENCE_S, family, review_of, states, until, workers
from day_and_night import NAME, write_truth

from forescale.local.airflow.client import AirflowClient
from forescale.local.airflow.environment import passwords
from forescale.local.errors import AirflowError
from forescale.orchestration.dag_runs import run_id_of
from forescale.orchestration.review_operator import APPROVE, EDIT, VETO
from forescale.wiring.parts import cluster_of, ledger_of, topology_config
from planner.decision_basis import CauseKind, Rung
from planner.step_cause import StepCauseKind

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def client(running):
    return running.service.client


@pytest.fixture
def clock(running):
    return running.installation.clock


@pytest.fixture
def ledger(running):
    return ledger_of(running.installation.settings)


@pytest.fixture
def cluster(running):
    settings = running.installation.settings
    return cluster_of(topology_config(NAME, settings), settings, running.installation.clock)


def step_of(client, run_id):
    path = f"dags/deploy/dagRuns/{run_id}/taskInstances/step/xcomEntries/return_value"
    return client.request("GET", path)["value"]


def ask(client, **form):
    """Start a deployment by hand; returns its run once it waits for the clock."""
    run_id = client.trigger("deploy", {"topology": NAME, **form})
    until(lambda: states(client, "deploy", run_id)["wait"] == "deferred")
    return run_id


def decide(client, run_id, by, choice, text=""):
    """Answer a review as soon as it is asked."""
    by.answer(review_of(client, run_id), choice, text)
    client.wait_for_success("plan", run_id, PATIENCE_S)


def test_services__listen_on_loopback_only(running):
    members = {process.pid for process in family(running)}
    # Of all processes at once: unlike one process asked for its own, it passes over those that end meanwhile.
    listening = [
        connection.laddr
        for connection in psutil.net_connections(kind="inet")
        if connection.pid in members and connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert {address.ip for address in listening} == {"127.0.0.1"}


def test_hand_made_plan__is_deployed_at_once_in_the_name_of_who_asked(client, cluster, ledger):
    run_id = client.trigger("deploy", {"topology": NAME, "parallelism": {"work": 3}})
    client.wait_for_success("deploy", run_id, PATIENCE_S)
    assert cluster.state().plan.parallelism == {"receive": 1, "work": 3}
    step = ledger.step(step_of(client, run_id)["step_id"])
    assert step.state == "verified"
    assert ledger.events(step.id)[0].by == "admin"


def test_roles__let_a_viewer_look_alone_and_an_administrator_alone_override(running, client, ledger):
    keys, limitless = passwords(running.service.home), {"override": True, "why": "a fair"}
    form = {"topology": NAME, "parallelism": {"work": 6}}
    viewer = AirflowClient(client.url, "viewer", keys["viewer"])
    assert {run["dag_run_id"] for run in viewer.runs("deploy")} == {run["dag_run_id"] for run in client.runs("deploy")}
    with pytest.raises(AirflowError, match="403"):
        viewer.trigger("deploy", form)
    for method, path, body in (
        ("PATCH", "dags/deploy", {"is_paused": True}),
        ("POST", "variables", {"key": "k", "value": "v"}),
        ("POST", "connections", {"connection_id": "c", "conn_type": "http"}),
    ):
        with pytest.raises(AirflowError, match="403"):
            viewer.request(method, path, body)
    reviewer = AirflowClient(client.url, "reviewer", keys["reviewer"])
    run_id = reviewer.trigger("deploy", form | limitless)
    assert reviewer.wait_for_end("deploy", run_id, PATIENCE_S) == "failed"
    assert "user 'reviewer' may not override limits" in "\n".join(client.failures("deploy", run_id))
    run_id = client.trigger("deploy", form | limitless)
    client.wait_for_success("deploy", run_id, PATIENCE_S)
    assert (asked := ledger.events(step_of(client, run_id)["step_id"])[0].cause) is not None
    assert (asked.kind, asked.by, asked.detail) == (StepCauseKind.ASKED_FOR, "admin", "a fair")


def test_waiting_step__holds_no_worker_outlives_a_killed_scheduler_and_is_deployed_once_at_its_time(
    running, client, clock, cluster, ledger
):
    when = clock.now() + timedelta(minutes=10)
    run_id = ask(client, parallelism={"work": 5}, when=when.isoformat())
    until(lambda: all("<idle>" in worker for worker in workers(running)))
    clock.advance_to(when - timedelta(seconds=1))
    time.sleep(2)  # several times the triggerer's pause
    assert states(client, "deploy", run_id) == {"step": "success", "wait": "deferred", "deploy": None}
    running.service.processes.kill("scheduler")
    clock.advance_to(when)
    running.service.start("scheduler")
    client.wait_for_success("deploy", run_id, PATIENCE_S)
    step = ledger.step(step_of(client, run_id)["step_id"])
    assert (step.state, step.attempt) == ("verified", 1)
    assert cluster.state().plan.parallelism["work"] == 5


@pytest.mark.parametrize(
    "form",
    [
        {"topology": NAME, "parallelism": {"work": 0}},
        {"topology": NAME, "parallelism": "many"},
        {"topology": "../../etc/passwd", "parallelism": {"work": 2}},
        {"topology": NAME, "parallelism": {"work": 2}, "when": "tomorrow"},
    ],
)
def test_form__is_refused_where_it_does_not_fit(client, form):
    with pytest.raises(AirflowError, match=r"Airflow answers 4\d\d to POST dags/deploy/dagRuns"):
        client.trigger("deploy", form)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({}, "the form names nothing to deploy; give a step_id, or a topology"),
        ({"topology": NAME, "parallelism": {"nobody": 2}}, "plan names the unknown operator 'nobody'"),
    ],
)
def test_run__that_asks_for_what_cannot_be__fails_at_once_and_says_why(client, form, reason):
    run_id = client.trigger("deploy", form)
    assert client.wait_for_end("deploy", run_id, PATIENCE_S) == "failed"
    assert reason in "\n".join(client.failures("deploy", run_id))


def test_decision__goes_from_events_to_a_reviewed_and_deployed_plan(running, client, clock, cluster, ledger):
    done = {dag_id: {run["dag_run_id"] for run in client.runs(dag_id)} for dag_id in ("forecast", "plan")}

    def new_run(dag_id):
        found = until(lambda: [r for r in client.runs(dag_id) if r["dag_run_id"] not in done[dag_id]])
        done[dag_id].add(found[0]["dag_run_id"])
        return found[0]["dag_run_id"]

    # One trigger by hand; assets carry the rest as far as the review.
    client.wait_for_success("aggregate", client.trigger("aggregate", {"topology": NAME}), PATIENCE_S)
    forecast = new_run("forecast")
    client.wait_for_success("forecast", forecast, PATIENCE_S)
    assert states(client, "forecast", forecast)["each.plan_anyway"] == "skipped"
    vetoed = new_run("plan")
    review = review_of(client, vetoed)
    schedule = ledger.schedules(NAME, limit=1)[0]
    assert NAME in review["subject"]
    assert f"(/scaling/topologies/{NAME}/decisions/{schedule.id})" in review["body"]

    keys = passwords(running.service.home)
    viewer = AirflowClient(client.url, "viewer", keys["viewer"])
    with pytest.raises(AirflowError, match="403"):
        viewer.answer(review, APPROVE)

    # A veto calls every step off, and nothing waits to be deployed.
    reviewer = AirflowClient(client.url, "reviewer", keys["reviewer"])
    decide(client, vetoed, reviewer, VETO, "sale is off")
    steps = ledger.steps(schedule_id=schedule.id)
    assert {(step.state, step.reason) for step in steps} == {("vetoed", "sale is off")}
    assert not {run_id_of(step.id) for step in steps} & {run["dag_run_id"] for run in client.runs("deploy")}

    # Another plan runs meanwhile, so the same forecasts give a schedule of their own; its first step is edited.
    other = 7 if cluster.state().plan.parallelism["work"] != 7 else 8
    client.wait_for_success(
        "deploy", client.trigger("deploy", {"topology": NAME, "parallelism": {"work": other}}), PATIENCE_S
    )
    asked = client.trigger("plan", {"topology": NAME})
    review_of(client, asked)
    planned = [step.plan.parallelism["work"] for step in ledger.steps(schedule_id=ledger.schedules(NAME)[0].id)]
    wanted = next(count for count in range(2, 9) if count not in (other, *planned))
    decide(client, asked, client, EDIT, f"1 work={wanted} because a fair")

    # The edited schedule is asked for with what the edit does, and approved.
    made = ledger.schedules(NAME, limit=1)[0]
    again = review_of(client, f"edited-{made.id}")
    assert f"work {wanted}" in again["body"]
    assert "instance-hours instead of" in again["body"]
    decide(client, f"edited-{made.id}", client, APPROVE)
    steps = sorted(ledger.steps(schedule_id=ledger.schedules(NAME, limit=1)[0].id), key=lambda step: step.deploy_at)
    assert steps
    for step in steps:
        clock.advance_to(step.deploy_at)
        client.wait_for_success("deploy", run_id_of(step.id), PATIENCE_S)
        assert ledger.step(step.id).state == "verified"
        assert cluster.state().plan.same_parallelism(step.plan)


def test_a_topology_whose_forecast_fails__is_planned_for_by_a_lower_rung(running, client, ledger):
    folder = running.installation.settings.topologies
    text = (folder / f"{NAME}.yaml").read_text()
    (folder / "bare.yaml").write_text(text.replace(f"topology: {NAME}", "topology: bare"))
    write_truth(running.installation.settings.home / "truth", "bare")
    try:
        done = {run["dag_run_id"] for run in client.runs("plan")}
        run_id = client.trigger("forecast", {"topology": "bare"})
        assert client.wait_for_end("forecast", run_id, PATIENCE_S) == "failed"
        planned = until(lambda: [run["dag_run_id"] for run in client.runs("plan") if run["dag_run_id"] not in done])
        client.wait_for_success("plan", planned[0], PATIENCE_S)
        (made,) = ledger.schedules("bare")
        assert made.schedule.steps == ()
        basis = made.schedule.basis
        assert (basis.rung, [cause.kind for cause in basis.causes]) == (
            Rung.HOLD,
            [CauseKind.NO_FORECAST, CauseKind.NO_PROFILE],
        )
    finally:
        (folder / "bare.yaml").unlink()
