"""Empty tracking stores and ledgers as migrations make them: the first of a process is made, all others are copies.

MLflow runs all its migrations for each new SQLite file, which takes a second of processor time, the ledger's take a
seventh, and most tests of jobs begin with a new home. What else opening them does is left as it is; other processes
make theirs.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from planner.ledger.database import Database


@contextmanager
def copied_stores(folder: Path) -> Iterator[None]:
    """folder: keeps the store that is copied."""
    from forecasting.tracking import store_access

    made, template = store_access._create, folder / "empty-store" / "mlflow.db"

    def copy(database: Path) -> None:
        if not template.exists():
            template.parent.mkdir(exist_ok=True)
            made(template)
        aside = database.with_name(database.name + ".new")
        shutil.copyfile(template, aside)
        # The experiment `Default`, which nobody uses, names the folder of artifacts.
        root = (database.parent / "artifacts").as_uri()
        with closing(sqlite3.connect(aside)) as connection, connection:
            connection.execute("UPDATE experiments SET artifact_location = ? || '/' || experiment_id", (root,))
        aside.replace(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_access, "_create", copy)
        yield


@contextmanager
def copied_ledgers(folder: Path) -> Iterator[None]:
    """folder: keeps the ledger that is copied."""
    from sqlalchemy import inspect

    from planner.ledger import ledger
    from planner.ledger.database import Database

    upgrade, one_at_a_time = ledger.upgrade_database, Lock()

    @cache
    def statements() -> list[str]:
        template = folder / "empty-ledger.db"
        upgrade(Database(f"sqlite:///{template}"))
        with closing(sqlite3.connect(template)) as connection:
            return [each for each in connection.iterdump() if each not in ("BEGIN TRANSACTION;", "COMMIT;")]

    def copy(database: "Database") -> None:
        """In one transaction, as the migrations: several may be the first to open a ledger."""
        file = Path(database._url.database or "") if database.sqlite else None
        if file is not None and file.is_file() and file.stat().st_size == 0:
            with one_at_a_time:
                copied = statements()
            with database.connection() as connection:
                for statement in () if inspect(connection).get_table_names() else copied:
                    connection.exec_driver_sql(statement)
        upgrade(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "upgrade_database", copy)
        yield
