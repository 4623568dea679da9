"""Bad input at the command line where Spark, MLflow or a cluster has a part: one line, exit 1, nothing left behind."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from integration.airflow.day_and_night import NAME, NOW, Installation, install

from forescale.local.airflow.environment import forescale_environment
from forescale.wiring.parts import cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.step_state import StepState

pytestmark = [pytest.mark.spark, pytest.mark.mlflow, pytest.mark.slow]


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    made = install(tmp_path)
    for name, value in forescale_environment(made.settings).items():
        monkeypatch.setenv(name, value)
    return made


ONE_AFTER_ANOTHER = """
import json, os, sys
from forescale.cli import main
for line in sys.stdin:
    arguments, settings = json.loads(line)
    for name in [each for each in os.environ if each.startswith("FORESCALE_")]:
        del os.environ[name]
    os.environ.update(settings)
    try:
        main(arguments)
    except SystemExit as end:
        print("ended", end.code, flush=True)
"""


class Prompt:
    """A process that runs one command after another, with the settings of the moment: Java, which Spark needs, starts
    once for all of them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", ONE_AFTER_ANOTHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> "Prompt":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._process:
            try:
                if kind is None:
                    self._process.communicate(timeout=60)
                    assert self._process.returncode == 0
            finally:
                self._process.kill()

    def fails(self, *arguments: str) -> str:
        """The line of the error."""
        code, said = self.ends(*arguments)
        assert code == "1", said
        return " ".join(line for line in said if line.startswith("forescale: "))

    def ends(self, *arguments: str) -> tuple[str, list[str]]:
        """The exit code and what was said. One that does not end is killed at the time-out of the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        settings = {name: value for name, value in os.environ.items() if name.startswith("FORESCALE_")}
        self._process.stdin.write(json.dumps([arguments, settings]) + "\n")
        said = []
        for line in self._process.stdout:
            said.append(line.rstrip())
            if line.startswith("ended "):
                break
        assert not any("Traceback" in line for line in said), said
        return said[-1].removeprefix("ended "), said


@pytest.fixture(scope="module")
def prompt() -> Iterator[Prompt]:
    with Prompt() as opened:
        yield opened


def rewrite_events(installation: Installation, rows: pa.Table) -> None:
    pa.parquet.write_table(rows, installation.settings.home / "events.parquet")


def test_events__that_cannot_be_used_are_refused_before_anything_is_written(
    installation: Installation, prompt: Prompt
) -> None:
    good = pa.parquet.read_table(installation.settings.home / "events.parquet")
    times = good["at"].to_pylist()
    rewrite_events(installation, good.drop_columns(["at"]))
    error = prompt.fails("history", "build", NAME)
    assert "events.parquet" in error
    assert "'at'" in error
    # One in a hundred is set aside; these are two.
    bad = len(times) // 50
    rewrite_events(installation, good.set_column(0, "at", pa.array([None] * bad + times[bad:], good["at"].type)))
    assert "at" in prompt.fails("history", "build", NAME)
    texts = [str(moment) for moment in times]
    rewrite_events(installation, good.set_column(0, "at", pa.array(["half past nine"] * bad + texts[bad:])))
    assert "half past nine" in prompt.fails("history", "build", NAME)
    assert "end 2150-01-01 00:00:00 UTC lies after now" in prompt.fails("history", "build", NAME, "--end", "2150-01-01")
    folder = installation.settings.history_dir / f"topology={NAME}"
    assert {path.name for path in folder.rglob("*") if path.is_file()} <= {"_lock"}


def test_times_that_no_calendar_has__are_set_aside_or_refused(installation: Installation, prompt: Prompt) -> None:
    good = pa.parquet.read_table(installation.settings.home / "events.parquet")
    good = good.filter(pa.compute.less(good["at"], pa.scalar(NOW)))
    seconds = good["at"].cast(pa.int64()).to_numpy() // 1_000_000
    year_1, year_10000, most = -62_135_596_800, 253_402_300_800, 2**63 - 1
    for unit, factor, time in (
        ("s", 1, year_1),
        ("ms", 1000, year_10000 * 1000),
        ("us", 1_000_000, most),
        ("ms", 1000, most),
        ("ms", 1000, -most),
    ):
        times = seconds * factor
        times[0] = time
        kind = pa.timestamp(unit, tz="UTC")
        rewrite_events(installation, good.set_column(0, "at", pa.array(times).cast(kind)))
        code, said = prompt.ends("history", "build", NAME, "--json")
        if code == "0":
            # Set aside and told; no window is of that time.
            built = json.loads("\n".join(said[said.index("{") : said.index("}") + 1]))
            assert sum(built["quarantined"].values()) == 1
            assert built["start"] >= "2026-03-01"
        else:
            assert any("forescale: " in line for line in said), said


def test_a_source_of_a_million_characters__is_refused(installation: Installation, prompt: Prompt) -> None:
    topology = installation.settings.topologies / f"{NAME}.yaml"
    topology.write_text(topology.read_text().replace("path: events.parquet", "path: events.jsonl\n  format: jsonl"))
    rows = [{"at": f"2026-03-02T0{hour}:00:00Z", "feed": "receive"} for hour in range(8)]
    long = {"at": "2026-03-02T07:30:00Z", "feed": "r" * 1_000_000}
    events = installation.settings.home / "events.jsonl"
    events.write_text("".join(json.dumps(row) + "\n" for row in [*rows, long]))
    error = prompt.fails("history", "build", NAME)
    assert "1 of 9 events" in error
    assert "of more than 1000 characters" in error
    assert len(error) < 1000
    events.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert prompt.ends("history", "build", NAME)[0] == "0"


def test_tracking_server__that_does_not_answer_leaves_no_forecast(
    installation: Installation, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(installation.settings.home / "truth", installation.settings.history_dir)
    # Port 9 (discard) has no listener on loopback.
    monkeypatch.setenv("FORESCALE_MLFLOW_URI", "http://me:s3cret@127.0.0.1:9")
    error = prompt.fails("forecast", NAME)
    assert "127.0.0.1:9" in error
    assert "s3cret" not in error
    assert ledger_of(installation.settings).forecasts(NAME) == []
    assert not installation.settings.forecasts_dir.exists()


def test_step__that_assumed_another_plan_than_runs_changes_nothing(installation: Installation, prompt: Prompt) -> None:
    settings = installation.settings
    config = topology_config(NAME, settings)
    ledger, cluster = ledger_of(settings), cluster_of(config, settings, installation.clock)
    running = cluster.state().plan
    step_id = ledger.record_hand_made_step(
        "stale",
        PhysicalPlan(NAME, {"receive": 1, "work": 5}),
        replaces=PhysicalPlan(NAME, {"receive": 1, "work": 4}),
        deploy_at=NOW,
        expires_at=NOW.replace(hour=1),
        at=NOW,
        by="test",
        why="a test",
    )
    error = prompt.fails("deploy", "now", step_id)
    assert running.brief() in error
    assert "work 4" in error
    assert ledger.step(step_id).state is StepState.ROLLED_BACK
    assert cluster.state().plan == running
