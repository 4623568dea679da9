"""The MLflow tracker on a real SQLite store, and what it says where there is none."""

import re
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from integration.tracking.conftest import Record, head
from machine import waits
from odd_server import a_byte_at_a_time, json_of, odd_server

from engines.redaction import without_credentials
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import TrackingError
from forecasting.fleet import ForecastResult, ForecastTask, run_task
from forecasting.forecast_file import forecast_digest, read_forecast
from forecasting.tracking import store_access
from forecasting.tracking.batch import BatchContent, TrackedBatch, slug
from forecasting.tracking.local_run import LocalRun, local_run
from forecasting.tracking.mlflow_tracker import MlflowTracker, model_name
from forecasting.tracking.run_owner import RunOwner
from forecasting.tracking.runs import CHAMPION, CLOSED_BECAUSE, UNKNOWN, git_revision, open_run
from forecasting.tracking.store_access import connected_client
from forescale.settings import Settings
from forescale.tracking.old_runs import OldRecords, old_records, remove_run, remove_version

pytestmark = [
    pytest.mark.mlflow,
    # MLflow's own models use a loader that SQLAlchemy 2.1 deprecates, and its annotations warn of themselves.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:.*type hint"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
]


Recorded = tuple[TrackedBatch, list[ForecastTask], list[ForecastResult]]


@pytest.fixture(scope="module")
def recorded(record: Record) -> Recorded:
    return record(True)


def test_a_batch__is_one_run_with_what_it_was_asked_and_what_came_of_it(
    tracker: MlflowTracker, recorded: Recorded, capfd: pytest.CaptureFixture[str]
) -> None:
    batch, _, outcomes = recorded
    client = connected_client(tracker.tracking_uri)
    run = client.get_run(batch.run_id)
    assert run.info.status == "FINISHED"
    experiment = client.get_experiment(run.info.experiment_id)
    assert experiment.name == "calls"
    assert run.data.params["issued_at"] == "2026-01-26T00:00:00+00:00"
    assert run.data.params["horizons_s"] == "900 21600"
    assert run.data.params["seed"] == "3"
    assert run.data.params["history_snapshot"] == run.data.tags["history_snapshot"] == "0123456789abcdef"
    assert run.data.tags["kind"] == "training"
    assert run.data.tags["git_revision"]
    metrics = run.data.metrics
    assert (metrics["failed"], metrics["trained"], metrics["drift_alarms"]) == (1, 1, 1)
    forecast = outcomes[0].forecast
    assert forecast is not None
    assert run.data.tags["history_digest desk"] == forecast.history_digest
    for score in forecast.scores:
        if np.isfinite(score.ratio):
            assert metrics[f"desk/ratio_to_naive.{score.forecaster}.{score.horizon_s}s"] == pytest.approx(score.ratio)
    assert metrics["desk/peak_per_s.p95.21600s"] == pytest.approx(forecast.peak_quantile_per_s(21600, 0.95))
    # The slash is MLflow's own way to group metrics; the source's is not.
    assert slug("a/b?").startswith("a_b_-")
    assert metrics[f"{slug('a/b?')}/drift.coverage_p95.900s"] == pytest.approx(0.1)
    assert capfd.readouterr().out == ""


def test_its_tables__name_every_source_and_why_one_failed(
    tracker: MlflowTracker, recorded: Recorded, tmp_path: Path
) -> None:
    batch, _, outcomes = recorded
    folder = Path(connected_client(tracker.tracking_uri).download_artifacts(batch.run_id, "forecasts", str(tmp_path)))
    told = pd.read_parquet(folder / "outcomes.parquet").set_index("source")
    assert told.loc["desk", "failure"] == ""
    assert "days of history, 1 are needed" in told.loc["a/b?", "failure"]
    peaks = pd.read_parquet(folder / "peaks.parquet")
    assert peaks.groupby("horizon_s").size().to_dict() == {900: 4, 21600: 4}
    rates = pd.read_parquet(folder / "rates.parquet")
    assert rates.columns.tolist() == ["source", "step_start", "p50", "p90", "p95", "p99"]
    assert len(rates) == 24
    assert set(pd.read_parquet(folder / "scores.parquet")["forecaster"]) >= {"persistence", "deployed"}
    assert pd.read_parquet(folder / "drift.parquet")["reason"].tolist() == ["the p95 held in 3 of 30 windows"]
    request = tracker.fetch_request(batch.run_id)
    assert request["digests"] == {"desk": outcomes[0].digest}
    assert request["model_versions"] == {"desk": batch.model_version}
    kept = read_forecast(folder / "00000")
    assert forecast_digest(kept) == outcomes[0].digest
    assert (folder / "00000" / "forecast.png").read_bytes().startswith(b"\x89PNG")


