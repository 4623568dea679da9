"""Tags and files of a run in an MLflow store of this machine, written without MLflow.

MLflow takes two seconds of processor time to import, as long as a whole decision, and a decision writes no more to it
than two tags and its page. Any other store, and a run that is not as expected, is left to MLflow.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

LOCK_PATIENCE_S = 60.0
_UPLOADING = ".artifact.uploading."
"""MLflow lists no artifact whose name begins so."""
_TAGS = {("key", 1), ("value", 0), ("run_uuid", 2)}
"""Columns of the table of tags since MLflow 1.0, and their places in its key."""


@dataclass(frozen=True)
class LocalRun:
    """An active run. artifacts: the folder of its artifacts; None if they are elsewhere."""

    database: Path
    run_id: str
    artifacts: Path | None

    def tag(self, values: Mapping[str, str]) -> None:
        """Set tags, all or none. Raises sqlite3.Error."""
        rows = [(key, value, self.run_id) for key, value in values.items()]
        with _opened(self.database) as connection, connection:
            connection.executemany(
                "INSERT INTO tags (key, value, run_uuid) VALUES (?, ?, ?) "
                "ON CONFLICT (key, run_uuid) DO UPDATE SET value = excluded.value",
                rows,
            )


def local_run(uri: str, run_id: str) -> LocalRun | None:
    """None if MLflow is to be asked: another store, tables of another shape, or no such run. Raises sqlite3.Error."""
    database = sqlite_file(uri)
    if database is None or not database.is_file() or "?" in uri:
        return None
    with _opened(database) as connection:
        if {(name, place) for _, name, _, _, _, place in connection.execute("PRAGMA table_info(tags)")} != _TAGS:
            return None
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")}
        if not {"run_uuid", "lifecycle_stage", "artifact_uri"} <= columns:
            return None
        of_run = "SELECT artifact_uri FROM runs WHERE run_uuid = ? AND lifecycle_stage = 'active'"
        row = connection.execute(of_run, (run_id,)).fetchone()
    return None if row is None else LocalRun(database, run_id, _folder(str(row[0])))


def sqlite_file(uri: str) -> Path | None:
    """The file of a store in SQLite; None for any other store."""
    return Path(uri.removeprefix("sqlite:///").split("?")[0]) if uri.startswith("sqlite:///") else None


def put_file(path: Path, folder: Path) -> None:
    """Copy a file into a folder of artifacts, whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f"{_UPLOADING}{uuid4().hex}"
    try:
        shutil.copyfile(path, aside)
        aside.replace(folder / path.name)
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()


def _folder(artifact_uri: str) -> Path | None:
    parts = urlsplit(artifact_uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in {"", "localhost"} else None


@contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Opened for writing: SQLite then recovers what a killed writer left."""
    address = f"{database.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=LOCK_PATIENCE_S)) as connection:
        yield connection
