"""An object store as the place of a history, where it cannot be asked at all."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from forecasting.arrivals.storage import s3_client
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryStoreError

DIRECTORY = S3Directory("forescale", "history")


def _ask_at(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL_S3": place,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "sesame42",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    s3_client._connection.cache_clear()


def test_client_that_is_not_installed__is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(HistoryStoreError, match=r"s3://forescale/history: botocore is not installed; .* extra `s3`"):
        read_history(DIRECTORY, "calls")


def test_store_that_is_down__is_named_with_the_remedy_and_without_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:  # bound but not listening
        probe.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{probe.getsockname()[1]}"
        _ask_at(place, monkeypatch)
        with pytest.raises(HistoryStoreError) as error:
            read_history(DIRECTORY, "calls")
    s3_client._connection.cache_clear()
    assert f"history in s3://forescale/history: the object store at {place} does not answer" in str(error.value)
    assert str(error.value).endswith("start it, or correct AWS_ENDPOINT_URL_S3")
    assert "sesame42" not in str(error.value)


@contextmanager
def _store_that_stops_amid_an_object(*, hangs: bool) -> Iterator[str]:
    """It announces 1,000 bytes, sends 10, and then hangs up or says no more."""
    over = Event()

    class Stopping(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(b"0123456789")
            self.wfile.flush()
            if hangs:
                over.wait(120)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stopping)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("hangs", [False, True], ids=["hangs up", "hangs"])
def test_store_that_stops_amid_an_object__is_named_and_its_history_not_called_damaged(
    hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_client, "_READ_S", 1)
    with _store_that_stops_amid_an_object(hangs=hangs) as place:
        _ask_at(place, monkeypatch)
        with pytest.raises(HistoryStoreError, match=f"the object store at {place} does not answer"):
            read_history(DIRECTORY, "calls")
    s3_client._connection.cache_clear()
