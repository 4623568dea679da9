"""Every job of a decision, killed part of the way and run again, leaves the same rows as one that was left alone."""

import multiprocessing
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from forked_job import begin
from integration.airflow.day_and_night import NAME, install

from forecasting.arrivals.store import read_history
from forescale.local.airflow.environment import forescale_environment
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.spark, pytest.mark.mlflow, pytest.mark.slow]

JOBS = {
    "aggregate": f"from forescale.jobs.aggregate import aggregate; aggregate(Workspace(s), {NAME!r})",
    "forecast": f"from forescale.jobs.forecast import forecast; forecast(Workspace(s), {NAME!r})",
    "plan and review": (
        f"from forescale.jobs.plan import plan; from forescale.jobs.review import review; "
        f"review(Workspace(s), plan(Workspace(s), {NAME!r}).schedule_id, approve=True, by='test')"
    ),
    "deploy": (
        "from forescale.jobs.deploy import deploy; from forescale.wiring.parts import *; "
        f"first = ledger_of(s).steps(topology={NAME!r})[0]; "
        "clock_of(s).advance_to(first.deploy_at); deploy(Workspace(s), first.id)"
    ),
}
"""In the order of a decision; each starts from what the ones before it left."""

IMPORTED = (
    *(f"forescale.jobs.{job}" for job in ("aggregate", "forecast", "plan", "review", "deploy")),
    *("forescale.wiring.parts", "mlflow", "numba", "pyspark.sql", "scipy.stats"),
)
"""Once, by the process from which all jobs are forked."""

PART_OF_THE_WAY = 0.5
"""Of the work that a job is: amid what it does."""


class EndedBeforeError(Exception):
    """A job ended before it was killed: the one that was left alone took longer, as it compiled what is kept."""

    def __init__(self, job: str, took_s: float) -> None:
        super().__init__(f"{job} ended before it was killed")
        self.job, self.took_s = job, took_s


FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(list(IMPORTED))


def run(settings: Settings, job: str, *, kill_after_cpu_s: float | None = None) -> float:
    """Run a job in a process of its own, whole or until it is killed; the seconds of processor time that it took, which
    say on a busy machine as well how far it came. Raises EndedBeforeError where nothing was killed.
    """
    with tempfile.NamedTemporaryFile("r") as said:
        process = FORKED.Process(target=begin, args=(JOBS[job], forescale_environment(settings), said.name))
        process.start()
        assert process.pid is not None
        watched = psutil.Process(process.pid)
        begun, taken = time.monotonic(), 0.0
        while process.is_alive() and taken < (kill_after_cpu_s or float("inf")):
            assert time.monotonic() < begun + 300, f"{job} did not end"
            taken = max(taken, cpu_s(watched))
            time.sleep(0.05)
        if kill_after_cpu_s is None:
            process.join()
            assert process.exitcode == 0, said.read()[-2000:]
        elif not process.is_alive():
            raise EndedBeforeError(job, taken)
        else:
            os.killpg(process.pid, 9)
            process.join()
    return taken


def cpu_s(process: psutil.Process) -> float:
    """Of the process and its children, Spark's Java among them."""
    taken = 0.0
    with suppress(psutil.NoSuchProcess):
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                taken += times.user + times.system
    return taken


def rows(settings: Settings) -> dict[str, Any]:
    """What the decision has left: identities, plans and states, without run ids and times of day."""
    ledger = ledger_of(settings)
    history = read_history(settings.history_dir, NAME)
    outcomes = [ledger.outcome(step.id) for step in ledger.steps(topology=NAME)]
    return {
        "history": history.digest(),
        "forecasts": [(f.id, f.source, f.issued_at, f.history_digest) for f in ledger.forecasts(NAME)],
        "schedules": [(len(s.schedule.steps), s.schedule.cost_instance_hours) for s in ledger.schedules(NAME)],
        "steps": [(s.deploy_at, s.plan.brief(), s.replaces.brief(), s.state) for s in ledger.steps(topology=NAME)],
        "outcomes": [o and (o.verified_at, o.downtime_s) for o in outcomes],
    }


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, float]]:
    """The rows of a decision that nobody disturbed, and the processor time of each job."""
    settings = install(tmp_path_factory.mktemp("alone")).settings
    took_s = {job: run(settings, job) for job in JOBS}
    return rows(settings), took_s


def killed_and_run_again(settings: Settings, took_s: dict[str, float]) -> dict[str, Any]:
    """The rows that all jobs leave, each killed and run again."""
    for job in JOBS:
        run(settings, job, kill_after_cpu_s=PART_OF_THE_WAY * took_s[job])
        run(settings, job)
    return rows(settings)


def test_killed_jobs__run_again_leave_the_same_rows_once(
    left_alone: tuple[dict[str, Any], dict[str, float]], tmp_path: Path
) -> None:
    expected, took_s = left_alone
    left = None
    for attempt in range(1 + len(JOBS)):
        try:
            left = killed_and_run_again(install(tmp_path / str(attempt)).settings, took_s)
            break
        except EndedBeforeError as early:
            took_s = took_s | {early.job: early.took_s}
    assert left == expected
    assert len(expected["forecasts"]) == 1
    assert len(expected["schedules"]) == 1
    assert expected["steps"]
