"""Commands of an installation whose histories lie in an object store, each a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from integration.airflow.day_and_night import NAME, NOW, install
from s3_server import SECRET_KEY, LocalS3

from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.store import read_history
from forescale.local.airflow.environment import forescale_environment
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.s3, pytest.mark.slow]


@pytest.fixture
def settings(s3: LocalS3, directory: S3Directory, tmp_path: Path) -> Settings:
    return install(tmp_path).settings.model_copy(update={"history_uri": str(directory)})


def command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}
    forescale = Path(sys.executable).with_name("forescale")
    done = subprocess.run(
        [forescale, *arguments],
        env=ours | forescale_environment(settings),
        cwd=settings.home,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert SECRET_KEY not in done.stdout + done.stderr
    return done


def answer(settings: Settings, *arguments: str) -> dict:
    done = command(settings, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.spark
@pytest.mark.mlflow
def test_history_that_was_built_into_the_store__is_shown_and_forecast_from(
    settings: Settings, directory: S3Directory
) -> None:
    built = answer(settings, "history", "build", NAME)
    assert built["snapshot"] == read_history(directory, NAME).snapshot
    series = read_history(directory, NAME, end=NOW).source("receive")
    # 6 a minute for ten hours, 30 for two, 2 for twelve: 3600 + 3600 + 1440 a day, but for what came too late to know.
    assert series.between(series.start, series.end).counts[: 24 * 60].sum() == 8640
    assert answer(settings, "history", "snapshots", NAME)["snapshots"][0]["id"] == built["snapshot"]
    assert answer(settings, "history", "show", NAME, "--days", "1")["snapshot"] == built["snapshot"]
    made = command(settings, "forecast", NAME)
    assert made.returncode == 0, made.stderr
    [entry] = ledger_of(settings).forecasts(NAME)
    assert entry.history_snapshot == built["snapshot"]
    assert not (settings.home / "history").exists()


@pytest.mark.parametrize("arguments", [("history", "show", NAME), ("history", "snapshots", NAME), ("forecast", NAME)])
def test_bucket_that_is_not_there__is_one_line_with_place_and_remedy(
    settings: Settings, s3: LocalS3, arguments: tuple[str, ...]
) -> None:
    done = command(settings.model_copy(update={"history_uri": "s3://no-such-bucket/history"}), *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(
        f"forescale: history in s3://no-such-bucket/history: the object store at {s3.url} refuses (NoSuchBucket"
    )
    assert line.endswith("create the bucket, or correct history_uri")


def test_doctor__names_the_store_that_does_not_answer(settings: Settings, s3: LocalS3) -> None:
    done = command(settings.model_copy(update={"history_uri": "s3://no-such-bucket/history"}), "doctor", NAME)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "NoSuchBucket" in done.stdout + done.stderr
