"""The same counting on a real Spark cluster: the same history as on one machine, also when a machine is lost."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from installation import Installation
from spark_cluster import SparkCluster

from forescale.settings import PROJECT

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 4_500_000  # a task takes four million at once: two tasks read, and two bring together what belongs together
FILES = 9
MARCH_2_US = 1_772_409_600_000_000
STEP_US = 86_400_000_000 * 4 // ROWS
SPAN = ("--start", "2026-03-02", "--end", "2026-03-06", "--json")
TOPOLOGY = """
topology: {name}
operators: {{ calls: {{ service_s: 0.01 }}, mail: {{ service_s: 0.01 }}, work: {{ service_s: 1.0 }} }}
streams: [{{ from: calls, to: work }}, {{ from: mail, to: work }}]
arrivals: {{ path: {path}, format: {format}, columns: {{ time: at, source: feed, id: id }}, window_s: 60 }}
cluster: {{ kind: simulator, truth: truth, slots: 8, downtime_s: 20, parallelism: {{ calls: 1, mail: 1, work: 1 }} }}
"""
CALLS_CSV = [f"{n},2026-03-02T00:{n // 2:02d}:{n % 2 * 30:02d}Z,calls" for n in range(120)]
"""Two calls a minute, for an hour."""


@pytest.fixture(scope="module")
def many_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every tenth row from the second file on is a copy of one half a file before it, which is none itself."""
    folder = tmp_path_factory.mktemp("events")
    each = ROWS // FILES
    for number in range(FILES):
        row = np.arange(number * each, (number + 1) * each)
        event = np.where((row % 10 == 1) & (row >= each), row - 1 - each // 2, row)
        table = {
            "at": pa.array(MARCH_2_US + row * STEP_US, pa.timestamp("us", tz="UTC")),
            "feed": pa.DictionaryArray.from_arrays(pa.array((event % 3 == 0).astype(np.int8)), ["mail", "calls"]),
            "id": event,
        }
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    return folder


@pytest.fixture
def installed(tmp_path: Path, many_events: Path) -> Callable[[str], Installation]:
    """An installation with the topology `many` (events in Parquet) and `few` (in CSV)."""

    def made(name: str) -> Installation:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "many.yaml").write_text(TOPOLOGY.format(name="many", path=many_events, format="parquet"))
        (folder / "few.yaml").write_text(TOPOLOGY.format(name="few", path="calls.csv", format="csv"))
        (folder / "calls.csv").write_text("\n".join(["id,at,feed", *CALLS_CSV, CALLS_CSV[0]]) + "\n")
        return Installation(folder)

    return made


@pytest.fixture(scope="module")
def on_one_machine(tmp_path_factory: pytest.TempPathFactory, many_events: Path) -> Installation:
    """The history of `many` as a local master makes it."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "many.yaml").write_text(TOPOLOGY.format(name="many", path=many_events, format="parquet"))
    installation = Installation(folder)
    ended = installation.build("local[2]", "many", *SPAN).ended()
    assert ended.status == 0, ended.err
    # Of rows 500 000 to 4 499 999 every tenth is a copy.
    assert {name: json.loads(ended.out)[name] for name in ("rows_read", "duplicates", "kept")} == {
        "rows_read": ROWS,
        "duplicates": 400_000,
        "kept": ROWS - 400_000,
    }
    return installation


def test_two_workers__make_the_same_history_as_one_machine(
    cluster: SparkCluster, installed: Callable[[str], Installation], on_one_machine: Installation
) -> None:
    installation = installed("cluster")
    ended = installation.build(cluster.master, "many", *SPAN).ended()
    assert ended.status == 0, ended.err
    assert installation.windows() == on_one_machine.windows()
    assert installation.snapshot() == on_one_machine.snapshot()

    tasks = [event for event in installation.spark_events() if event["Event"] == "SparkListenerTaskEnd"]
    assert {task["Task Info"]["Executor ID"] for task in tasks} == {"0", "1"}
    shuffled = [task["Task Metrics"]["Shuffle Read Metrics"]["Remote Bytes Read"] for task in tasks]
    # Copies lie half a file apart, so what one executor read the other needs: ids of more than a million rows.
    assert sum(shuffled) > 1_000_000
    hosts = {
        event["Executor Info"]["Host"]
        for event in installation.spark_events()
        if event["Event"] == "SparkListenerExecutorAdded"
    }
    assert hosts == {"127.0.0.1"}


def test_worker_that_is_lost_between_the_stages__changes_nothing_in_the_history(
    cluster: SparkCluster, installed: Callable[[str], Installation], on_one_machine: Installation
) -> None:
    installation = installed("killed")
    build = installation.build(cluster.master, "many", *SPAN)
    try:
        build.goes_on_until(lambda: counted(installation))
        # With it goes what its tasks have counted, which the second stage has yet to fetch.
        cluster.kill("second")
        ended = build.ended()
    finally:
        cluster.start_worker("second")
        cluster.wait_for_workers(2)
    assert ended.status == 0, ended.err
    assert installation.windows() == on_one_machine.windows()
    assert installation.snapshot() == on_one_machine.snapshot()

    events = installation.spark_events()
    assert any(event["Event"] == "SparkListenerExecutorRemoved" for event in events)
    # What was lost was counted again: two tasks hand on to the shuffle, and at least one of them did so twice.
    ended_tasks = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    done = [task["Task Metrics"] for task in ended_tasks if task["Task End Reason"]["Reason"] == "Success"]
    assert sum(task["Shuffle Write Metrics"]["Shuffle Bytes Written"] > 0 for task in done) > 2


def packed(folder: Path) -> Path:
    """The packages of forescale as Spark hands them on: Python's own wheel, but Spark knows only the ending .zip."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    return wheel.rename(wheel.with_suffix(".zip"))


