"""What the store of arrival histories must do wherever it lies. Subclass it with the fixtures of HistoryDirectory."""

from contract.history_batches_contract import HistoryBatchesContract
from contract.history_commits_contract import HistoryCommitsContract
from contract.history_keys_contract import HistoryKeysContract
from contract.history_rows_contract import HistoryRowsContract


class HistoryStoreContract(HistoryRowsContract, HistoryCommitsContract, HistoryBatchesContract, HistoryKeysContract):
    """Subclass it as `Test…` with the fixtures of HistoryDirectory."""
