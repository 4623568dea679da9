"""What answers in the place of an object store, a login page or a slow proxy, never leads to removing data."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from contract.history_batches_contract import DAY, START, told
from machine import waits
from odd_server import ODD_HTTP, odd_server, without_end

from engines import bounded_answer
from forecasting.arrivals.storage import s3_client, s3_folder
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.s3_objects import S3Objects
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryError, HistoryStoreError

pytest.importorskip("botocore")

PAGE = b"<!doctype html><title>Sign in</title>"
DAMAGED = b'{"format": 2, "window_s"'


@contextmanager
def place(get: "dict[str, str]", body: bytes, *, listing: bytes = PAGE, slow: bool = False) -> Iterator[str]:
    """A server that answers every GET with these headers and this body, and every listing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = listing if "list-type=2" in self.path else body
            self.send_response(200)
            for name, value in get.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            for at in range(0, len(answer), 1 if slow else len(answer)):
                self.wfile.write(answer[at : at + 1] if slow else answer)
                time.sleep(0.5 if slow else 0)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Directory]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anna")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret of anna")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield S3Directory("bucket", "history")
    s3_client._connection.cache_clear()
    s3_folder._checked_once.cache_clear()


def complaints(directory: S3Directory) -> list[str]:
    s3_client._connection.cache_clear()
    s3_folder._checked_once.cache_clear()
    said = []
    for attempt in (
        lambda: read_history(directory, "calls"),
        lambda: write_history(told(0, 1), directory, "calls", START, START + DAY),
    ):
        with pytest.raises(HistoryStoreError) as error:
            attempt()
        said.append(str(error.value))
    return said


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/html"},
        {"Content-Type": "text/html", "ETag": '"1"'},
        {"Content-Type": "application/octet-stream"},
        {"Content-Type": "application/octet-stream", "ETag": '"1"'},
    ],
)
def test_a_login_page_in_the_place_of_the_store__is_named_and_nothing_is_to_be_removed(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    with place(headers, PAGE) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        for said in complaints(directory):
            assert "remove" not in said
            assert "move" not in said
            assert "AWS_ENDPOINT_URL_S3" in said or "ignores conditions" in said


@pytest.mark.parametrize("kind", ODD_HTTP)
def test_whatever_answers_in_the_place_of_the_store__is_named(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with odd_server(ODD_HTTP[kind]) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        for said in complaints(directory):
            assert url in said
            assert "remove" not in said


def listing(content: bytes) -> bytes:
    return (
        "<ListBucketResult><Name>bucket</Name><KeyCount>1</KeyCount><Contents>"
        "<Key>history/topology=calls/_manifest.json</Key><LastModified>2024-03-04T12:00:00.000Z</LastModified>"
        f"<ETag>&quot;{md5(content).hexdigest()}&quot;</ETag><Size>{len(content)}</Size></Contents></ListBucketResult>"
    ).encode()


def test_a_damaged_object__that_the_store_lists_as_it_came_is_named_as_damaged(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"ETag": f'"{md5(DAMAGED).hexdigest()}"'}
    with place(headers, DAMAGED, listing=listing(DAMAGED)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        s3_client._connection.cache_clear()
        with pytest.raises(
            HistoryError, match=r"_manifest.json is damaged .*; move s3://bucket/history/topology=calls"
        ):
            read_history(directory, "calls")


def test_an_object_of_another_size_than_the_store_lists__is_no_damage(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"ETag": f'"{md5(DAMAGED).hexdigest()}"'}
    with place(headers, DAMAGED, listing=listing(DAMAGED + b": 60}")) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        s3_client._connection.cache_clear()
        with pytest.raises(HistoryStoreError, match=r"lists 29 bytes at .*, but 24 bytes came"):
            read_history(directory, "calls")


def test_a_store_that_sends_a_byte_at_a_time__is_given_up(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_client, "ANSWER_S", 1.0)
    with place({"ETag": '"1"'}, PAGE, slow=True) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        s3_client._connection.cache_clear()
        with waits(4), pytest.raises(HistoryStoreError, match="did not answer within 1 s"):
            read_history(directory, "calls")


def test_a_local_manifest_that_is_damaged__is_to_be_moved_and_never_removed(tmp_path: Path) -> None:
    write_history(told(0, 1), tmp_path, "calls", START, START + DAY)
    (tmp_path / "topology=calls" / "_manifest.json").write_bytes(DAMAGED)
    with pytest.raises(HistoryError, match=r"is damaged .*; move .* away, or restore its copy") as error:
        read_history(tmp_path, "calls")
    assert "remove" not in str(error.value)


@pytest.mark.parametrize("status", [200, 500])
def test_a_store_that_answers_without_end__is_given_up(
    directory: S3Directory, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(bounded_answer, "MAX_ANSWER_BYTES", 2**20)
    with odd_server(partial(without_end, status=status)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        s3_client._connection.cache_clear()
        with pytest.raises(HistoryStoreError, match="answers with more than 1 MiB; see whether"):
            S3Objects(directory).folders("")
