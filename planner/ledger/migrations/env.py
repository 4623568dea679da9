"""Alembic's environment: applies revisions on the connection and in the transaction that migrate.py passes."""

from alembic import context

from planner.ledger.tables import Base


def apply_revisions() -> None:
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        # SQLite cannot alter most of a table, so batch mode copies it. SQLite's DDL is transactional.
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


# Alembic runs this file under its own module name; imported from the package, it does nothing.
if __name__ == "env_py":
    apply_revisions()
