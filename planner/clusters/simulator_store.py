"""Stores the simulator's state in one SQLite file shared by several processes, one exclusive transaction per change.

A killed process leaves the state from before or after its transaction, nothing in between.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from planner.clusters.simulator_state import Minute, SimulatorState
from planner.errors import ClusterError

LOCK_PATIENCE_S = 60.0
_STATE, _MINUTE = TypeAdapter(SimulatorState), TypeAdapter(Minute)

_TABLES = """
CREATE TABLE IF NOT EXISTS simulator (id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS minutes (start_s INTEGER PRIMARY KEY, change INTEGER NOT NULL, body TEXT);
"""


class SimulatorTransaction:
    """Reads and writes of the lock's holder, committed only if the transaction ends without an error."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def load(self) -> tuple[Mapping[str, Any], SimulatorState] | None:
        """The identity that the simulator was started with, and its state; None before it has started."""
        row = self._connection.execute("SELECT identity, body FROM simulator WHERE id = 1").fetchone()
        if row is None:
            return None
        with self._reading("simulator"):
            identity = json.loads(row[0])
            return _identity(identity), _state(row[1])

    def save(self, identity: Mapping[str, Any], state: SimulatorState, minutes: Iterable[Minute]) -> None:
        self._connection.execute(
            "INSERT INTO simulator VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
            (json.dumps(identity), json.dumps(asdict(state))),
        )
        self._connection.executemany(
            "INSERT INTO minutes VALUES (?, ?, ?)", [(int(m.start_s), m.change, json.dumps(asdict(m))) for m in minutes]
        )

    def minutes(self, from_s: float, to_s: float) -> list[Minute]:
        """Whole minutes within [from_s, to_s), oldest first."""
        query = "SELECT body FROM minutes WHERE start_s >= ? AND start_s + 60 <= ? ORDER BY start_s"
        with self._reading("minutes"):
            return [_MINUTE.validate_json(row[0]) for row in self._connection.execute(query, (from_s, to_s))]

    def last_minute_of(self, change: int, ended_by_s: float) -> Minute | None:
        """The last minute of one plan that had ended by a moment."""
        query = "SELECT body FROM minutes WHERE change = ? AND start_s + 60 <= ? ORDER BY start_s DESC LIMIT 1"
        row = self._connection.execute(query, (change, ended_by_s)).fetchone()
        with self._reading("minutes"):
            return None if row is None else _MINUTE.validate_json(row[0])

    def damaged(self, table: str, why: str) -> ClusterError:
        """The error for a row that no simulator can have written."""
        return ClusterError(
            f"simulator file {self._path}: a row of {table} is damaged: {why}; delete the file to start the simulator "
            "anew"
        )

    @contextmanager
    def _reading(self, table: str) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "(whole)"
            raise self.damaged(table, f"{field}: {first['msg']}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise self.damaged(table, f"{type(error).__name__}: {error}") from None


class SimulatorStore:
    """The simulator's file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def transaction(self) -> Iterator[SimulatorTransaction]:
        """Hold the lock, and commit if the block ends without an error. Raises ClusterError if the file fails."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=LOCK_PATIENCE_S, isolation_level=None)) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                try:
                    for statement in _TABLES.strip().splitlines():
                        connection.execute(statement)
                    yield SimulatorTransaction(connection, self.path)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise ClusterError(
                f"simulator file {self.path} cannot be used: {error}; make its folder writable, or delete the file to "
                "restart the simulator"
            ) from error


def _identity(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get("channels", []), list):
        raise ValueError(f"identity is {str(body)[:60]}")
    return body


def _state(body: str) -> SimulatorState:
    state = _STATE.validate_json(body)
    # Older files list tuples between operators after the sources: a few seconds' work, which is done by now.
    return replace(state, content=state.content[: len(state.minute.offered)])
