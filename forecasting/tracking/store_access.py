"""Reaching an MLflow store: quietly, quickly refused where it does not answer, safe when two processes are first."""

import fcntl
import importlib.util
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from engines.redaction import as_quoted, login_secrets, without_credentials, without_secrets
from forecasting.errors import TrackingError

if TYPE_CHECKING:
    from mlflow import MlflowClient

CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 10.0
REMEDY = "start the server, or correct FORESCALE_MLFLOW_URI"
LOGIN_REMEDY = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"


def connected_client(uri: str) -> "MlflowClient":
    """A client of the store at a URI; a fresh SQLite store is created.

    Raises TrackingError, within seconds, where MLflow is not installed or the store does not answer.
    """
    if importlib.util.find_spec("mlflow") is None:
        raise TrackingError("mlflow is not installed; install forescale[mlflow]")
    _check_answers(uri)
    _set_defaults()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    # MLflow and Alembic report each migration of a fresh store.
    for library in ("mlflow", "alembic"):
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        with _first_use(uri) as fresh:
            if fresh is not None:
                _create(fresh)
            client = MlflowClient(tracking_uri=uri, registry_uri=uri)
            client.search_experiments(max_results=1)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        raise refused(uri, "opening the store", error) from None
    return client


@contextmanager
def store_errors(uri: str, doing: str) -> Iterator[None]:
    """Whatever the store refuses within it is a TrackingError that says what was being done."""
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, OSError) as error:
        raise refused(uri, doing, error) from None  # its own text may hold the login, and a log shows it as the cause


def refused(uri: str, doing: str, error: Exception) -> TrackingError:
    """The error of a store that refuses, in one line and without credentials."""
    said = str(error).replace(uri, without_credentials(uri))
    reason = without_secrets(said, as_quoted(_secrets(uri)))[:300]
    # MLflow has it as a number of its errors, requests as the response, and both in words.
    remedy = LOGIN_REMEDY if re.search(r"\b40[13]\b|UNAUTHENTICATED|PERMISSION_DENIED", str(error)) else REMEDY
    return TrackingError(f"MLflow at {without_credentials(uri)}: {doing} failed ({reason}); {remedy}")


def _secrets(uri: str) -> Iterator[str]:
    try:
        yield from login_secrets(urlsplit(uri))
    except ValueError:
        yield uri  # which part of it is the password nobody knows


def _check_answers(uri: str) -> None:
    if uri.partition(":")[0] not in {"http", "https"}:
        return
    try:
        parts = urlsplit(uri)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_TIMEOUT_S).close()
        # A server that takes connections and never answers would be asked again and again for minutes.
        httpx.get(f"{uri.rstrip('/')}/health", timeout=ANSWER_TIMEOUT_S, follow_redirects=False)
    except httpx.TimeoutException:
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} takes connections and did not answer within {ANSWER_TIMEOUT_S:g} s; "
            f"{REMEDY}"
        ) from None
    except (ValueError, httpx.InvalidURL):  # whose text may repeat half a password
        raise TrackingError(
            f"the address of MLflow ({without_credentials(uri)}) is no URL; in a password of "
            "FORESCALE_MLFLOW_URI / is %2F, : is %3A and @ is %40"
        ) from None
    except (OSError, httpx.HTTPError) as error:
        raise TrackingError(f"MLflow at {without_credentials(uri)} does not answer ({error}); {REMEDY}") from None


def _set_defaults() -> None:
    # Read by MLflow when it is imported and at each request; what an operator has set stays.
    for name, value in {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }.items():
        os.environ.setdefault(name, value)


@contextmanager
def _first_use(uri: str) -> Iterator[Path | None]:
    """The file of a SQLite store that has yet to be created, by one process at a time; None for any other store."""
    if not uri.startswith("sqlite:///"):
        yield None
        return
    database = Path(uri.removeprefix("sqlite:///").split("?")[0])
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
    """Make the tables aside and put them in place whole.

    MLflow creates them by dozens of migrations, which a kill would leave half done for ever.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    aside = database.with_name(database.name + ".new")
    for left_over in database.parent.glob(f"{aside.name}*"):
        left_over.unlink()
    SqlAlchemyStore(f"sqlite:///{aside}", (database.parent / "artifacts").as_uri()).engine.dispose()
    aside.replace(database)
