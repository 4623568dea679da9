"""Calibrations as model versions on a real SQLite store: kept, reloaded, and asked for what plans would do."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from forecasting.errors import TrackingError
from forecasting.tracking.store_access import connected_client
from forescale.cli import main
from forescale.settings import Settings
from forescale.tracking.calibration_versions import (
    MadeCalibration,
    calibration_model,
    log_calibration,
    profiles_of_version,
)
from modeling.calibration.drift import Drift
from modeling.evaluate import evaluate
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

pytestmark = [
    pytest.mark.mlflow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:.*type hint"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning:mlflow"),
]

CALLS = Path(__file__).resolve().parents[3] / "examples" / "topologies" / "call-analytics.yaml"
SHOP = Topology(
    "shop",
    (Operator("clicks"), Operator("count words", 60)),
    (Stream("clicks", "count words", Grouping.FIELDS, "left"),),
    Engine.STORM,
)
PROFILES = {
    "clicks": OperatorProfile("clicks", 0.001, {"clicks->count words:left": 2.0}, 0.0001, samples=12),
    "count words": OperatorProfile(
        "count words",
        0.010,
        keys=KeyHistogram({"a": 0.5}),
        efficiency=ScaleEfficiency(0.9, measured_at=2),
        samples=6,
        intervals={"service_s": (0.009, 0.011)},
    ),
}
DRIFT = Drift("count words", "service_s", 0.005, 0.010, 0.001, 1.0, "service_s")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(mlruns=tmp_path_factory.mktemp("mlruns"), mlflow_uri=None)


@pytest.fixture(scope="module")
def version(settings: Settings) -> str:
    made = MadeCalibration(SHOP, PROFILES, datetime(2026, 1, 5, tzinfo=UTC), "samples.csv", [DRIFT])
    return log_calibration(made, settings)


def test_a_calibration__is_a_run_and_the_champion_of_its_model(settings: Settings, version: str) -> None:
    assert version == "calibration-shop/1"
    client = connected_client(settings.tracking_uri)
    found = client.get_model_version_by_alias(calibration_model("shop"), "champion")
    run = client.get_run(found.run_id)
    assert run.info.status == "FINISHED"
    assert client.get_experiment(run.info.experiment_id).name == "shop"
    assert run.data.params["samples"] == "samples.csv"
    assert run.data.metrics["drifts"] == 1
    assert run.data.metrics["clicks/service_s"] == 0.001
    assert run.data.tags["kind"] == "calibration"
    assert run.data.tags["drift count words service_s"] == "0.005 to 0.01, p 0.001"


@pytest.mark.parametrize("name", ["models:/calibration-shop/1", "models:/calibration-shop@champion"])
def test_profiles__come_back_exactly_as_they_were(settings: Settings, version: str, name: str) -> None:
    assert profiles_of_version(name, settings) == PROFILES


def test_the_model__predicts_what_evaluate_says(settings: Settings, version: str) -> None:
    import mlflow

    mlflow.set_tracking_uri(settings.tracking_uri)
    model = mlflow.pyfunc.load_model(f"models:/{version}")
    frame = pd.DataFrame(
        {
            "parallelism.clicks": [1, 1],
            "parallelism.count words": [2, 3],
            "load_per_s.clicks": [50.0, 200.0],
        }
    )
    said = model.predict(frame)
    for row, (count, load) in zip(said.to_dict("records"), [(2, 50.0), (3, 200.0)], strict=True):
        plan = PhysicalPlan("shop", {"clicks": 1, "count words": count})
        estimate = evaluate(SHOP, PROFILES, plan, {"clicks": load})
        assert row["stable"] == estimate.stable
        assert row["bottleneck"] == str(estimate.bottleneck) == "count words"
        assert row["mst_per_s.clicks"] == estimate.mst_per_s["clicks"]
        assert row["throughput_per_s.clicks"] == estimate.throughput_per_s["clicks"]
        assert row["utilisation.count words"] == estimate.operators["count words"].utilisation
    with pytest.raises(Exception, match="count words"):
        model.predict(frame.drop(columns="parallelism.count words"))


def test_the_model__carries_its_code_and_no_pickle(settings: Settings, version: str, tmp_path: Path) -> None:
    client = connected_client(settings.tracking_uri)
    run_id = client.get_model_version(*version.split("/")).run_id
    folder = Path(client.download_artifacts(run_id, "model", str(tmp_path)))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in {".pkl", ".pickle", ".cloudpickle"}]
    # Loaded alone, it is served by its own copy of the code, not by the project's.
    loaded = (
        f"import mlflow.pyfunc; mlflow.pyfunc.load_model({str(folder)!r}); "
        "import engines, forecasting, forescale, modeling; "
        "print(engines.__file__, forecasting.__file__, forescale.__file__, modeling.__file__)"
    )
    packages = ("engines", "forecasting", "forescale", "modeling")
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == [str(folder / "code" / ours / "__init__.py") for ours in packages]


def test_a_later_calibration__becomes_the_champion_and_leaves_the_earlier_one(settings: Settings, version: str) -> None:
    other = {**PROFILES, "clicks": OperatorProfile("clicks", 0.002, samples=3)}
    again = log_calibration(MadeCalibration(SHOP, other, datetime(2026, 1, 6, tzinfo=UTC), "Flink"), settings)
    try:
        assert again == "calibration-shop/2"
        assert profiles_of_version("models:/calibration-shop@champion", settings) == other
        assert profiles_of_version("models:/calibration-shop/1", settings) == PROFILES
    finally:
        client = connected_client(settings.tracking_uri)
        client.delete_model_version("calibration-shop", "2")
        client.set_registered_model_alias("calibration-shop", "champion", "1")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("calibration-shop/1", "is no calibration; give it like models:/calibration-TOPOLOGY/3"),
        ("models:/calibration-shop/77", "fetching models:/calibration-shop/77 failed"),
        ("models:/calibration-none@champion", "fetching models:/calibration-none@champion failed"),
    ],
)
def test_a_version_that_does_not_exist__is_named(settings: Settings, version: str, name: str, said: str) -> None:
    with pytest.raises(TrackingError, match=said):
        profiles_of_version(name, settings)


def test_a_server_that_is_away__is_a_tracking_error() -> None:
    away = Settings(mlflow_uri="http://127.0.0.1:9")
    with pytest.raises(TrackingError, match="does not answer"):
        profiles_of_version("models:/calibration-shop/1", away)


def test_forescale_calibrate__makes_a_version(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(settings.mlruns))
    samples = tmp_path / "samples.csv"
    columns = "operator,index,span_s,busy_s,backpressured_s,records_in,records_out:ingest->transcribe"
    samples.write_text(f"{columns}\ningest,0,60,6,0,600,600\ningest,0,60,6.3,0,600,600\n")
    with pytest.raises(SystemExit) as ended:
        main(["model", "calibrate", str(CALLS), "--samples", str(samples), "--json"])
    assert ended.value.code == 0
    version = json.loads(capsys.readouterr().out)["model_version"]
    assert version == "calibration-call-analytics/1"
    kept = profiles_of_version(f"models:/{version}", settings)
    # 12.3 s over 1200 tuples
    assert kept["ingest"].service_s == pytest.approx(0.01025)
