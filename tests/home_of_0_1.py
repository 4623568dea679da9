"""A home that 0.1 filled: what of it today's code reads. tests/written_by_0_1/write_home.py wrote it."""

import sqlite3
import tarfile
from datetime import UTC, datetime
from pathlib import Path

from forescale.settings import Settings

WRITTEN_IN = "/mnt/home"
"""The ledger and MLflow name files by their whole paths: a home that is moved needs them changed."""
NOW = datetime(2026, 3, 7, 6, tzinfo=UTC)
"""Where its clock stands: 0.1 has just planned."""
SCHEDULE = "b74c92c2f6ebbf1d"
ARCHIVE = Path(__file__).parent / "written_by_0_1" / "home.tar.xz"


def home_of_0_1(folder: Path) -> Settings:
    """The settings of that home, unpacked into a folder. Its topology file is as 0.1 had it."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    home = folder / "home"
    for database in (home / "ledger.db", home / "mlruns" / "mlflow.db"):
        _say_where(database, str(home))
    return Settings(home=home, topologies=home / "topologies", mlruns=home / "mlruns", clock="trace")


def without_what_is_gone(settings: Settings) -> None:
    """Delete from the topology file what the error tells to delete."""
    file = settings.topologies / "calls.yaml"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if line.split(":")[0].strip() not in ("slot_s", "safety_s")))


def _say_where(database: Path, home: str) -> None:
    connection = sqlite3.connect(database)
    with connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for column in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if "CHAR" in column[2].upper() or "TEXT" in column[2].upper():
                    connection.execute(
                        f'UPDATE "{table}" SET "{column[1]}" = replace("{column[1]}", ?, ?)', (WRITTEN_IN, home)
                    )
    connection.close()
