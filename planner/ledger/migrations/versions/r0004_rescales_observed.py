"""A shadow's rescales in the minutes with a known running plan. Earlier days were compared as a whole."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shadow_days", sa.Column("rescales_observed", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE shadow_days SET rescales_observed = rescales")
