"""Commands of an installation whose histories lie in an object store, each a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_commands import Ending, ForkedCommands
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


@pytest.fixture(scope="module")
def commands() -> Iterator[ForkedCommands]:
    with ForkedCommands(("forecasting.arrivals.storage.s3_client", "forescale.jobs.forecast", "mlflow")) as forked:
        yield forked


def environment(settings: Settings) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}
    return ours | forescale_environment(settings)


def command(commands: ForkedCommands, settings: Settings, *arguments: str) -> Ending:
    done = commands.run(arguments, environment(settings), settings.home, within_s=300)
    assert SECRET_KEY not in done.out + done.err
    return done


def answer(commands: ForkedCommands, settings: Settings, *arguments: str) -> dict[str, Any]:
    done = command(commands, settings, *arguments, "--json")
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told


def built_by_spark(settings: Settings) -> dict[str, Any]:
    """In a process of its own: Spark's driver starts others."""
    forescale = Path(sys.executable).with_name("forescale")
    arguments = [forescale, "history", "build", NAME, "--json"]
    done = subprocess.run(
        arguments, env=environment(settings), cwd=settings.home, capture_output=True, text=True, check=False
    )
    assert SECRET_KEY not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.spark
@pytest.mark.mlflow
def test_history_that_was_built_into_the_store__is_shown_and_forecast_from(
    commands: ForkedCommands, settings: Settings, directory: S3Directory
) -> None:
    built = built_by_spark(settings)
    assert built["snapshot"] == read_history(directory, NAME).snapshot
    series = read_history(directory, NAME, end=NOW).source("receive")
    # 6 a minute for ten hours, 30 for two, 2 for twelve: 3600 + 3600 + 1440 a day, but for what came too late to know.
    assert series.between(series.start, series.end).counts[: 24 * 60].sum() == 8640
    assert answer(commands, settings, "history", "show", "--snapshots", NAME)["snapshots"][0]["id"] == built["snapshot"]
    assert answer(commands, settings, "history", "show", NAME, "--days", "1")["snapshot"] == built["snapshot"]
    made = command(commands, settings, "forecast", NAME)
    assert made.code == 0, made.err
    [entry] = ledger_of(settings).forecasts(NAME)
    assert entry.history_snapshot == built["snapshot"]
    assert not (settings.home / "history").exists()


@pytest.mark.parametrize(
    "arguments", [("history", "show", NAME), ("history", "show", "--snapshots", NAME), ("forecast", NAME)]
)
def test_bucket_that_is_not_there__is_one_line_with_place_and_remedy(
    commands: ForkedCommands, settings: Settings, s3: LocalS3, arguments: tuple[str, ...]
) -> None:
    done = command(commands, settings.model_copy(update={"history_uri": "s3://no-such-bucket/history"}), *arguments)
    assert done.code == 1
    assert done.out == ""
    [line] = done.err.splitlines()
    assert line.startswith(
        f"forescale: history in s3://no-such-bucket/history: the object store at {s3.url} refuses (NoSuchBucket"
    )
    assert line.endswith("create the bucket, or correct history_uri")


def test_doctor__names_the_store_that_does_not_answer(
    commands: ForkedCommands, settings: Settings, s3: LocalS3
) -> None:
    done = command(commands, settings.model_copy(update={"history_uri": "s3://no-such-bucket/history"}), "doctor", NAME)
    assert done.code == 1
    assert "Traceback" not in done.out + done.err
    assert "NoSuchBucket" in done.out + done.err
