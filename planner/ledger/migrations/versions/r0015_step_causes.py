"""Why steps came into their states, as facts. Steps of earlier releases keep their sentences, as reason and why."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("steps", "step_events"):
        op.add_column(table, sa.Column("cause", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
