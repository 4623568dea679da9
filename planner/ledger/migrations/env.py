"""Alembic's environment: applies revisions on the connection, and in the transaction, that migrate.py hands over."""

from alembic import context

from planner.ledger.tables import Base


def apply_revisions() -> None:
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        # SQLite cannot alter most of a table; batch mode copies it instead. Its DDL does take part in transactions.
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


# Alembic runs this file under a name of its own; imported as a module of the package, it does nothing.
if __name__ == "env_py":
    apply_revisions()
