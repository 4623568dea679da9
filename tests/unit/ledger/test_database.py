"""The database behind the ledger: settings of SQLite, and secrets that are never shown."""

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

import engines.deadline
import planner.ledger.database
from planner.errors import LedgerError
from planner.ledger.database import Database
from planner.ledger.ledger import Ledger


def test_sqlite__waits_for_locks_and_checks_foreign_keys(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'ledger.db'}").connection() as connection:
        settings = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout")
        }
    assert settings == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 60_000}


def test_connection__keeps_nothing_of_a_block_that_fails(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")

    def stop_halfway() -> None:
        with database.connection() as connection:
            connection.execute(text("CREATE TABLE half (done TEXT)"))
            connection.execute(text("INSERT INTO whole VALUES (1)"))

    with pytest.raises(LedgerError, match="no such table: whole"):
        stop_halfway()
    with database.connection() as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar_one() == 0


def test_a_locked_ledger__is_named_as_such_and_the_wait_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    monkeypatch.setattr(planner.ledger.database, "LOCK_PATIENCE_MS", 1000)
    monkeypatch.setattr(engines.deadline, "NOTICE_S", 0.2)
    other = Database(url)
    with (
        Database(url).connection(),
        pytest.raises(LedgerError, match=r"locked by another process for 1 s; see which"),
        other.connection(),
    ):
        pass
    assert "still waiting for ledger sqlite:" in caplog.text


def test_a_new_ledger__waits_for_whoever_makes_it_at_the_same_moment(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    database = Database(f"sqlite:///{file}")
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE made (by_the_other TEXT)")
        end = threading.Timer(0.2, other.execute, ("COMMIT",))
        end.start()
        with database.connection() as connection:
            assert connection.execute(text("SELECT count(*) FROM made")).scalar_one() == 0
        end.join()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://forescale:pa55word@127.0.0.1:1/ledger",
        "postgresql+psycopg://forescale@127.0.0.1:1/ledger?password=pa55word",
        "nonsense://forescale:pa55word@127.0.0.1/ledger",
        "no url at all, but pa55word in it",
    ],
)
def test_errors__never_show_a_password(url: str) -> None:
    with pytest.raises(LedgerError) as failed:
        Ledger(url)
    assert "pa55word" not in str(failed.value)
    assert failed.value.__suppress_context__


def test_repr__hides_the_password(tmp_path: Path) -> None:
    shown = Database("postgresql+psycopg://forescale:pa55word@127.0.0.1/ledger?sslpassword=pa55word").shown
    assert shown == "postgresql+psycopg://forescale:***@127.0.0.1/ledger?sslpassword=hidden"
    file = tmp_path / "ledger.db"
    assert repr(Ledger(f"sqlite:///{file}")) == f"Ledger('sqlite:///{file}')"


def test_a_ledger_in_memory__is_refused() -> None:
    with pytest.raises(LedgerError, match="gone after each transaction; give it a file"):
        Ledger("sqlite://")


def test_a_folder_that_cannot_be_made__is_named() -> None:
    with pytest.raises(
        LedgerError, match=r"folder of ledger /proc/nowhere/ledger.db cannot be made: .*; choose another"
    ):
        Ledger("sqlite:////proc/nowhere/ledger.db")


def test_a_file_that_is_no_database__is_named(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    file.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(LedgerError, match=r"ledger\.db: file is not a database"):
        Ledger(f"sqlite:///{file}")


def test_a_new_ledger__is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    assert Ledger(f"sqlite:///{file}").steps() == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
