"""One decision by Airflow on a trace clock: aggregate, forecast, plan, then each deployment at its time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forescale.local.airflow.client import AirflowClient
from forescale.local.errors import AirflowError
from forescale.report.kit.step_reasons import reason_words
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock

POLL_S = 0.2
STAGES = ("aggregate", "forecast", "plan")


@dataclass(frozen=True)
class ProgressEvent:
    """One event of the run. stage: the DAG; text: for people."""

    stage: str
    text: str


def decide_and_deploy(
    client: AirflowClient, settings: Settings, topology: str, *, timeout_s: float = 300
) -> Iterator[ProgressEvent]:
    """Start `aggregate`; assets trigger the rest. The trace clock is moved to each deploy time in turn.

    Airflow must use the same settings: a trace clock, and no review. timeout_s: of each run.
    Raises AirflowError, with the end of the log, if a run fails.
    """
    before = {dag_id: {run["dag_run_id"] for run in client.runs(dag_id)} for dag_id in (*STAGES, "deploy")}
    client.trigger("aggregate", {"topology": topology})
    for stage in STAGES:
        run_id = _new_run(client, stage, before[stage], timeout_s)["dag_run_id"]
        yield ProgressEvent(stage, "started")
        client.wait_for_success(stage, run_id, timeout_s)
        yield ProgressEvent(stage, "done")

    ledger, clock = ledger_of(settings), TraceClock(settings.clock_file)
    runs = [run for run in client.runs("deploy") if run["dag_run_id"] not in before["deploy"]]
    steps = {run["dag_run_id"]: ledger.step(run["conf"]["step_id"]) for run in runs}
    if not steps:
        yield ProgressEvent("deploy", "nothing to deploy: the plan that runs is held")
    for run_id, step in sorted(steps.items(), key=lambda item: item[1].deploy_at):
        clock.advance_to(step.deploy_at)
        yield ProgressEvent("deploy", f"it is {step.deploy_at:%A %H:%M} UTC: {step.plan.brief()}")
        client.wait_for_success("deploy", run_id, timeout_s)
        now = ledger.step(step.id)
        yield ProgressEvent("deploy", f"{now.state}: {reason_words(now)}")


def _new_run(client: AirflowClient, dag_id: str, before: set[str], timeout_s: float) -> dict[str, Any]:
    """The first new run."""
    deadline = time.monotonic() + timeout_s
    while True:
        for run in client.runs(dag_id):
            if run["dag_run_id"] not in before:
                return run
        if time.monotonic() > deadline:
            raise AirflowError(f"no run of the DAG {dag_id} came within {timeout_s:g} s; is it paused?")
        time.sleep(POLL_S)