def test_the_champion__loads_back_and_says_exactly_the_same(tracker: MlflowTracker, recorded: Recorded) -> None:
    import mlflow

    mlflow.set_tracking_uri(tracker.tracking_uri)
    model = mlflow.pyfunc.load_model(f"models:/calls@{CHAMPION}")
    _, orders, outcomes = recorded
    history = ArrivalSeries("calls", "desk", orders[0].start, orders[0].window_s, orders[0].counts)
    frame = pd.DataFrame({"window_start": history.window_starts().astype("datetime64[ns]"), "count": history.counts})
    forecast = outcomes[0].forecast
    assert forecast is not None
    said = model.predict(frame, params={"source": "desk", "paths": 60, "seed": 3})
    assert said.columns.tolist() == ["horizon_s", "p50", "p90", "p95", "p99"]
    for row in said.itertuples(index=False):
        assert list(row[1:]) == forecast.peak_per_s[row[0]].tolist()
    with pytest.raises(Exception, match="source 'phone' is not one of this model's"):
        model.predict(frame, params={"source": "phone"})


def test_what_was_trained__comes_back_from_the_store_when_the_local_files_are_gone(
    tracker: MlflowTracker, recorded: Recorded, tmp_path: Path
) -> None:
    batch, orders, outcomes = recorded
    fetched = tracker.fetch_trained(batch.model_version, tmp_path)
    assert fetched.keys() == {"desk"}
    again = run_task(replace(orders[0], train=False, trained=fetched["desk"], folder=None))
    assert again.digest == outcomes[0].digest


def test_what_was_trained__is_refused_once_somebody_changed_it_in_the_store(
    tracker: MlflowTracker, recorded: Recorded, store: Path, tmp_path: Path
) -> None:
    batch = recorded[0]
    (changed,) = (store / "artifacts").rglob(f"{batch.run_id}/**/trained/**/arrays.npy")
    before = changed.read_bytes()
    changed.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    try:
        with pytest.raises(TrackingError, match=r"is not as this home stored it .* somebody else wrote or changed it"):
            tracker.fetch_trained(batch.model_version, tmp_path)
    finally:
        changed.write_bytes(before)


def test_the_model__holds_no_pickle(tracker: MlflowTracker, recorded: Recorded, store: Path) -> None:
    files = [path for path in (store / "artifacts").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in {".pkl", ".pickle", ".cloudpickle"}]
    assert any(path.name == "deployed.json" for path in files)


def test_a_later_training__becomes_champion_and_a_refresh_does_not(
    tracker: MlflowTracker, recorded: Recorded, record: Record
) -> None:
    later = record(True)[0]
    assert later.run_id != recorded[0].run_id
    assert tracker.champion("calls") == later.model_version
    refresh = record(False)[0]
    assert refresh.model_version == ""
    assert tracker.champion("calls") == later.model_version
    assert connected_client(tracker.tracking_uri).get_run(refresh.run_id).data.tags["kind"] == "refresh"
    # Nothing is the challenger once it is the champion.
    assert "challenger" not in connected_client(tracker.tracking_uri).get_registered_model("calls").aliases


def test_a_batch_that_fails__leaves_a_failed_run_and_the_champion_of_before(
    tracker: MlflowTracker, recorded: Recorded
) -> None:
    before = tracker.champion("calls")
    batch = tracker.begin(head())
    client = connected_client(tracker.tracking_uri)
    assert str(client.get_model_version_by_alias("calls", "challenger").version) == batch.model_version.split("/")[1]
    tracker.abandon(batch, "KeyboardInterrupt: ")
    assert client.get_run(batch.run_id).info.status == "FAILED"
    assert client.get_run(batch.run_id).data.tags["failure"] == "KeyboardInterrupt: "
    assert tracker.champion("calls") == before
    assert "challenger" not in client.get_registered_model("calls").aliases


