"""Stores that are not there, refuse, or do not keep what they promise: one line each, with place and remedy."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from contract.history_batches_contract import DAY, START, counts, told
from machine import waits
from s3_server import BUCKET, SECRET_KEY, LocalS3

from forecasting.arrivals.pipeline import known_sources
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.store import read_history, write_history
from forecasting.errors import HistoryStoreError

pytestmark = [pytest.mark.s3, pytest.mark.slow]

Change = Callable[..., None]
PASSWORD = "sesame-of-a-person"


def complaint(directory: S3Directory, match: str) -> str:
    """What reading and writing both say."""
    said = []
    for attempt in (
        lambda: read_history(directory, "calls"),
        lambda: write_history(told(0, 1), directory, "calls", START, START + DAY),
    ):
        with pytest.raises(HistoryStoreError, match=match) as error:
            attempt()
        said.append(str(error.value))
    for text in said:
        assert text.startswith(f"history in {directory}: ")
        assert "\n" not in text
        assert SECRET_KEY not in text
        assert PASSWORD not in text
    return said[0]


def test_bucket_that_is_not_there__is_told(s3: LocalS3) -> None:
    said = complaint(S3Directory("no-such-bucket", "history"), "NoSuchBucket")
    assert f"the object store at {s3.url} refuses" in said
    assert said.endswith("create the bucket, or correct history_uri")


def test_wrong_keys__are_told_without_them(directory: S3Directory, other_settings: Change) -> None:
    other_settings(AWS_SECRET_ACCESS_KEY=PASSWORD)
    assert complaint(directory, "SignatureDoesNotMatch").endswith("or AWS_PROFILE")
    other_settings(AWS_SECRET_ACCESS_KEY=SECRET_KEY, AWS_ACCESS_KEY_ID="nobody")
    # This server has a code of its own for it.
    assert complaint(directory, "No user exists").endswith("or the keys")
    other_settings(AWS_SECRET_ACCESS_KEY=None, AWS_ACCESS_KEY_ID=None)
    assert complaint(directory, "is not asked").endswith("or AWS_PROFILE")


def test_settings_of_aws_that_cannot_be_used__are_told(directory: S3Directory, other_settings: Change) -> None:
    other_settings(AWS_PROFILE="no-such-profile")
    complaint(
        directory, r"settings of AWS cannot be used \(The config profile \(no-such-profile\) could not be found\)"
    )
    other_settings(AWS_PROFILE=None, AWS_ENDPOINT_URL_S3="somewhere")
    complaint(directory, "the endpoint is not valid, or has a login")
    other_settings(AWS_ENDPOINT_URL_S3=f"http://anna:{PASSWORD}@127.0.0.1:1")
    complaint(directory, "the endpoint is not valid, or has a login")


def test_store_that_is_down__says_so_at_once(directory: S3Directory, other_settings: Change) -> None:
    with socket.socket() as probe:  # bound but not listening
        probe.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{probe.getsockname()[1]}"
        other_settings(AWS_ENDPOINT_URL_S3=place)
        with waits(10):
            said = complaint(directory, "does not answer")
    assert f"the object store at {place} does not answer" in said
    assert said.endswith("start it, or correct AWS_ENDPOINT_URL_S3")


def test_store_that_never_answers__is_given_up_after_some_ten_seconds(
    directory: S3Directory, other_settings: Change
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        other_settings(AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with waits(12, at_least_s=8), pytest.raises(HistoryStoreError, match="did not answer within 9 s"):
            read_history(directory, "calls")


@contextmanager
def forgetful_store(honoured: str | None = None) -> Iterator[str]:
    """A stand-in that takes every put, whatever its condition, but for one header, and holds nothing."""

    class Forgetful(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(412 if honoured in self.headers else 200)

        def do_GET(self) -> None:
            self._answer(404)

        def _answer(self, status: int) -> None:
            code = {404: "NoSuchKey", 412: "PreconditionFailed"}.get(status, "")
            body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode() if code else b""
            self.send_response(status)
            self.send_header("ETag", '"0"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(("honoured", "ignored"), [("no-header", "IfNoneMatch"), ("If-None-Match", "IfMatch")])
def test_store_that_ignores_conditions_of_puts__is_refused_before_anything_is_written(
    directory: S3Directory, other_settings: Change, honoured: str, ignored: str
) -> None:
    with forgetful_store(honoured) as url:
        other_settings(AWS_ENDPOINT_URL_S3=url)
        with pytest.raises(HistoryStoreError) as error:
            write_history(told(0, 1), directory, "calls", START, START + DAY)
    assert f"the store ignores conditions of puts ({ignored})" in str(error.value)
    assert str(error.value).endswith("use a store that honours them, or a folder")


def test_sources_that_were_known__are_not_forgotten_because_the_store_is_down(
    directory: S3Directory, kept: Path, other_settings: Change
) -> None:
    write_history(told(0, 1), directory, "calls", START, START + DAY)
    assert set(known_sources(directory, "calls", START, START + DAY).values()) == {frozenset({"ingest"})}
    # A part that is gone is left out, so that building its date again repairs it; one that is not told is an error.
    next(kept.rglob("part-*")).unlink()
    assert known_sources(directory, "calls", START, START + DAY) == {}
    other_settings(AWS_SECRET_ACCESS_KEY=PASSWORD)
    with pytest.raises(HistoryStoreError):
        known_sources(directory, "calls", START, START + DAY)


def test_log__holds_nothing_of_what_requests_are_signed_with(
    directory: S3Directory, other_settings: Change, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    other_settings()
    write_history(told(0, 1), directory, "calls", START, START + DAY)
    assert counts(directory) == [1] * 24
    assert BUCKET not in caplog.text or "Signature" not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("botocore")]
    assert SECRET_KEY not in caplog.text
