"""Why a person has to approve a step, as facts. Steps of earlier releases keep their sentence, as `asked_because`."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("steps", sa.Column("review_cause", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
