"""How fast jobs were after deployments, from which their warm-up is learnt."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "deployment_speeds",
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("from_s", sa.Double(), nullable=False),
        sa.Column("until_s", sa.Double(), nullable=False),
        sa.Column("taken_per_s", sa.Double(), nullable=False),
        sa.Column("capacity_per_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("step_id", "from_s", name="pk_deployment_speeds"),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_deployment_speeds_step_id_steps"),
    )
