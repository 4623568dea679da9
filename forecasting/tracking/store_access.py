"""Opens an MLflow store: without log noise, failing fast if it does not answer, safe if two processes create it, and
with an end in time and size for every call, which MLflow's own client lacks.
"""

import fcntl
import importlib.util
import logging
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx

from engines.bounded_answer import bound_answers, bounded
from engines.deadline import altogether, left_s, waiting, within
from engines.redaction import as_quoted, login_secrets, without_credentials, without_secrets
from forecasting.errors import TrackingError
from forecasting.tracking.local_run import sqlite_file

if TYPE_CHECKING:
    from mlflow import MlflowClient

CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 9.0
FIRST_USE_S = 120.0
"""A database makes its tables at its first use."""
REMEDY = "start the server, or correct FORESCALE_MLFLOW_URI"
LOGIN_REMEDY = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"


_FILE_REMEDIES = {
    "malformed|not a database": "its file is damaged: restore its copy, or move it away to begin anew",
    "disk is full|No space left": "make room on its disk",
    "readonly|read-only|unable to open|Permission denied": "give the right to write its file and folder",
    "locked": "see which process holds its file",
}
"""What helps, by SQLite's own words: MLflow passes on nothing else."""

ARTIFACTS_S = 300.0
"""Longest time of a call that moves artifacts."""

_NOWHERE = "nowhere"
"""An experiment that need not exist: MLflow says so in its own words, or gives its id. Its answers to changes prove
nothing, being as empty as those of any other program.
"""

HURRIED_S, HURRIED_FOR_S = 1.0, 60.0
"""Longest time of a call soon after one that ran out: closing what is left open does not add a full wait to each."""


def connected_client(uri: str) -> "MlflowClient":
    """A client of the store at a URI; a fresh SQLite store is created.

    Raises TrackingError, within seconds, if MLflow is not installed or the store does not answer.
    """
    if importlib.util.find_spec("mlflow") is None:
        raise TrackingError("mlflow is not installed; install forescale[mlflow]")
    began_s = time.monotonic()
    _check_answers(uri)
    left_s = ANSWER_TIMEOUT_S - (time.monotonic() - began_s)
    _set_defaults()
    if served := _is_served_database(uri):
        _check_database(uri)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from mlflow.utils import request_utils
    from sqlalchemy.exc import SQLAlchemyError

    # MLflow and Alembic log each migration of a new store.
    for library in ("mlflow", "alembic"):
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        with _first_use(uri) as fresh:
            if fresh is not None:
                _create(fresh)
            bound_answers(request_utils.TCPKeepAliveHTTPAdapter)
            client = MlflowClient(tracking_uri=uri, registry_uri=uri)
            if not uri.startswith("sqlite:"):
                client = cast("MlflowClient", BoundedClient(client, uri, FIRST_USE_S if served else ANSWER_TIMEOUT_S))
            # Importing MLflow takes seconds, which are not the server's.
            with altogether(f"MLflow at {without_credentials(uri)}", FIRST_USE_S if served else left_s):
                found = client.get_experiment_by_name(_NOWHERE)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise refused(uri, "opening the store", error) from None
    if found is not None and not found.experiment_id:
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} answers as no MLflow does; another program or a proxy may stand in "
            "its place: correct FORESCALE_MLFLOW_URI"
        )
    return client


@contextmanager
def store_errors(uri: str, doing: str) -> Iterator[None]:
    """Refusals within the block become a TrackingError that names the operation."""
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, OSError) as error:
        raise refused(uri, doing, error) from None  # a logged cause could show the login in its text


def refused(uri: str, doing: str, error: Exception) -> TrackingError:
    """The error for a refusal of the store, in one line and without credentials."""
    message = str(error).replace(uri, without_credentials(uri))
    reason = without_secrets(message, as_quoted(_secrets(uri)))[:300]
    # The status is an attribute of MLflow's errors, in requests' response, and in both messages.
    if _is_server(uri) or _is_served_database(uri):
        remedy = LOGIN_REMEDY if re.search(r"\b40[13]\b|UNAUTHENTICATED|PERMISSION_DENIED", str(error)) else REMEDY
    else:
        known = (remedy for pattern, remedy in _FILE_REMEDIES.items() if re.search(pattern, str(error)))
        remedy = next(known, "see that its file can be read and written, or correct FORESCALE_MLFLOW_URI")
    return TrackingError(f"MLflow at {without_credentials(uri)}: {doing} failed ({reason}); {remedy}")


