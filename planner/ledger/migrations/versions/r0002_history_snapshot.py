"""The commit of the history that each forecast was made from; empty for earlier forecasts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column = sa.Column("history_snapshot", sa.Text(), nullable=False, server_default=sa.text("''"))
    op.add_column("forecasts", column)