def test_a_batch__closes_what_a_killed_process_left_and_no_living_ones(tracker: MlflowTracker) -> None:
    client = connected_client(tracker.tracking_uri)
    children = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
    try:
        killed, living = [tracker.begin(head()) for _ in children]
        for batch, child in zip((killed, living), children, strict=True):
            for key, value in RunOwner.of_process(child.pid).tags().items():
                client.set_tag(batch.run_id, key, value)
        children[0].kill()
        children[0].wait()
        refresh = tracker.begin(head(trains=False))
        assert client.get_run(killed.run_id).info.status == "KILLED"
        assert f"process {children[0].pid} " in client.get_run(killed.run_id).data.tags[CLOSED_BECAUSE]
        numbers = {version.version for version in client.search_model_versions("name = 'calls'")}
        assert killed.model_version.split("/")[1] not in {str(number) for number in numbers}
        for batch in (living, refresh):
            assert client.get_run(batch.run_id).info.status == "RUNNING"
            tracker.abandon(batch, "the test is over")
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_a_batch__deletes_the_whole_version_that_a_killed_process_handed_to_nobody(
    tracker: MlflowTracker, recorded: Recorded, tmp_path: Path
) -> None:
    _, orders, outcomes = recorded
    client = connected_client(tracker.tracking_uri)

    forecasts = {"desk": orders[0].trained.parents[1] / "forecasts" / "desk"}

    def batch(*in_use: str, closed: bool) -> TrackedBatch:
        begun = tracker.begin(replace(head(), topology="killed"))
        content = BatchContent(
            outcomes[:1], trained={"desk": orders[0].trained}, forecasts=forecasts, histories={}, drifts={}
        )
        tracker.finish(begun, content, in_use=in_use)
        # Killed before the ledger has its forecasts, a batch leaves its run open, and its successor closes it.
        if closed:
            tracker.close(begun)
        elif client.get_run(begun.run_id).info.status == "RUNNING":
            client.set_terminated(begun.run_id, "KILLED")
        return begun

    def versions() -> list[str]:
        return sorted(str(one.version) for one in client.search_model_versions("name = 'killed'"))

    batch(closed=False)
    second = batch(closed=True)
    assert tracker.champion("killed") == second.model_version
    assert versions() == ["2"]
    third = batch(closed=False)  # killed once the ledger had its forecasts
    batch(third.model_version, closed=True)
    assert versions() == ["2", "3", "4"]


def test_a_run_of_somebody_else__is_never_closed(tracker: MlflowTracker) -> None:
    client = connected_client(tracker.tracking_uri)
    experiment = tracker.experiment_id("notes")
    long_ago_ms = 1
    own = client.create_run(experiment, start_time=long_ago_ms).info.run_id
    ours = client.create_run(experiment, start_time=long_ago_ms, tags={"kind": "replay"}).info.run_id
    new = open_run(client, experiment, "now", topology="notes", kind="replay", tags={})
    assert [client.get_run(each).info.status for each in (own, ours, new)] == ["RUNNING", "KILLED", "RUNNING"]
    assert "within 24 h" in client.get_run(ours).data.tags[CLOSED_BECAUSE]


def test_old_records__leave_aliases_what_is_in_use_and_the_newest(tracker: MlflowTracker, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, mlflow_uri=tracker.tracking_uri)
    batches = [tracker.begin(replace(head(), topology="year")) for _ in range(5)]
    client = connected_client(tracker.tracking_uri)
    client.set_registered_model_alias("year", CHAMPION, "1")
    for batch in batches[:4]:
        client.set_terminated(batch.run_id, "FINISHED")
    later = datetime.now(UTC) + timedelta(days=1)
    of: dict[str, Any] = {"runs_in_use": {batches[2].run_id}, "versions_in_use": {"year/3"}, "keep": 1}
    assert old_records(settings, "year", before=later - timedelta(days=2), **of) == OldRecords([], [])

    # 1 is the champion, 3 in use, 5 the newest and still running.
    old = old_records(settings, "year", before=later, **of)
    assert [name for name, _ in old.versions] == ["year/4", "year/2"]
    assert [run_id for run_id, _ in old.runs] == [batches[3].run_id, batches[1].run_id]
    for name, _ in old.versions:
        remove_version(settings, name)
    assert [run_id for run_id, _ in old_records(settings, "year", before=later, **of).runs] == [
        run_id for run_id, _ in old.runs
    ]
    for run_id, _ in old.runs:
        remove_run(settings, run_id)
    assert old_records(settings, "year", before=later, **of) == OldRecords([], [])
    tracker.abandon(batches[4], "the test is over")


