"""Migrations: from nothing, again, at once, and never half."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from first_ledger import upgrade_to
from ledger_decisions import forecast_of

from planner.errors import LedgerError
from planner.guard_facts import Reason, ReasonKind
from planner.ledger.database import Database
from planner.ledger.ledger import Ledger
from planner.ledger.migrate import _config, _newest, upgrade_database
from planner.ledger.step_state import StepState
from planner.ledger.tables import Base


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder with 100 %" / "ledger.db"


def _tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_upgrade__from_nothing_makes_exactly_the_tables_that_are_mapped(file: Path) -> None:
    upgrade_database(Database(f"sqlite:///{file}"))
    assert _tables(file) == set(Base.metadata.tables) | {"alembic_version"}
    with Database(f"sqlite:///{file}").connection() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []


def test_upgrade__again_changes_nothing(file: Path) -> None:
    upgrade_database(Database(f"sqlite:///{file}"))
    with closing(sqlite3.connect(file)) as connection:
        before = connection.execute("PRAGMA schema_version").fetchone()
    upgrade_database(Database(f"sqlite:///{file}"))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA schema_version").fetchone() == before


def test_upgrade__ends_at_the_head_of_the_revisions(file: Path) -> None:
    """The name of the newest file says so, without Alembic."""
    upgrade_database(Database(f"sqlite:///{file}"))
    with closing(sqlite3.connect(file)) as connection:
        [(number,)] = connection.execute("SELECT version_num FROM alembic_version")
    assert number == ScriptDirectory.from_config(_config()).get_current_head() == _newest()


def test_a_ledger_of_the_newest_revision__is_opened_without_alembic(file: Path) -> None:
    upgrade_database(Database(f"sqlite:///{file}"))
    script = (
        "import sys; from planner.ledger.ledger import Ledger; Ledger(sys.argv[1]); print('alembic' in sys.modules)"
    )
    command = [sys.executable, "-c", script, f"sqlite:///{file}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_upgrade__by_several_at_once_happens_once(file: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: upgrade_database(Database(f"sqlite:///{file}")), range(6)))
    assert "steps" in _tables(file)


def test_upgrade__that_fails_midway_leaves_nothing(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE steps (of_something_else TEXT)")  # in the way of a later table
    with pytest.raises(LedgerError, match="table steps already exists"):
        upgrade_database(Database(f"sqlite:///{file}"))
    assert _tables(file) == {"steps"}


def test_upgrade__refuses_a_ledger_of_a_newer_version(file: Path) -> None:
    upgrade_database(Database(f"sqlite:///{file}"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(LedgerError, match="is at revision 9999, which this version does not know"):
        upgrade_database(Database(f"sqlite:///{file}"))


def test_a_backup__taken_while_another_writes_is_whole(file: Path, tmp_path: Path) -> None:
    ledger, copy = Ledger(f"sqlite:///{file}"), tmp_path / "copy.db"
    ledger.record_forecast(forecast_of())
    database = Database(f"sqlite:///{file}")
    with database.connection() as writing:
        writing.exec_driver_sql("DELETE FROM forecasts")  # not yet committed
        # What `sqlite3 ledger.db ".backup copy.db"` calls.
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    assert ledger.forecasts("calls") == []
    assert Ledger(f"sqlite:///{copy}").forecasts("calls") == [forecast_of()]


def test_upgrade__of_a_ledger_from_before_snapshots_keeps_its_forecasts(file: Path) -> None:
    upgrade_to(f"sqlite:///{file}", "0001")
    moment = "2003-03-03 12:00:00.000000"
    row = ("f1", "calls", "ingest", moment, moment, "run-1", "3", "forecasts/f1", "ab")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("INSERT INTO forecasts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    [entry] = Ledger(f"sqlite:///{file}").forecasts("calls")
    assert (entry.id, entry.history_digest, entry.history_snapshot) == ("f1", "ab", "")


def test_upgrade__of_a_ledger_from_before_shadow_mode_keeps_steps_and_what_refers_to_them(file: Path) -> None:
    upgrade_to(f"sqlite:///{file}", "0002")
    moment, plan = (
        "2003-03-03 12:00:00.000000",
        '{"schema_version": 2, "topology": "calls", "parallelism": {"work": 2}}',
    )
    step = ("s1-1", "s1", 1, "calls", moment, moment, plan, plan, "approved", "the morning", moment, "anna", 0)
    with closing(sqlite3.connect(file)) as connection:
        schedule = ("s1", "calls", moment, moment, moment, 0.95, "why", plan, "{}", "", "{}")
        connection.execute(f"INSERT INTO schedules VALUES ({', '.join('?' * len(schedule))})", schedule)
        connection.execute(f"INSERT INTO steps VALUES ({', '.join('?' * len(step))})", step)
        event = (1, "s1-1", None, "approved", moment, "anna", "")
        connection.execute("INSERT INTO step_events VALUES (?, ?, ?, ?, ?, ?, ?)", event)
        connection.execute("INSERT INTO outcomes VALUES ('s1-1', NULL, 25.0, '{}', '{}', NULL)")
        connection.commit()
    ledger = Ledger(f"sqlite:///{file}")
    [kept] = ledger.steps()
    assert (kept.id, kept.state, kept.reason) == ("s1-1", StepState.APPROVED, "the morning")
    assert ledger.outcome("s1-1") is not None
    assert len(ledger.events("s1-1")) == 1
    assert ledger.shadow.span("calls") is None
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.execute("UPDATE steps SET state = 'shadow'")
        with pytest.raises(sqlite3.IntegrityError, match="ck_steps_state"):
            connection.execute("UPDATE steps SET state = 'elsewhere'")


def test_upgrade__of_a_ledger_that_compared_rescales_of_whole_days_keeps_what_it_said(file: Path) -> None:
    upgrade_to(f"sqlite:///{file}", "0003")
    day = ("calls", "2003-03-03", "2003-03-04 12:00:00.000000", 90.0, 720, 60, 36.0, 5, 1, 48.0, 24.0, 3, 2, 4, 0.0, "")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"INSERT INTO shadow_days VALUES ({', '.join('?' * len(day))})", day)
        connection.commit()
    [kept] = Ledger(f"sqlite:///{file}").shadow.days("calls")
    assert (kept.rescales, kept.rescales_observed, kept.real_rescales) == (4, 4, 1)


def test_upgrade__of_a_ledger_whose_guard_wrote_sentences_keeps_them_and_counts_its_failures(file: Path) -> None:
    upgrade_to(f"sqlite:///{file}", "0011")
    moment, last = "2003-03-03 12:00:00.000000", "still under-provisioned: work is full"
    why = ("work is full", last)
    action = ("a", "calls", moment, *("under-provisioned", "scale-up", "work"), why[0], None, *["{}"] * 3)
    pairs = {"scale-up": f"2 times in a row without effect, at last: {last}", "scale-down": "by hand"}
    with closing(sqlite3.connect(file)) as connection:
        judged = (*action, "ineffective", moment, why[1], "{}")
        connection.execute(f"INSERT INTO guard_actions VALUES ({', '.join('?' * len(judged))})", judged)
        for kind, reason in pairs.items():
            row = ("calls", "under-provisioned", kind, moment, reason, None, "")
            connection.execute(f"INSERT INTO guard_blacklist VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    ledger = Ledger(f"sqlite:///{file}")
    worded = [Reason(ReasonKind.WORDED, detail=sentence) for sentence in why]
    [kept] = ledger.guard.actions("calls")
    assert [kept.reason, kept.judgement] == worded
    barred = {each.action: (each.failures, each.last) for each in ledger.guard.barred("calls")}
    assert barred == {"scale-up": (2, worded[1]), "scale-down": (0, Reason(ReasonKind.WORDED, detail="by hand"))}


def test_upgrade__of_a_ledger_from_before_the_guard_keeps_its_steps(file: Path) -> None:
    upgrade_to(f"sqlite:///{file}", "0003")
    moment, plan = (
        "2003-03-03 12:00:00.000000",
        '{"schema_version": 2, "topology": "calls", "parallelism": {"work": 2}}',
    )
    step = ("hand-1", None, 0, "calls", moment, moment, plan, plan, "approved", "a fair", moment, "anna", 0)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"INSERT INTO steps VALUES ({', '.join('?' * len(step))})", step)
        connection.commit()
    ledger = Ledger(f"sqlite:///{file}")
    assert [kept.id for kept in ledger.steps()] == ["hand-1"]
    assert (ledger.guard.actions("calls"), ledger.guard.barred("calls")) == ([], [])
    assert "blacklist" not in _tables(file)
