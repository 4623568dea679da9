"""The main job on the real trace: data, Airflow, one decision with all its deployments, and its outcome."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from forescale.jobs.report import report
from forescale.local.airflow.service import airflow_service
from forescale.local.demo.airflow_run import decide_and_deploy
from forescale.local.demo.bank_calls import TOPOLOGY
from forescale.local.demo.demo_data import DEFAULT_NOW, DemoData, write_demo_data
from forescale.local.demo.span import FULL, DemoSpan, write_demo_home
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.clock import TraceClock
from planner.clusters.cluster_record import ClusterRecord
from planner.errors import PlanError
from planner.ledger.entries import ForecastEntry, ScheduleEntry, StepEntry

WARM_UP = timedelta(hours=2)
"""How long the simulator runs its first plan before the decision, for calibration to measure."""


@dataclass(frozen=True)
class DemoResult:
    """The summary's data. after: the simulator's record from the decision to the end of its horizon."""

    data: DemoData
    forecasts: tuple[ForecastEntry, ...]
    schedule: ScheduleEntry
    steps: tuple[StepEntry, ...]
    after: ClusterRecord
    max_lag_s: float
    report: Path

    @property
    def violation_minutes(self) -> int:
        return int(self.after.lag.violation_minutes(self.max_lag_s))


def run_demo(settings: Settings, say: Callable[[str, str], None], span: DemoSpan = FULL) -> DemoResult:
    """Run it in settings.home, which must be empty and whose clock is the trace's; say(stage, text) tells of progress.

    Airflow starts while the raw events are written. Raises what any part of the job raises.
    """
    settings = write_demo_home(settings, span)
    with ExitStack() as stack, ThreadPoolExecutor(1) as aside:
        starting = aside.submit(stack.enter_context, airflow_service(settings))
        say("data", "unrolling a bank's calls of 2003 to raw events; Airflow starts meanwhile")
        data = write_demo_data(settings.home, now=DEFAULT_NOW, weeks=span.weeks)
        say(
            "data", f"{data.rows:,} raw events of {data.calls:,} calls, {data.start:%d %b %Y} to {data.now:%d %b %H:%M}"
        )
        start_simulator(settings, DEFAULT_NOW)
        airflow = starting.result()
        say("airflow", f"ready at {airflow.url}")
        for progress in decide_and_deploy(airflow.client, settings, TOPOLOGY):
            say(progress.stage, progress.text)
    return _result(settings, data)


def start_simulator(settings: Settings, now: datetime) -> None:
    """Let the simulator run its first plan for a while before the decision."""
    config = topology_config(TOPOLOGY, settings)
    clock = TraceClock(settings.clock_file)
    clock.start_at(now - WARM_UP)
    simulator = cluster_of(config, settings, clock)
    simulator.state()
    clock.advance_to(now)
    simulator.state()


def _result(settings: Settings, data: DemoData) -> DemoResult:
    """Let the rest of the horizon pass, and read the record."""
    config = topology_config(TOPOLOGY, settings)
    ledger, clock = ledger_of(settings), clock_of(settings)
    (made,) = ledger.schedules(TOPOLOGY, limit=1)
    assert isinstance(clock, TraceClock)
    clock.advance_to(made.schedule.end)
    after = cluster_of(config, settings, clock).record(made.schedule.made_at, made.schedule.end)
    assert after is not None
    return DemoResult(
        data=data,
        forecasts=tuple(entry for entry in ledger.forecasts(TOPOLOGY) if entry.id in made.forecasts),
        schedule=made,
        steps=tuple(ledger.steps(schedule_id=made.id)),
        after=after,
        max_lag_s=config.planning.max_lag_s,
        report=report(Workspace(settings), made.id),
    )


def demo_settings(base: Settings, name: str, **changes: object) -> Settings:
    """The same settings with a separate home, so that the demo does not touch other data."""
    return base.model_copy(update={"home": base.home / name, **changes})


@contextmanager
def fresh_home(settings: Settings) -> Iterator[None]:
    """An empty home for the duration of the block. Raises PlanError while another run uses it."""
    home = settings.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)  # settings, logs and passwords of local services lie in it
    with (home.parent / f"{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{home} is in use by another run; wait until it has ended, or stop it") from None
        for path in home.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield
