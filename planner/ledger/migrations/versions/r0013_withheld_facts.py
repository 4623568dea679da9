"""Why a step was withheld, as facts. Steps of 0.1 and 0.2 keep their sentence, as the reason of their state."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("steps", sa.Column("withheld", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