def _secrets(uri: str) -> Iterator[str]:
    try:
        yield from login_secrets(urlsplit(uri))
    except ValueError:
        yield uri  # unknown which part is the password


def _check_answers(uri: str) -> None:
    if not _is_server(uri):
        return
    try:
        parts = urlsplit(uri)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_TIMEOUT_S).close()
        # Without this check, a server that accepts connections but never answers would be retried for minutes.
        health = f"{uri.rstrip('/')}/health"
        with waiting(f"MLflow at {without_credentials(uri)}", ANSWER_TIMEOUT_S):
            within(ANSWER_TIMEOUT_S, lambda: _answer_comes(health))
    except (httpx.TimeoutException, TimeoutError):
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} takes connections and did not answer within {ANSWER_TIMEOUT_S:g} s; "
            f"{REMEDY}"
        ) from None
    except (ValueError, httpx.InvalidURL):  # its text may contain part of a password
        raise TrackingError(
            f"the address of MLflow ({without_credentials(uri)}) is no URL; in a password of "
            "FORESCALE_MLFLOW_URI / is %2F, : is %3A and @ is %40"
        ) from None
    except (OSError, httpx.HTTPError) as error:
        raise TrackingError(f"MLflow at {without_credentials(uri)} does not answer ({error}); {REMEDY}") from None


def _answer_comes(address: str) -> None:
    with httpx.stream("GET", address, timeout=ANSWER_TIMEOUT_S, follow_redirects=False) as response:
        for _ in bounded(response.iter_raw()):
            pass


def _is_server(uri: str) -> bool:
    return uri.partition(":")[0] in {"http", "https"}


def _is_served_database(uri: str) -> bool:
    return uri.partition(":")[0].partition("+")[0] in {"postgresql", "mysql", "mssql"}


def _check_database(uri: str) -> None:
    """MLflow would ask a database that refuses for minutes. Raises TrackingError."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        engine = create_engine(uri, poolclass=NullPool, hide_parameters=True)
        within(ANSWER_TIMEOUT_S, lambda: engine.connect().close())
    except (SQLAlchemyError, OSError, ImportError, ValueError) as error:
        raise refused(uri, "opening the store", error) from None


def _set_defaults() -> None:
    # MLflow reads these at import and at each request; values set by an operator stay.
    for name, value in {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "9",
        # Each retry may wait for as long as the server asks.
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }.items():
        os.environ.setdefault(name, value)


@contextmanager
def _first_use(uri: str) -> Iterator[Path | None]:
    """The file of a SQLite store to be created, locked for one process at a time; None for any other store."""
    if (database := sqlite_file(uri)) is None:
        yield None
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    with database.with_name(database.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if database.exists() and not (database.is_file() and database.stat().st_size):
            raise TrackingError(
                f"MLflow at {uri}: {database} is no database, or an empty file; move it away, or correct "
                "FORESCALE_MLFLOW_URI"
            )
        yield None if database.exists() else database


def _create(database: Path) -> None:
    """Create the tables in a temporary file and move it into place.

    MLflow runs dozens of migrations, which a kill would leave half done for ever.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    aside = database.with_name(database.name + ".new")
    for left_over in database.parent.glob(f"{aside.name}*"):
        left_over.unlink()
    SqlAlchemyStore(f"sqlite:///{aside}", (database.parent / "artifacts").as_uri()).engine.dispose()
    aside.replace(database)


class BoundedClient:
    """An MlflowClient of which every call ends in its time, however slowly the store answers: TimeoutError.

    call_s: longest time of a call that moves no artifacts.
    """

    def __init__(self, client: "MlflowClient", uri: str, call_s: float) -> None:
        self._client = client
        self._place = f"MLflow at {without_credentials(uri)}"
        self._call_s = call_s
        self._hurried_until_s = 0.0

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._client, name)
        if not callable(called):
            return called
        longest_s = ARTIFACTS_S if "artifact" in name else self._call_s

        def bounded(*values: Any, **named: Any) -> Any:
            most_s = left_s(HURRIED_S if time.monotonic() < self._hurried_until_s else longest_s)
            try:
                with waiting(self._place, most_s):
                    return within(most_s, partial(called, *values, **named))
            except TimeoutError:
                self._hurried_until_s = time.monotonic() + HURRIED_FOR_S
                raise

        return bounded
