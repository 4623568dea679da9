"""A lost ledger is told from a new one, and no empty one takes its place."""

import re
import sqlite3
from pathlib import Path

import pytest
from ledger_decisions import schedule_of

from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from planner.errors import LedgerError


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """With a ledger."""
    settings = Settings(home=tmp_path)
    ledger_of(settings).record_schedule(schedule_of(3), forecasts=())
    return settings


def deployed(settings: Settings) -> None:
    (settings.home / "deployments").mkdir()


def reported(settings: Settings) -> None:
    folder = settings.reports_dir / "calls"
    folder.mkdir(parents=True)
    (folder / "0123456789ab.html").write_text("<html>")


def removed(file: Path) -> None:
    file.unlink()


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def without_tables(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


@pytest.mark.parametrize("trace", [deployed, reported])
@pytest.mark.parametrize("lose", [removed, emptied, without_tables])
def test_a_lost_ledger__is_refused_and_stays_as_it_is(settings: Settings, trace, lose) -> None:
    trace(settings)
    file = settings.home / "ledger.db"
    lose(file)
    before = file.read_bytes() if file.exists() else None
    with pytest.raises(LedgerError, match=re.escape(f"ledger {file} ") + ".* it was lost; restore its copy"):
        ledger_of(settings)
    assert (file.read_bytes() if file.exists() else None) == before


@pytest.mark.parametrize("lose", [removed, emptied, without_tables])
def test_a_ledger_without_a_deployment_or_report__is_made_anew(settings: Settings, lose) -> None:
    lose(settings.home / "ledger.db")
    (settings.reports_dir / "calls").mkdir(parents=True)
    (settings.reports_dir / "calls" / "replay.html").write_text("<html>")
    assert ledger_of(settings).steps() == []


def test_a_ledger_beside_deployments__is_opened(settings: Settings) -> None:
    deployed(settings)
    assert len(ledger_of(settings).steps()) == 1


def test_a_lost_ledger_at_another_place__is_known_by_its_url(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", ledger_url=f"sqlite:///{tmp_path / 'else.db'}?timeout=5")
    ledger_of(settings)
    deployed(settings)
    (tmp_path / "else.db").unlink()
    with pytest.raises(LedgerError, match=r"else\.db does not exist"):
        ledger_of(settings)
