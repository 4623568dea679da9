"""Rows that no ledger has written: each is named with its table, its key, its column and what stands there."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ledger_decisions import schedule_of

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def step_id(tmp_path: Path) -> str:
    before, after = PhysicalPlan("pair", {"read": 1}), PhysicalPlan("pair", {"read": 2})
    times = {"deploy_at": NOON, "expires_at": NOON + timedelta(hours=1), "at": NOON}
    return ledger_in(tmp_path).record_hand_made_step("r", after, replaces=before, by="anna", why="a test", **times)


def ledger_in(folder: Path) -> Ledger:
    return Ledger(f"sqlite:///{folder / 'ledger.db'}")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("deploy_at", "tomorrow", "deploy_at is 'tomorrow'"),
        ("deploy_at", "0000-01-01 00:00:00", "deploy_at is '0000-01-01 00:00:00'"),
        ("expires_at", "9999-12-31 23:59:59", "expires_at is "),
        ("plan", "{", "plan is '{'"),
        ("plan", "[]", r"plan is \[\]"),
        ("plan", '{"topology": "pair"}', "parallelism"),
        ("replaces", '{"topology": "pair", "parallelism": {"read": 10000000}}', "10000000"),
        ("state", "forgotten", "'forgotten' is not a valid StepState"),
        ("attempt", "twice", "attempt is 'twice'"),
        ("reason", b"\xff", "reason is "),
    ],
)
def test_a_damaged_row__is_named_with_what_stands_there(
    tmp_path: Path, step_id: str, column: str, value: object, said: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened, opened:
        opened.execute("PRAGMA ignore_check_constraints = ON")
        opened.execute(f"UPDATE steps SET {column} = ?", (value,))
    with pytest.raises(LedgerError, match=said) as refused:
        ledger_in(tmp_path).steps(topology="pair")
    assert f"row of steps with id {step_id} is damaged" in str(refused.value)
    assert "restore the ledger from a backup" in str(refused.value)
    # What is of others goes on.
    assert ledger_in(tmp_path).steps(topology="other") == []


@pytest.mark.parametrize("damage", ["deploy_at = 'tomorrow'", "plan = '{}'", "state = 'forgotten'"])
def test_a_ledger_past_damage__reads_all_other_rows_and_names_the_damaged_one(
    tmp_path: Path, step_id: str, damage: str
) -> None:
    before, after = PhysicalPlan("pair", {"read": 1}), PhysicalPlan("pair", {"read": 3})
    times = {"deploy_at": NOON, "expires_at": NOON + timedelta(hours=1), "at": NOON}
    other = ledger_in(tmp_path).record_hand_made_step("s", after, replaces=before, by="anna", why="a test", **times)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened, opened:
        opened.execute("PRAGMA ignore_check_constraints = ON")
        opened.execute(f"UPDATE steps SET {damage} WHERE id = ?", (step_id,))
    ledger = ledger_in(tmp_path)
    readable = ledger.past_damage()
    assert [step.id for step in readable.steps(topology="pair")] == [other]
    assert [step.plan for step in readable.steps(topology="pair")] == [after]
    [named] = readable.damaged
    assert f"row of steps with id {step_id} is damaged" in named
    assert ledger.damaged == ()


def test_a_ledger_past_damage__names_a_row_whose_key_is_damaged(tmp_path: Path, step_id: str) -> None:
    ledger = ledger_in(tmp_path)
    ledger.minutes.record("pair", [(NOON, 200.0), (NOON + timedelta(hours=1), 0.0)], max_lag_s=180.0)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened, opened:
        opened.execute("UPDATE lag_hours SET hour = '2026-03-02 12:00x' WHERE hour LIKE '%12:00%'")
    readable = ledger.past_damage()
    # The minute that ended at 12:00 is of the hour before.
    count = readable.minutes.count("pair", NOON - timedelta(hours=2), NOON + timedelta(hours=2))
    assert (count.known, count.in_violation) == (1, 1)
    assert "hour is '2026-03-02 12:00x'" in readable.damaged[0]


@pytest.mark.parametrize("damage", ["current_plan = '['", "current_plan = '{}'", "made_at = 'x'"])
def test_the_span_of_a_shadow__names_a_damaged_schedule(tmp_path: Path, damage: str) -> None:
    ledger = ledger_in(tmp_path)
    made = ledger.record_schedule(schedule_of(4), shadow=True)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened, opened:
        opened.execute(f"UPDATE schedules SET {damage}")
    with pytest.raises(LedgerError, match=f"row of schedules with id {made} is damaged"):
        ledger.shadow.span("calls")
    readable = ledger.past_damage()
    assert readable.shadow.span("calls") is None
    assert f"row of schedules with id {made} is damaged" in readable.damaged[0]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("$.start", "1970-01-01T00:00:00+00:00", "its body has start 1970-01-01 00:00:00"),
        ("$.end", "2190-01-01T00:00:00+00:00", "its body has end 2190-01-01 00:00:00"),
        ("$.made_at", "1970-01-01T00:00:00+00:00", "its body has made_at 1970-01-01 00:00:00"),
        ("$.current.parallelism.ingest", None, "its plans do not all name operator 'ingest'"),
    ],
)
def test_a_schedule__whose_body_contradicts_its_columns_or_itself_is_named(
    tmp_path: Path, place: str, value: str | None, said: str
) -> None:
    ledger = ledger_in(tmp_path)
    made = ledger.record_schedule(schedule_of(4))
    changed = "json_remove(body, ?)" if value is None else "json_replace(body, ?, ?)"
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened, opened:
        opened.execute(f"UPDATE schedules SET body = {changed}", (place,) if value is None else (place, value))
    with pytest.raises(LedgerError, match=f"row of schedules with id {made} is damaged: {said}"):
        ledger.schedule(made)
