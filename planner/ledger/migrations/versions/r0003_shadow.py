"""Shadow mode: schedules and steps that are never deployed, observations of what ran, and one row a day for both."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_STATES = (
    "state IN ('proposed', 'approved', 'due', 'deploying', 'verified', 'rolled back', 'vetoed', 'expired', "
    "'superseded', 'shadow')"
)


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def upgrade() -> None:
    op.add_column("schedules", sa.Column("shadow", sa.Boolean(), nullable=False, server_default=sa.false()))
    if op.get_bind().dialect.name == "sqlite":
        _make_steps_anew()
    else:
        op.drop_constraint(op.f("ck_steps_state"), "steps", type_="check")
        op.create_check_constraint(op.f("ck_steps_state"), "steps", _STATES)
    op.create_table(
        "observations",
        *_columns(sa.Text(), "topology"),
        *_columns(sa.DateTime(timezone=True), "observed_at"),
        *_columns(sa.JSON(), "plan"),
        *_columns(sa.Text(), "status"),
        *_columns(sa.JSON(), "backlog"),
        *_columns(sa.Double(), "lag_s", nullable=True),
        *_columns(sa.Text(), "unmeasured"),
        sa.PrimaryKeyConstraint("topology", "observed_at", name="pk_observations"),
    )
    op.create_table(
        "shadow_days",
        *_columns(sa.Text(), "topology"),
        *_columns(sa.Date(), "day"),
        *_columns(sa.DateTime(timezone=True), "accrued_at"),
        *_columns(sa.Double(), "max_lag_s"),
        *_columns(sa.Integer(), "observed_minutes", "measured_minutes"),
        *_columns(sa.Double(), "real_instance_hours"),
        *_columns(sa.Integer(), "real_violation_minutes", "real_rescales"),
        *_columns(sa.Double(), "instance_hours", "instance_hours_observed"),
        *_columns(sa.Integer(), "violation_minutes", "violation_minutes_measured", "rescales"),
        *_columns(sa.Double(), "backlog"),
        *_columns(sa.Text(), "notes"),
        sa.PrimaryKeyConstraint("topology", "day", name="pk_shadow_days"),
    )


def _make_steps_anew() -> None:
    """SQLite cannot change a constraint, so copy the table. Foreign keys to it are checked at the end only."""
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TABLE steps_before AS SELECT * FROM steps")
    op.drop_table("steps")
    op.create_table(
        "steps",
        *_columns(sa.Text(), "id"),
        *_columns(sa.Text(), "schedule_id", nullable=True),
        *_columns(sa.Integer(), "position"),
        *_columns(sa.Text(), "topology"),
        *_columns(sa.DateTime(timezone=True), "deploy_at", "expires_at"),
        *_columns(sa.JSON(), "plan", "replaces"),
        *_columns(sa.Text(), "state", "reason"),
        *_columns(sa.DateTime(timezone=True), "updated_at"),
        *_columns(sa.Text(), "updated_by"),
        *_columns(sa.Integer(), "attempt"),
        sa.CheckConstraint(_STATES, name=op.f("ck_steps_state")),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name="fk_steps_schedule_id"),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
    )
    op.execute("INSERT INTO steps SELECT * FROM steps_before")
    op.drop_table("steps_before")
    op.create_index("ix_steps_schedule_id", "steps", ["schedule_id"], unique=False)
    op.create_index("ix_steps_topology_state_deploy_at", "steps", ["topology", "state", "deploy_at"], unique=False)
