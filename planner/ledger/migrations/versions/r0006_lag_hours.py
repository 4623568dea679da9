"""For each minute, whether the lag of the running job is known, and whether it was in violation."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lag_hours",
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        sa.Column("known", sa.BigInteger(), nullable=False),
        sa.Column("in_violation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topology", "hour", name="pk_lag_hours"),
    )