def test_a_topology_without_a_model__has_no_champion(tracker: MlflowTracker) -> None:
    assert tracker.champion("nobody") == ""


def test_a_demotion__is_a_tag_of_the_version(tracker: MlflowTracker, recorded: Recorded) -> None:
    name, _, number = recorded[0].model_version.rpartition("/")
    tracker.demote(recorded[0].model_version, {"desk 900 s": "lost to persistence"})
    assert (
        connected_client(tracker.tracking_uri).get_model_version(name, number).tags["demoted desk 900 s"]
        == "lost to persistence"
    )


def test_decisions_and_reports__are_linked_to_the_run(
    tracker: MlflowTracker, recorded: Recorded, tmp_path: Path
) -> None:
    run_id = recorded[0].run_id
    tracker.link_decision(run_id, {"schedule": "s-1", "outcome 1": "verified"})
    report = tmp_path / "report.html"
    report.write_text("<p>kept</p>")
    tracker.log_report(run_id, report)
    client = connected_client(tracker.tracking_uri)
    assert client.get_run(run_id).data.tags["schedule"] == "s-1"
    assert "reports/report.html" in [entry.path for entry in client.list_artifacts(run_id, "reports")]


LINK = """
import sys
from pathlib import Path
from forecasting.tracking.mlflow_tracker import MlflowTracker
tracker = MlflowTracker(sys.argv[1], sys.argv[2])
tracker.link_decision(sys.argv[3], {"schedule": sys.argv[4], "plans": "a 'quoted' plan"})
tracker.log_report(sys.argv[3], Path(sys.argv[5]))
print("mlflow" in sys.modules)
"""


def test_a_decision__is_linked_without_mlflow_as_mlflow_reads_it(
    tracker: MlflowTracker, recorded: Recorded, tmp_path: Path
) -> None:
    """In a store of this machine; a second link replaces the first, and each page is that of its last writing."""
    run_id, page = recorded[0].run_id, tmp_path / "s-2.html"
    for schedule in ("s-2", "s-3"):
        page.write_text(f"<p>{schedule}</p>")
        arguments = [tracker.tracking_uri, str(tracker.artifact_root), run_id, schedule, str(page)]
        linked = subprocess.run([sys.executable, "-c", LINK, *arguments], capture_output=True, text=True, check=True)
        assert linked.stdout == "False\n"
    client = connected_client(tracker.tracking_uri)
    tags = client.get_run(run_id).data.tags
    assert (tags["schedule"], tags["plans"]) == ("s-3", "a 'quoted' plan")
    assert "reports/s-2.html" in [entry.path for entry in client.list_artifacts(run_id, "reports")]
    kept = Path(client.download_artifacts(run_id, "reports/s-2.html", str(tmp_path)))
    assert kept.read_text() == "<p>s-3</p>"


def test_a_deleted_run__is_not_linked(tracker: MlflowTracker, recorded: Recorded, record: Record) -> None:
    assert recorded  # a refresh needs the model that it trained
    run_id = record(False)[0].run_id
    connected_client(tracker.tracking_uri).delete_run(run_id)
    with pytest.raises(TrackingError, match=f"tagging run {run_id} failed .*active"):
        tracker.link_decision(run_id, {"schedule": "s-1"})


