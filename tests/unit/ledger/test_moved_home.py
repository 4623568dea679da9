"""Paths of forecasts and reports are stored relative to the home, which may be moved."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from first_ledger import fill_first_ledger
from ledger_decisions import forecast_of, schedule_of

from planner.ledger.ledger import Ledger


def opened(home: Path) -> Ledger:
    return Ledger(f"sqlite:///{home / 'ledger.db'}", home)


def test_paths__below_the_home_follow_it_when_it_is_moved(tmp_path: Path) -> None:
    home = tmp_path / "before"
    ledger = opened(home)
    ledger.record_forecast(replace(forecast_of(), folder=str(home / "forecasts" / "calls" / "f1")))
    schedule_id = ledger.record_schedule(schedule_of(3), report=str(home / "reports" / "calls" / "s1.html"))
    home.rename(tmp_path / "after")
    moved = opened(tmp_path / "after")
    assert [entry.folder for entry in moved.forecasts("calls")] == [str(tmp_path / "after/forecasts/calls/f1")]
    page = str(tmp_path / "after/reports/calls/s1.html")
    assert (moved.report(schedule_id), moved.schedule(schedule_id).report) == (page, page)


def test_paths__elsewhere_stay_as_they_are(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "home")
    ledger.record_forecast(replace(forecast_of(), folder="/elsewhere/f1"))
    assert [entry.folder for entry in ledger.forecasts("calls")] == ["/elsewhere/f1"]


def test_upgrade__of_a_first_ledger_makes_its_absolute_paths_relative(tmp_path: Path) -> None:
    """0.1 and 0.2 wrote them below the home of then."""
    home = tmp_path / "moved since"
    home.mkdir()
    url = f"sqlite:///{home / 'ledger.db'}"
    fill_first_ledger(url)
    with closing(sqlite3.connect(home / "ledger.db")) as connection:
        connection.execute("UPDATE forecasts SET folder = '/home/anna/forescale/forecasts/calls/run-1'")
        connection.execute("UPDATE schedules SET report = '/home/anna/forescale/reports/calls/s1.html'")
        connection.commit()
    ledger = Ledger(url, home)
    assert [entry.folder for entry in ledger.forecasts("calls")] == [str(home / "forecasts/calls/run-1")]
    assert ledger.schedule("s1").report == str(home / "reports/calls/s1.html")
