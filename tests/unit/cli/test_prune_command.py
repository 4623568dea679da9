"""`forescale prune` on a real ledger and real files; MLflow is away, which keeps its records and nothing else."""

import json
import os
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ledger_decisions import NOON, brought_to, forecast_of, schedule_of

from forecasting.errors import TrackingError
from forescale.cli.main import main
from forescale.jobs.prune import Retention, prunable, prune, prune_by_age
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock
from planner.ledger.step_state import StepState

OLD, NOW = NOON, NOON + timedelta(days=100)
WEEK = Retention(timedelta(days=7), 1, datetime.now(UTC))
"""Of the machine's time nothing here is old, but for what a test makes so."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    made = Settings(home=tmp_path / "home", topologies=tmp_path, clock="trace", mlflow_uri=uri)
    TraceClock(made.clock_file).start_at(NOW)
    return made


def _kept(settings: Settings, forecast: str, issued_at: datetime) -> Path:
    """A forecast in the ledger and its folder."""
    folder = settings.forecasts_dir / "calls" / forecast
    folder.mkdir(parents=True)
    (folder / "forecast.json").write_text("{}")
    ledger_of(settings).record_forecast(replace(forecast_of(forecast), issued_at=issued_at, folder=str(folder)))
    return folder


def _planned(settings: Settings, *counts: int, made_at: datetime, forecast: str) -> Path:
    """A schedule in the ledger whose horizon is over, and its report."""
    schedule_id = ledger_of(settings).record_schedule(schedule_of(*counts, made_at=made_at), forecasts=[forecast])
    report = settings.reports_dir / "calls" / f"{schedule_id}.html"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("<p>why</p>")
    return report


def _names(settings: Settings) -> set[str]:
    return {Path(one.name).name for one in prunable(Workspace(settings), WEEK).removable}


def test_prune__removes_what_is_old_and_leaves_what_a_waiting_step_rests_on(settings: Settings) -> None:
    waiting, over, newest = (_kept(settings, name, OLD + timedelta(hours=at)) for at, name in enumerate("abc"))
    approved = _planned(settings, 3, made_at=OLD, forecast="a")
    ledger_of(settings).approve_schedule(approved.stem, at=OLD, by="ops", why="agreed")
    superseded = _planned(settings, 4, made_at=OLD + timedelta(hours=1), forecast="b")
    last = _planned(settings, 5, made_at=OLD + timedelta(hours=2), forecast="c")

    listed = prunable(Workspace(settings), WEEK).removable
    assert {one.name for one in listed} == {str(over), str(superseded)}
    with pytest.raises(TrackingError, match="does not answer"):
        prune_by_age(Workspace(settings), 7, 1)
    assert not over.exists()
    assert not superseded.exists()
    assert all(path.exists() for path in (waiting, newest, approved, last))

    # Once nothing waits any more, what the first schedule rests on may go as well.
    ledger_of(settings).expire_steps(NOW, by="planner")
    assert _names(settings) == {waiting.name, approved.name}


@pytest.mark.parametrize("state", [StepState.DUE, StepState.DEPLOYING])
def test_prune__leaves_what_is_being_deployed(settings: Settings, state: StepState) -> None:
    _kept(settings, "a", OLD)
    _kept(settings, "b", OLD + timedelta(hours=1))
    ledger = ledger_of(settings)
    deployed = _planned(settings, 3, made_at=OLD, forecast="a").stem
    brought_to(ledger, ledger.steps(schedule_id=deployed)[0].id, state)
    _planned(settings, 4, made_at=OLD + timedelta(hours=1), forecast="b")
    assert _names(settings) == set()


def test_prune__leaves_alone_what_came_into_use_after_it_was_listed(settings: Settings) -> None:
    listed_folder = _kept(settings, "a", OLD)
    _kept(settings, "b", OLD + timedelta(hours=1))
    listed = prunable(Workspace(settings), WEEK).removable
    assert [one.name for one in listed] == [str(listed_folder)]
    _planned(settings, 3, made_at=NOON + timedelta(hours=2), forecast="a")
    assert prune(Workspace(settings), WEEK, listed).removed == ()
    assert listed_folder.exists()


def test_prune__takes_away_what_killed_jobs_and_replays_left(settings: Settings) -> None:
    _kept(settings, "a", NOW)
    lost = settings.forecasts_dir / "calls" / "20240101T000000-web-0123"
    replays = [settings.home / "replay" / "done" / f"{name}.parquet" for name in ("old", "older", "fresh")]
    lost.mkdir()
    replays[0].parent.mkdir(parents=True)
    long_ago = (WEEK.wall_now - timedelta(days=8)).timestamp()
    for path in replays:
        path.write_text("rows")
    for path in replays[:2]:
        os.utime(path, (long_ago, long_ago))
    os.utime(lost, (OLD.timestamp(), OLD.timestamp()))
    assert _names(settings) == {lost.name, "old.parquet", "older.parquet"}


def test_the_command__lists_asks_and_tells_what_mlflow_kept(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _kept(settings, "a", OLD)
    _kept(settings, "b", NOW)
    for name in ("home", "topologies", "clock", "mlflow_uri"):
        monkeypatch.setenv(f"FORESCALE_{name.upper()}", str(getattr(settings, name)))

    def run(*options: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["prune", "--keep", "1", *options])
        said = capsys.readouterr()
        return int(str(ended.value.code)), said.out, said.err

    code, out, err = run("--dry-run")
    assert f"forecast {old}, of 2024-03-04" in out
    assert (code, "does not answer" in err, old.exists()) == (1, True, True)
    # Nobody is there to agree: pytest gives no standard input.
    assert run()[0] == 1
    assert old.exists()
    code, out, _ = run("--yes", "--json")
    assert [one["name"] for one in json.loads(out)["removed"]] == [str(old)]
    assert code == 1
    assert not old.exists()