def python_without_forescale(folder: Path) -> Path:
    """This very Python with all packages that are installed, except for what was installed to be edited in place."""
    packages, python = Path(np.__file__).parents[1], Path(sys.executable).resolve()
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{python}" "$@"\n')
    program.chmod(0o755)
    lacking = subprocess.run([program, "-c", "import forecasting"], cwd=folder, capture_output=True, text=True)
    assert "No module named 'forecasting'" in lacking.stderr
    return program


def counted(installation: Installation) -> bool:
    """Whether the stage is over whose tasks read and count, which is the one that writes what is shuffled."""
    return any(
        event["Event"] == "SparkListenerStageCompleted" and event["Stage Info"]["Number of Tasks"] == 2
        for event in installation.spark_events()
    )


def test_master_that_is_not_there__is_an_error_of_one_line_at_once(installed: Callable[[str], Installation]) -> None:
    with socket.socket() as probe:  # bound but not listening: nobody answers there, and nobody else takes it
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
        installation = installed("nowhere")
        ended = installation.build(f"spark://{place}", "few", "--end", "2026-03-03").ended(within_s=60)
    assert ended.status == 1
    assert ended.err.splitlines() == [
        f"forescale: Spark's master spark://{place} does not answer ({place}: Connection refused); start it, or "
        "correct its URL"
    ]
    assert not (installation.folder / "history").exists()


def test_spark_submit__takes_the_package_to_executors_that_lack_it_and_goes_by_what_it_was_given(
    cluster: SparkCluster, installed: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installed("submitted")
    options = ["--name", "nightly", "--py-files", str(packed(tmp_path))]
    options += ["--conf", f"spark.pyspark.driver.python={sys.executable}"]
    options += ["--conf", f"spark.pyspark.python={python_without_forescale(tmp_path)}"]
    span = ("--start", "2026-03-02", "--end", "2026-03-02T01:00", "--json")
    ended = installation.submit(cluster.master, options, "few", *span).ended()
    assert ended.status == 0, ended.err
    # 120 calls, and a copy of the first; the last comes at 0:59:30, so that minute is known in part.
    summary = json.loads(ended.out)
    assert [summary[name] for name in ("rows_read", "duplicates", "kept", "observed")] == [121, 1, 120, 59]
    started = [event for event in installation.spark_events() if event["Event"] == "SparkListenerApplicationStart"]
    assert [event["App Name"] for event in started] == ["nightly"]
    (environment,) = [
        event for event in installation.spark_events() if event["Event"] == "SparkListenerEnvironmentUpdate"
    ]
    properties = environment["Spark Properties"]
    assert properties["spark.master"] == cluster.master
    assert properties["spark.sql.session.timeZone"] == "UTC"
    assert properties["spark.ui.enabled"] == "false"


def test_workers_that_lack_the_package__are_told_of_in_one_line(
    installed: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installed("lacking")
    options = ["--conf", f"spark.pyspark.driver.python={sys.executable}"]
    options += ["--conf", f"spark.pyspark.python={python_without_forescale(tmp_path)}"]
    ended = installation.submit("local[1]", options, "few", "--start", "2026-03-02").ended()
    assert ended.status == 1
    [said] = ended.said()
    assert said.startswith(
        f"forescale: Spark's workers cannot count the events in {installation.folder / 'calls.csv'}: "
    )
    assert "No module named 'forecasting'" in said
    assert said.endswith("give them forescale with its dependencies (docs/history.md tells how)")
    assert not (installation.folder / "history" / "topology=few" / "_manifest.json").exists()


def test_spark_submit__exits_with_1_and_one_line_for_an_unknown_topology(
    installed: Callable[[str], Installation],
) -> None:
    installation = installed("submitted")
    ended = installation.submit("local[1]", [], "no-such").ended()
    assert ended.status == 1
    assert ended.said() == [f"forescale: no topology 'no-such' in {installation.folder}; known are: few, many"]
    assert "Traceback" not in ended.out + ended.err
