"""A tracking store that cannot be used is refused soon, before MLflow itself is asked."""

import socket
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from canaries import canaries_in, canary, url_with
from machine import waits
from odd_server import (
    Answer,
    a_byte_at_a_time,
    busy,
    gzip_bomb,
    head_a_byte_at_a_time,
    login_page,
    odd_server,
    without_end,
)

from engines import bounded_answer
from forecasting.errors import TrackingError
from forecasting.tracking import store_access
from forecasting.tracking.store_access import BoundedClient, connected_client, store_errors
from forescale.settings import Settings

URI = url_with(canary("mlflow_uri"))


def test_a_server_that_takes_connections_and_never_answers__is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        told = rf"127.0.0.1:{port} takes connections and did not answer within 0.2 s"
        with waits(5), pytest.raises(TrackingError, match=told):
            connected_client(f"http://127.0.0.1:{port}")


@pytest.mark.mlflow
@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (a_byte_at_a_time, r"no answer within [1-4](\.\d)? s"),
        (head_a_byte_at_a_time, r"no answer within [1-4](\.\d)? s"),
        (without_end, "answers with more than 1 MiB"),
        (gzip_bomb, "answers with more than 1 MiB"),
        (busy, "429|too many"),
        (login_page, "valid JSON|Sign in"),
    ],
)
def test_a_tracking_server_that_answers_oddly__is_named_soon(
    answer: Answer, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 4.0)
    monkeypatch.setattr(bounded_answer, "MAX_ANSWER_BYTES", 2**20)
    with odd_server(answer, well=["/health"]) as url:
        told = rf"MLflow at {url}: opening the store failed \(.*({reason})"
        with waits(7), pytest.raises(TrackingError, match=told):
            connected_client(url)


class _Slow:
    """A client of which every call takes a tenth of a second."""

    def set_tag(self, run_id: str, key: str, value: str) -> str:
        time.sleep(0.1)
        return value


def test_calls_after_one_that_ran_out__wait_no_full_time_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "HURRIED_S", 0.01)
    client: Any = BoundedClient(_Slow(), "http://127.0.0.1:9", 5.0)  # type: ignore[arg-type]
    assert client.set_tag("1", "a", "kept") == "kept"
    monkeypatch.setattr(client, "_call_s", 0.02)
    with pytest.raises(TimeoutError, match=r"no answer within 0.02 s"):
        client.set_tag("1", "a", "b")
    with pytest.raises(TimeoutError, match=r"no answer within 0.01 s"):
        client.set_tag("1", "a", "b")
    monkeypatch.setattr(client, "_call_s", 5.0)
    monkeypatch.setattr(client, "_hurried_until_s", time.monotonic())
    assert client.set_tag("1", "a", "kept again") == "kept again"


def test_a_database_that_refuses_or_never_answers__is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port, reason in ((9, "refused"), (silent.getsockname()[1], "no answer within 1 s")):
            address = f"postgresql+psycopg://anna:{canary('database')}@127.0.0.1:{port}/mlflow"
            told = rf"opening the store failed .*{reason}.*FORESCALE_MLFLOW_URI"
            with waits(5), pytest.raises(TrackingError, match=told) as caught:
                connected_client(address)
            assert canaries_in(str(caught.value)) == set()


@pytest.mark.mlflow
@pytest.mark.slow
def test_an_empty_file__is_no_database(tmp_path: Path) -> None:
    (file := tmp_path / "mlflow.db").touch()
    with pytest.raises(TrackingError, match="is no database, or an empty file; move it away"):
        connected_client(f"sqlite:///{file}")
    assert file.stat().st_size == 0


@pytest.mark.mlflow
@pytest.mark.slow
@pytest.mark.parametrize("content", [b"no database" * 500, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file__is_named_with_what_helps(tmp_path: Path, content: bytes) -> None:
    (file := tmp_path / "mlflow.db").write_bytes(content)
    with waits(10), pytest.raises(TrackingError, match="its file is damaged: restore its copy, or move it away"):
        connected_client(f"sqlite:///{file}")
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("(sqlite3.OperationalError) database or disk is full", "make room on its disk"),
        ("(sqlite3.OperationalError) attempt to write a readonly database", "give the right to write its file"),
        ("(sqlite3.OperationalError) database is locked", "see which process holds its file"),
        ("something else, 401 of them", "see that its file can be read and written, or correct FORESCALE_MLFLOW_URI"),
    ],
)
def test_a_refusal_of_a_file__names_what_helps(said: str, remedy: str) -> None:
    with pytest.raises(TrackingError, match=remedy), store_errors("sqlite:////home/mlflow.db", "tagging a run"):
        raise OSError(said)


@pytest.mark.parametrize(
    "said",
    [
        f"API request to {URI}/api/2.0/mlflow/runs/create failed",
        f"the password is {canary('mlflow_uri')}",
        "BAD_REQUEST: {'Authorization': 'Basic YW5uYTpjYW5hcnk3cW1sZmxvd3VyaXo='}",
    ],
    ids=["address", "password", "header"],
)
def test_error_of_a_store__shows_no_login_nor_does_its_traceback(said: str) -> None:
    assert canaries_in(said)
    with pytest.raises(TrackingError) as caught, store_errors(URI, "beginning a batch"):
        raise OSError(said)
    assert canaries_in("".join(traceback.format_exception(caught.value))) == set()
    assert "MLflow at http://127.0.0.1:9: beginning a batch failed" in str(caught.value)


def test_address_of_a_store__with_a_bare_slash_in_its_password_is_refused_without_it() -> None:
    with pytest.raises(TrackingError, match=r"\(http://127\.0\.0\.1:9\) is no URL; .*/ is %2F") as caught:
        connected_client(url_with(f"{canary('half')}/rest"))
    assert canaries_in("".join(traceback.format_exception(caught.value))) == set()


@pytest.mark.parametrize("address", ["http://[", f"http://anna:{canary('bracket')}[x@host"])
def test_an_address_that_is_none__is_refused_as_a_store_that_does_not_answer(address: str) -> None:
    with pytest.raises(TrackingError, match="is no URL") as caught:
        connected_client(address)
    assert canaries_in("".join(traceback.format_exception(caught.value))) == set()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql+psycopg://db/mlflow?user=anna&password=secret", "postgresql+psycopg://db/mlflow?***"),
        ("http://host:5000", "http://host:5000"),
    ],
)
def test_settings__show_no_login_wherever_it_stands_in_an_address(address: str, shown: str) -> None:
    assert Settings(mlflow_uri=address).shown()["mlflow_uri"] == shown


def test_settings__refuse_an_address_that_cannot_be_taken_apart_without_showing_it() -> None:
    with pytest.raises(ValueError, match="cannot be taken apart") as caught:
        Settings(mlflow_uri=f"http://anna:{canary('half')}/rest@host:5000")
    assert canaries_in(str(caught.value)) == set()
