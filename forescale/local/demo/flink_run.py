"""The main job against a real Flink on loopback: one decision from end to end, then prediction against measurement,
then the guard on a job that is too small.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import yaml

from forecasting.arrivals.history import ArrivalHistory
from forecasting.arrivals.store import read_history
from forescale.jobs.report import report
from forescale.local.airflow.service import airflow_service
from forescale.local.demo.airflow_run import decide_and_deploy
from forescale.local.demo.bank_calls import FEED
from forescale.local.demo.bank_calls import TOPOLOGY as TRUTH
from forescale.local.demo.demo_data import write_demo_data
from forescale.local.demo.flink_healing import GUARD, SAMPLE_S, Healing, heal_word_count
from forescale.local.demo.flink_measurement import FlinkMeasurement, measure_word_count
from forescale.local.demo.word_count import SOURCE, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from forescale.places import bundled
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, topology_config
from modeling.wording import count_of
from planner.clock import TraceClock
from planner.ledger.entries import ScheduleEntry, StepEntry

NOW = datetime(2003, 10, 23, 20, 30, tzinfo=UTC)
"""Half an hour before the centre closes: there are still calls to measure the job by."""
JOB = "word-count"
FILE = bundled("examples") / "flink" / "word-count.yaml"


@dataclass(frozen=True)
class FlinkDemoResult:
    schedule: ScheduleEntry
    steps: tuple[StepEntry, ...]
    measurement: FlinkMeasurement
    healing: Healing
    report: Path


def run_flink_demo(settings: Settings, say: Callable[[str, str], None]) -> FlinkDemoResult:
    """Run it in settings.home, which must be empty, on a paced clock; say(stage, text) tells of progress."""
    with ExitStack() as stack:
        say("flink", "starting a cluster on loopback (the first time its jars are fetched)")
        flink = stack.enter_context(local_flink(settings.home / "flink"))
        say("flink", f"{count_of(flink.slots, 'slot')} at {flink.url}")
        data = write_demo_data(settings.home, now=NOW)
        _cover_the_source(settings.home)
        _write_topology_file(flink, settings)
        say("data", f"{data.rows:,} raw events of {data.calls:,} calls")
        TraceClock(settings.clock_file).start_at(NOW)
        truth = read_history(data.truth, TRUTH)
        config = topology_config(JOB, settings)
        sentences_a_call = config.declared_profiles()[SOURCE].selectivity[f"{SOURCE}->split"]
        job = WordCount().start(flink, _sentences_per_s(truth, NOW, sentences_a_call))
        airflow = stack.enter_context(airflow_service(settings))
        say("airflow", f"ready at {airflow.url}")
        for progress in decide_and_deploy(airflow.client, settings, JOB):
            say(progress.stage, progress.text)
            _keep_load_up(job, settings, truth, sentences_a_call)
        ledger = ledger_of(settings)
        (made,) = ledger.schedules(JOB, limit=1)
        job.cancel()
        say("measure", "calibrating anew at one parallelism; predicting and measuring others that it never saw")
        measurement = measure_word_count(flink, progress=lambda text: say("measure", text))
        say("guard", "starting a job whose source reports its backlog, to make it too small by hand")
        healing = heal_word_count(flink, settings, lambda text: say("guard", text))
        steps = tuple(ledger.steps(schedule_id=made.id))
        written = report(Workspace(settings), made.id)
    return FlinkDemoResult(made, steps, measurement, healing, written)


def _keep_load_up(job: RunningWordCount, settings: Settings, truth: ArrivalHistory, sentences_a_call: float) -> None:
    """Offer the trace's rate at the time that the trace clock shows."""
    now = TraceClock(settings.clock_file).now()
    job.offer(_sentences_per_s(truth, now, sentences_a_call))


def _sentences_per_s(truth: ArrivalHistory, now: datetime, sentences_a_call: float) -> float:
    """Rate over the five minutes from `now` on; at least 1, since an idle source cannot be measured."""
    calls = truth.source(FEED).between(now, now + timedelta(minutes=6)).rate_per_s()
    return max(1.0, float(calls.mean()) * sentences_a_call)


def _cover_the_source(home: Path) -> None:
    """Write the coverage of the feed under the name of this topology's source."""
    coverage = pa.parquet.read_table(home / "demo" / "coverage.parquet")
    renamed = coverage.set_column(0, "source", pa.array([SOURCE] * coverage.num_rows))
    pa.parquet.write_table(renamed, home / "demo" / "coverage-sentences.parquet")


def _write_topology_file(flink: LocalFlink, settings: Settings) -> None:
    """The example's topology file, with the cluster's address and a guard that acts."""
    body = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    body["cluster"] |= {"url": flink.url, "sample_s": SAMPLE_S}
    body["planning"]["guard"] = dict(GUARD)
    settings.topologies.mkdir(parents=True, exist_ok=True)
    (settings.topologies / f"{JOB}.yaml").write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
