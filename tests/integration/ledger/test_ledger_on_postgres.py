"""The ledger on a real PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from contract.ledger_contract import LedgerContract
from ledger_decisions import schedule_of
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState


class TestLedgerOnPostgres(LedgerContract):
    @pytest.fixture
    def url(self, postgres: str) -> str:
        name = f"ledger_{uuid4().hex}"
        engine = create_engine(f"{postgres}/postgres", isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        return f"{postgres}/{name}"

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

    def test_open__shows_no_password_when_it_is_refused(self, postgres: str) -> None:
        url = postgres.replace("postgresql+psycopg://forescale:", "postgresql+psycopg://forescale:wrong-")
        with pytest.raises(LedgerError) as refused:
            Ledger(f"{url}/postgres")
        password = url.split(":")[2].split("@")[0]
        assert "password authentication failed" in str(refused.value)
        assert password not in str(refused.value)
        assert refused.value.__suppress_context__
