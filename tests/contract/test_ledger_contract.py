"""The ledger on SQLite, its default database."""

from pathlib import Path

import pytest
from contract.ledger_contract import LedgerContract


class TestLedgerOnSqlite(LedgerContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'var' / 'ledger.db'}"
