"""Upgrades a ledger's tables to the newest revision from any older one, in one transaction."""

from functools import lru_cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from planner.errors import LedgerError
from planner.ledger.database import Database


def upgrade_database(database: Database) -> None:
    """Create or upgrade the tables. Idempotent and safe in several processes at once.

    Raises LedgerError for a database that cannot be reached, or was written by a newer version.
    """
    with database.connection() as connection:
        database.lock(connection, "upgrade")
        if _revision(connection) == _newest():
            return
        config = _config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise LedgerError(
                f"ledger {database.shown} is at revision {_revision(connection)}, which this version does not know "
                f"({error}); use the version of forescale that wrote it, or a newer one"
            ) from error


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "planner.ledger:migrations")
    return config


@lru_cache(maxsize=1)
def _newest() -> str | None:
    """Cached: planning many topologies opens the ledger several times for each, and the revisions are in the code."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
