"""The connection to the ledger's database: SQLite by default, PostgreSQL by its URL."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, make_url, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from engines.deadline import waiting
from planner.errors import DamagedRowError, LedgerError

LOCK_PATIENCE_MS = 60_000
LOOK_AGAIN_S = 0.01
_LOCK_NOT_AVAILABLE = "55P03"
CONNECT_PATIENCE_S = 5
"""Timeout for connecting to a server; the drivers' own would be minutes."""


class Database:
    """Short transactions on one database. Its URL may hold a password, which is never shown.

    home: folder below which paths are stored relatively, so that it can be moved.

    A SQLite file that cannot be written to is opened to read. Raises LedgerError for an invalid URL or a file that
    cannot be created.
    """

    def __init__(self, url: str, home: Path | None = None) -> None:
        self._home = None if home is None else home.resolve()
        try:
            self._url = make_url(url)
            # No pool: connections do not outlive a transaction, so a forked task never shares one with its parent.
            given: dict[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
            to_read = _only_to_be_read(self._url)
            given |= (
                {"connect_args": _patience(self._url)} if to_read is None else {"creator": partial(_opened, to_read)}
            )
            self._engine = create_engine(self._url, **given)
        except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
            raise LedgerError(
                "the ledger's URL cannot be understood (it is not shown, as it may hold a password); give it as "
                "sqlite:////path/ledger.db or postgresql+psycopg://user:password@host/database, and install the driver"
            ) from None
        self._damaged: dict[str, None] | None = None
        if self.sqlite and to_read is None:
            _prepare_sqlite(self._engine, self._url)

    @property
    def sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    def stored_path(self, path: str) -> str:
        """The path as it is stored: relative to the home, if it lies there."""
        if self._home is None or not path:
            return path
        absolute = Path(path).resolve()
        return str(absolute.relative_to(self._home)) if absolute.is_relative_to(self._home) else path

    def absolute_path(self, stored: str) -> str:
        """The path to open: below the home, unless it is stored as absolute."""
        return stored if self._home is None or not stored else str(self._home / stored)

    @property
    def shown(self) -> str:
        """The URL without its secrets."""
        query = {key: "hidden" if "password" in key.lower() else value for key, value in self._url.query.items()}
        return self._url.set(query=query).render_as_string(hide_password=True)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """One transaction, committed whole or not at all. Raises LedgerError if the database fails."""
        try:
            with (
                waiting(f"ledger {self.shown}", LOCK_PATIENCE_MS / 1000),
                self._engine.begin() as connection,
            ):
                yield connection
        except SQLAlchemyError as error:
            if isinstance(cause := getattr(error, "orig", None), LedgerError):
                raise cause from None
            if _is_locked(cause):
                raise LedgerError(
                    f"ledger {self.shown} has been locked by another process for {LOCK_PATIENCE_MS / 1000:g} s; see "
                    "which one holds it (on PostgreSQL in pg_stat_activity)"
                ) from None
            raise LedgerError(
                f"ledger {self.shown}: {self._without_secrets(error)}; check that the database can be reached and "
                "written to"
            ) from None

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The same, for mapped rows."""
        with self.connection() as connection, Session(connection, expire_on_commit=False) as session:
            yield session
            session.flush()

    def past_damage(self) -> "Database":
        """A copy whose lists leave out damaged rows, which `damaged` names, so that all others can be shown."""
        other = copy(self)
        other._damaged = {}
        return other

    @property
    def damaged(self) -> tuple[str, ...]:
        """A message for each row that was left out so far."""
        return tuple(self._damaged or ())

    def leave_out(self, error: DamagedRowError) -> None:
        """Note a damaged row to leave out; raises the error unless this is a copy from `past_damage`."""
        if self._damaged is None:
            raise error
        self._damaged[str(error)] = None

    def lock(self, connection: Connection, name: str) -> None:
        """Hold an advisory lock on `name` until the transaction ends."""
        # On SQLite every transaction holds the write lock from its start.
        if self._url.get_backend_name() == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": f"forescale {name}"})

    def _without_secrets(self, error: SQLAlchemyError) -> str:
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        secrets = [self._url.password, *(v for key, v in self._url.query.items() if "password" in key.lower())]
        for secret in secrets:
            if isinstance(secret, str) and secret:
                said = said.replace(secret, "***")
        return said


class Records:
    """A part of the ledger. Each method is one transaction and raises LedgerError if the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database


def _is_locked(error: BaseException | None) -> bool:
    """By the drivers' own codes."""
    busy_code = getattr(error, "sqlite_errorcode", None)
    return busy_code == sqlite3.SQLITE_BUSY or getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def _patience(url: URL) -> dict[str, Any]:
    """A timeout given in the URL takes precedence."""
    if url.get_backend_name() != "postgresql":
        return {}
    waits: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_PATIENCE_S}
    # As with SQLite, a lock is waited for, but not for ever.
    return waits if "options" in url.query else {**waits, "options": f"-c lock_timeout={LOCK_PATIENCE_MS}"}


def _only_to_be_read(url: URL) -> Path | None:
    """The file of a ledger that can be read and not written, such as one of a backup or a home that is mounted so."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or name.startswith(("file:", ":")) or not (file := Path(name)).is_file():
        return None
    return None if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK) else file


def _opened(file: Path) -> sqlite3.Connection:
    """To read. SQLite wants to make files beside it, unless it is told that nobody writes: so it is where none of a
    writer is there.
    """
    changes = file.with_name(f"{file.name}-wal")
    way = "mode=ro" if changes.exists() and changes.stat().st_size else "immutable=1"
    return sqlite3.connect(f"{file.absolute().as_uri()}?{way}", uri=True)


def _keep_changes_beside(cursor: sqlite3.Cursor) -> None:
    """Write-ahead logging. A new file takes to it when nobody else has it open: SQLite says at once that it is locked
    then, whatever its timeout.
    """
    patient_until_s = time.monotonic() + LOCK_PATIENCE_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > patient_until_s:
                raise
            time.sleep(LOOK_AGAIN_S)
        else:
            return


def _prepare_sqlite(engine: Engine, url: URL) -> None:
    """Wait for locks, check foreign keys, and take the write lock at the start of each transaction.

    Otherwise a transaction that reads first and writes later would fail at once if another one wrote in between.
    """
    if not url.database or url.database == ":memory:":
        raise LedgerError(
            "a ledger in memory would be gone after each transaction; give it a file: sqlite:////path/l.db"
        )
    try:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"the folder of ledger {url.database} cannot be made: {error}; choose another path") from None
    if not url.database.startswith("file:"):
        # Approvals and reasons are for their owner alone; SQLite gives the files beside it the same rights.
        with suppress(OSError):
            Path(url.database).touch(mode=0o600, exist_ok=False)

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {LOCK_PATIENCE_MS}")
        _keep_changes_beside(cursor)
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