def test_a_store_that_cannot_be_written__names_its_file(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("no database at all, though as long as the header of one would have to be " * 9)
    with pytest.raises(TrackingError, match=r"tagging run 0123 failed \(file is not a database\); its file is damaged"):
        MlflowTracker(f"sqlite:///{tmp_path / 'mlflow.db'}").link_decision("0123", {"schedule": "s-1"})


def test_tables_of_another_shape__are_left_to_mlflow(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT, PRIMARY KEY (key, run_uuid))")
    assert local_run(f"sqlite:///{file}", "0123") is None  # it has no runs
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE runs (run_uuid TEXT, lifecycle_stage TEXT, artifact_uri TEXT)")
        connection.execute(
            "INSERT INTO runs VALUES ('0123', 'active', 's3://bucket/0123'), ('4567', 'active', ?)",
            ((tmp_path / "a b").as_uri(),),
        )
    assert local_run(f"sqlite:///{file}", "0123") == LocalRun(file, "0123", None)
    assert local_run(f"sqlite:///{file}", "4567") == LocalRun(file, "4567", tmp_path / "a b")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("ALTER TABLE tags ADD COLUMN workspace TEXT")
    assert local_run(f"sqlite:///{file}", "0123") is None


def test_the_url__is_that_of_the_ui_and_asks_no_store() -> None:
    tracker = MlflowTracker("http://127.0.0.1:1", ui_url="http://ui.example:5000/")
    assert tracker.run_url("4be1c0ff") == "http://ui.example:5000/#/runs/4be1c0ff"


def test_an_unknown_run__is_named(tracker: MlflowTracker) -> None:
    with pytest.raises(TrackingError, match=r"tagging run 0123.*not found"):
        tracker.link_decision("0123", {"a": "b"})


def test_a_deleted_experiment__is_restored(tracker: MlflowTracker, recorded: Recorded, record: Record) -> None:
    client = connected_client(tracker.tracking_uri)
    client.delete_experiment(client.get_experiment_by_name("calls").experiment_id)
    assert record(False)[0].run_id


FIRST_USE = """
import sys
from forecasting.tracking.mlflow_tracker import MlflowTracker
print(MlflowTracker(sys.argv[1], sys.argv[2]).experiment_id("calls"))
"""


@pytest.mark.slow
def test_two_processes__may_be_first_at_once(tmp_path: Path) -> None:
    uri, root = f"sqlite:///{tmp_path / 'mlflow.db'}", (tmp_path / "artifacts").as_uri()
    command = [sys.executable, "-c", FIRST_USE, uri, root]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    assert answers[0][0] == answers[1][0] != ""


def test_a_server_that_does_not_answer__is_named_within_seconds_and_without_its_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        waits(5),
        pytest.raises(TrackingError, match=rf"http://127\.0\.0\.1:{port} does not answer.*start the server") as caught,
    ):
        MlflowTracker(f"http://someone:secret@127.0.0.1:{port}").begin(head())
    assert "secret" not in str(caught.value)


def test_a_store_that_cannot_be_made__is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackingError, match=r"file/mlflow\.db"):
        MlflowTracker(f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}").begin(head())


def test_credentials__are_left_out_of_what_is_shown() -> None:
    assert without_credentials("https://me:pw@mlflow.example:443/a?token=x") == "https://mlflow.example:443/a"
    assert without_credentials("sqlite:////abs/mlflow.db") == "sqlite:////abs/mlflow.db"
    assert without_credentials("postgresql://me:pw@db/mlflow") == "postgresql://db/mlflow"
    for password in ("p/w", "p#w", "p?w", "p@w"):
        assert without_credentials(f"postgresql://me:{password}@db/mlflow") == "postgresql://db/mlflow"


def test_a_slug__is_another_one_for_every_source_and_never_too_long() -> None:
    names = ["web", "日本", "中国", "a/b", "a_b", ".", "..", "x" * 249, "x" * 248, "phone (eu)"]
    slugs = [slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert slugs[0] == "web"
    assert all(re.fullmatch(r"[\w.\- ]{1,140}", each, re.ASCII) and each.strip(".") for each in slugs)


def test_a_model_name__has_no_slash_and_no_colon() -> None:
    assert model_name("eu/shop:1") == "eu_shop_1"


def test_the_revision__is_unknown_outside_of_git(tmp_path: Path) -> None:
    assert git_revision(tmp_path) == UNKNOWN


def test_store__that_sends_a_byte_at_a_time_is_given_up_in_the_time_of_one_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 1.0)

    def slow_but_healthy(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/health":
            time.sleep(1.2)
            return json_of("{}")(request)
        return a_byte_at_a_time(request, pause_s=0.1)

    told = r"takes connections and did not answer within 1 s"
    with odd_server(a_byte_at_a_time) as url, waits(3), pytest.raises(TrackingError, match=told):
        connected_client(url)
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 3.0)
    with odd_server(slow_but_healthy) as url, pytest.raises(TrackingError, match=r"no answer within [01](\.\d+)? s"):
        connected_client(url)
