"""Empty tracking stores as MLflow makes them: the first of a process is made, all others are copies of it.

MLflow runs all its migrations for each new SQLite file, which takes a second of processor time, and most tests of jobs
begin with a new home. What else opening a store does is left as it is; other processes make theirs.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest


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
