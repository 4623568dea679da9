"""Schedules and forecasts of a time ahead are set aside."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("forecasts", "schedules"):
        op.add_column(table, sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True))
