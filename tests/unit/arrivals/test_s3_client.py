"""An object store as the place of a history, where it cannot be asked at all."""

import socket
import sys

import pytest

from forecasting.arrivals.storage import s3_client
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryStoreError

DIRECTORY = S3Directory("forescale", "history")


def test_client_that_is_not_installed__is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(HistoryStoreError, match=r"s3://forescale/history: botocore is not installed; .* extra `s3`"):
        read_history(DIRECTORY, "calls")


def test_store_that_is_down__is_named_with_the_remedy_and_without_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:  # bound but not listening
        probe.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{probe.getsockname()[1]}"
        for name, value in {
            "AWS_ENDPOINT_URL_S3": place,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "sesame42",
            "NO_PROXY": "127.0.0.1",
        }.items():
            monkeypatch.setenv(name, value)
        s3_client._connection.cache_clear()
        with pytest.raises(HistoryStoreError) as error:
            read_history(DIRECTORY, "calls")
    s3_client._connection.cache_clear()
    assert f"history in s3://forescale/history: the object store at {place} does not answer" in str(error.value)
    assert str(error.value).endswith("start it, or correct AWS_ENDPOINT_URL_S3")
    assert "sesame42" not in str(error.value)
