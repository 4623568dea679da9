"""Upgrades a ledger's tables to the newest revision from any older one, in one transaction."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from planner.errors import LedgerError
from planner.ledger.database import Database

if TYPE_CHECKING:
    from alembic.config import Config


def upgrade_database(database: Database) -> None:
    """Create or upgrade the tables. Idempotent and safe in several processes at once.

    Raises LedgerError for a database that cannot be reached, or was written by a newer version.
    """
    with database.connection() as connection:
        database.lock(connection, "upgrade")
        if _revision(connection) == _newest():
            return
        # Most ledgers are at the newest revision: their commands do without Alembic, which takes .15 s to import.
        from alembic import command
        from alembic.util import CommandError

        config = _config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise LedgerError(
                f"ledger {database.shown} is at revision {_revision(connection)}, which this version does not know "
                f"({error}); use the version of forescale that wrote it, or a newer one"
            ) from error


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "planner.ledger:migrations")
    return config


@lru_cache(maxsize=1)
def _newest() -> str:
    """By the names of the files, r0001_….py and so on. Cached: planning many topologies opens the ledger several times
    for each.
    """
    files = (Path(__file__).parent / "migrations" / "versions").glob("r*_*.py")
    return max(file.name.partition("_")[0].removeprefix("r") for file in files)


def _revision(connection: Connection) -> str | None:
    """Of the tables; None if there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    number: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return number
