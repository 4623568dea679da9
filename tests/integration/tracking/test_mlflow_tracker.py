"""The MLflow tracker on a real SQLite store, and what it says where there is none."""

import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forecasting.errors import TrackingError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forecasting.pipeline import MadeForecast
from forecasting.tracking.git_revision import UNKNOWN, git_revision
from forecasting.tracking.mlflow_tracker import CHAMPION, MlflowTracker, model_name
from forecasting.tracking.store_access import without_credentials

pytestmark = [
    pytest.mark.mlflow,
    # MLflow's own models use a loader that SQLAlchemy 2.1 deprecates, and its annotations warn of themselves.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:.*type hint"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
]


@pytest.fixture(scope="module")
def recorded(tracker: MlflowTracker, made: MadeForecast) -> Forecast:
    return tracker.record_forecast(made)


def test_a_forecast__is_kept_with_everything_it_came_from(
    tracker: MlflowTracker, recorded: Forecast, made: MadeForecast, capfd: pytest.CaptureFixture[str]
) -> None:
    client = tracker._connected()
    run = client.get_run(recorded.run_id)
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "calls"
    assert run.data.params["history_digest"] == made.forecast.history_digest
    assert run.data.params["trained_from"] == "2026-01-05T00:00:00+00:00"
    assert run.data.params["forecaster_900s"] == made.forecast.forecaster[900]
    assert run.data.tags["git_revision"]
    for score in made.forecast.scores:
        if np.isfinite(score.ratio):
            kept = run.data.metrics[f"ratio_to_naive.{score.forecaster}.{score.horizon_s}s"]
            assert kept == pytest.approx(score.ratio)
    assert run.data.metrics["peak_per_s.p95.86400s"] == pytest.approx(made.forecast.peak_quantile_per_s(86400, 0.95))
    assert capfd.readouterr().out == ""


def test_its_artifacts__are_the_forecast_and_a_picture(
    tracker: MlflowTracker, recorded: Forecast, tmp_path: Path
) -> None:
    folder = Path(tracker._connected().download_artifacts(recorded.run_id, "forecast", str(tmp_path)))
    kept = read_forecast(folder)
    assert kept.run_id == recorded.run_id
    # Which number it has depends on what was recorded before it.
    assert kept.model_version == recorded.model_version
    assert recorded.model_version.startswith("calls.desk/")
    assert np.array_equal(kept.paths_per_s, recorded.paths_per_s)
    assert (folder / "forecast.png").read_bytes().startswith(b"\x89PNG")


def test_the_champion__loads_back_and_says_exactly_the_same(
    tracker: MlflowTracker, recorded: Forecast, made: MadeForecast
) -> None:
    import mlflow

    mlflow.set_tracking_uri(tracker.tracking_uri)
    model = mlflow.pyfunc.load_model(f"models:/calls.desk@{CHAMPION}")
    history = pd.DataFrame(
        {"window_start": made.history.window_starts().astype("datetime64[ns]"), "count": made.history.counts}
    )
    said = model.predict(history, params={"paths": 60, "seed": 3})
    assert said.columns.tolist() == ["horizon_s", "p50", "p90", "p95", "p99"]
    for row in said.itertuples(index=False):
        assert list(row[1:]) == recorded.peak_per_s[row[0]].tolist()


def test_the_model__holds_no_pickle(tracker: MlflowTracker, recorded: Forecast, store: Path) -> None:
    files = [path for path in (store / "artifacts").rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in {".pkl", ".pickle", ".cloudpickle"}]
    assert any(path.name == "deployed.json" for path in files)


def test_a_later_forecast__becomes_champion(tracker: MlflowTracker, recorded: Forecast, made: MadeForecast) -> None:
    later = tracker.record_forecast(made)
    champion = tracker._connected().get_model_version_by_alias("calls.desk", CHAMPION)
    assert later.model_version == f"calls.desk/{champion.version}"
    assert later.run_id != recorded.run_id


def test_decisions_and_reports__are_linked_to_the_run(
    tracker: MlflowTracker, recorded: Forecast, tmp_path: Path
) -> None:
    tracker.link_decision(recorded.run_id, {"schedule": "s-1", "outcome 1": "verified"})
    report = tmp_path / "report.html"
    report.write_text("<p>kept</p>")
    tracker.log_report(recorded.run_id, report)
    client = tracker._connected()
    assert client.get_run(recorded.run_id).data.tags["schedule"] == "s-1"
    assert [entry.path for entry in client.list_artifacts(recorded.run_id, "reports")] == ["reports/report.html"]


def test_the_url__is_that_of_the_ui(tracker: MlflowTracker, recorded: Forecast) -> None:
    url = tracker.run_url(recorded.run_id)
    assert url.startswith("http://ui.example:5000/#/experiments/")
    assert url.endswith(f"/runs/{recorded.run_id}")


def test_an_unknown_run__is_named(tracker: MlflowTracker) -> None:
    with pytest.raises(TrackingError, match=r"tagging run 0123.*not found"):
        tracker.link_decision("0123", {"a": "b"})


def test_a_failed_recording__leaves_a_failed_run(tracker: MlflowTracker, made: MadeForecast) -> None:
    deployed = replace(made.trained.deployed, fitted={"strange": object()})  # type: ignore[dict-item]
    broken = replace(made, trained=replace(made.trained, deployed=deployed))
    with pytest.raises(Exception, match="no file form"):
        tracker.record_forecast(broken)
    client = tracker._connected()
    experiment = client.get_experiment_by_name("calls")
    assert client.search_runs([experiment.experiment_id], max_results=1)[0].info.status == "FAILED"


def test_a_deleted_experiment__is_restored(tracker: MlflowTracker, recorded: Forecast, made: MadeForecast) -> None:
    client = tracker._connected()
    client.delete_experiment(client.get_experiment_by_name("calls").experiment_id)
    assert tracker.record_forecast(made).run_id


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


def test_a_server_that_does_not_answer__is_named_within_seconds_and_without_its_password(made: MadeForecast) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(TrackingError, match=rf"http://127\.0\.0\.1:{port} does not answer.*start the server") as caught:
        MlflowTracker(f"http://someone:secret@127.0.0.1:{port}").record_forecast(made)
    assert "secret" not in str(caught.value)
    assert time.monotonic() - began < 5


def test_a_store_that_cannot_be_made__is_named(made: MadeForecast, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackingError, match=r"file/mlflow\.db"):
        MlflowTracker(f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}").record_forecast(made)


def test_credentials__are_left_out_of_what_is_shown() -> None:
    assert without_credentials("https://me:pw@mlflow.example:443/a?token=x") == "https://mlflow.example:443/a"
    assert without_credentials("sqlite:////abs/mlflow.db") == "sqlite:////abs/mlflow.db"
    assert without_credentials("postgresql://me:pw@db/mlflow") == "postgresql://db/mlflow"


def test_a_model_name__has_no_slash_and_no_colon() -> None:
    assert model_name("shop", "eu/web:1") == "shop.eu_web_1"


def test_the_revision__is_unknown_outside_of_git(tmp_path: Path) -> None:
    assert git_revision(tmp_path) == UNKNOWN
