"""The ledger on a real PostgreSQL."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract.ledger_contract import LedgerContract
from integration.ledger.conftest import NewDatabase
from ledger_decisions import NOON, asked_by_hand, forecast_of, schedule_of
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import engines.deadline
import planner.ledger.database
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState


class TestLedgerOnPostgres(LedgerContract):
    @pytest.fixture
    def url(self, new_database: NewDatabase) -> str:
        return new_database()

    def test_open__by_several_at_once_migrates_once(self, url: str) -> None:
        with ThreadPoolExecutor(6) as pool:
            ledgers = list(pool.map(lambda _: Ledger(url), range(6)))
        assert all(ledger.steps() == [] for ledger in ledgers)

    def test_record_schedule__by_several_at_once_leaves_one_schedule_waiting(self, url: str) -> None:
        Ledger(url)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda count: Ledger(url).record_schedule(schedule_of(count, count + 1)), [3, 4, 5, 3, 4, 5]))
        steps = Ledger(url).steps()
        assert len(steps) == 6
        waiting = {step.schedule_id for step in steps if step.state is StepState.PROPOSED}
        assert len(waiting) == 1

    def test_a_lock_that_another_holds__is_waited_for_with_a_message_and_not_for_ever(
        self, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        Ledger(url)
        monkeypatch.setattr(planner.ledger.database, "LOCK_PATIENCE_MS", 1000)
        monkeypatch.setattr(engines.deadline, "NOTICE_S", 0.2)
        with create_engine(url, poolclass=NullPool).begin() as other:
            other.execute(text("LOCK TABLE steps IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(LedgerError, match=r"locked by another process for 1 s; .* pg_stat_activity"):
                Ledger(url).steps()
        assert "still waiting for ledger postgresql" in caplog.text

    def test_planners_and_deployers__at_once_leave_one_way_through_every_step(self, url: str) -> None:
        ledger = Ledger(url)
        hand_made = asked_by_hand(ledger)
        made = ledger.record_schedule(schedule_of(3, 4))

        def plan(count: int) -> bool:
            schedule_id = Ledger(url).record_schedule(schedule_of(count, count + 1))
            Ledger(url).approve_schedule(schedule_id, at=NOON, by="anna", why="agreed")
            return False

        def deploy(_: int) -> bool:
            moves = {"at": NOON, "by": "deployer", "why": "its time has come"}
            try:
                Ledger(url).transition(hand_made, expected=StepState.APPROVED, to=StepState.DUE, **moves)
            except LedgerError:
                return False
            Ledger(url).transition(hand_made, expected=StepState.DUE, to=StepState.DEPLOYING, **moves)
            return True

        with ThreadPoolExecutor(8) as pool:
            work = [pool.submit(do, count) for count in range(5, 9) for do in (plan, deploy)]
            deployed = [each.result() for each in work]
        assert deployed.count(True) == 1
        assert ledger.step(hand_made).attempt == 1
        waiting = {step.schedule_id for step in ledger.steps(states=WAITING)} - {None}
        assert len(waiting) == 1
        assert made not in waiting
        for step in ledger.steps():
            events = ledger.events(step.id)
            assert [event.from_state for event in events] == [None, *(event.to_state for event in events[:-1])]
            assert events[-1].to_state == step.state

    def test_a_dump__is_restored_into_another_database(
        self, url: str, new_database: NewDatabase, programs: Path, tmp_path: Path
    ) -> None:
        ledger = Ledger(url)
        ledger.record_forecast(forecast_of())
        schedule_id = ledger.record_schedule(schedule_of(3, 4), forecasts=["run-1"])
        other = new_database()
        plain, target = (each.replace("postgresql+psycopg", "postgresql") for each in (url, other))
        dump = tmp_path / "ledger.dump"
        subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", plain], check=True)
        subprocess.run([programs / "pg_restore", "--exit-on-error", f"--dbname={target}", dump], check=True)

        restored = Ledger(other)
        assert restored.schedule(schedule_id) == ledger.schedule(schedule_id)
        assert restored.forecasts("calls") == ledger.forecasts("calls")
        assert restored.steps() == ledger.steps()
        # The numbers of its events go on where they were.
        restored.approve_schedule(schedule_id, at=NOON, by="anna", why="agreed")
        assert [event.to_state for event in restored.events(f"{schedule_id}-1")][-1] is StepState.APPROVED

    def test_open__shows_no_password_when_it_is_refused(self, postgres: str) -> None:
        url = postgres.replace("postgresql+psycopg://forescale:", "postgresql+psycopg://forescale:wrong-")
        with pytest.raises(LedgerError) as refused:
            Ledger(f"{url}/postgres")
        password = url.split(":")[2].split("@")[0]
        assert "password authentication failed" in str(refused.value)
        assert password not in str(refused.value)
        assert refused.value.__suppress_context__
