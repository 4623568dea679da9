"""The arrival history in a folder of this machine, its default place."""

from pathlib import Path

import pytest
from contract.history_batches_contract import DAY, START, files, told, two_days_and_no_more
from contract.history_store_contract import HistoryStoreContract

from forecasting.arrivals.store import write_history


class TestHistoryInAFolder(HistoryStoreContract):
    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        return tmp_path

    @pytest.fixture
    def kept(self, tmp_path: Path) -> Path:
        return tmp_path

    def test_batches__that_fail_leave_no_file_of_theirs(self, tmp_path: Path) -> None:
        write_history(told(0, 1, days=3), tmp_path, "calls", START, START + 3 * DAY)
        before = files(tmp_path)
        with pytest.raises(RuntimeError, match="the broker is gone"):
            write_history(two_days_and_no_more(), tmp_path, "calls", START, START + 3 * DAY)
        assert files(tmp_path) == before
