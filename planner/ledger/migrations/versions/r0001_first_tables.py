"""The first tables: forecasts, schedules, steps and their events, outcomes, the blacklist."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def upgrade() -> None:
    op.create_table(
        "blacklist",
        *_columns(sa.Text(), "topology", "action"),
        *_columns(sa.DateTime(timezone=True), "until"),
        *_columns(sa.Text(), "why"),
        sa.PrimaryKeyConstraint("topology", "action", name="pk_blacklist"),
    )
    op.create_table(
        "forecasts",
        *_columns(sa.Text(), "id", "topology", "source"),
        *_columns(sa.DateTime(timezone=True), "issued_at", "horizon_end"),
        *_columns(sa.Text(), "run_id", "model_version", "folder", "history_digest"),
        sa.PrimaryKeyConstraint("id", name="pk_forecasts"),
    )
    op.create_index("ix_forecasts_topology_issued_at", "forecasts", ["topology", "issued_at"], unique=False)
    op.create_table(
        "schedules",
        *_columns(sa.Text(), "id", "topology"),
        *_columns(sa.DateTime(timezone=True), "made_at", "start_at", "end_at"),
        *_columns(sa.Double(), "quantile"),
        *_columns(sa.Text(), "why"),
        *_columns(sa.JSON(), "current_plan", "body"),
        *_columns(sa.Text(), "report"),
        *_columns(sa.JSON(), "derived_from"),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
    )
    op.create_index("ix_schedules_topology_made_at", "schedules", ["topology", "made_at"], unique=False)
    op.create_table(
        "schedule_forecasts",
        *_columns(sa.Text(), "schedule_id", "forecast_id"),
        sa.ForeignKeyConstraint(["forecast_id"], ["forecasts.id"], name="fk_schedule_forecasts_forecast_id"),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name="fk_schedule_forecasts_schedule_id"),
        sa.PrimaryKeyConstraint("schedule_id", "forecast_id", name="pk_schedule_forecasts"),
    )
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
        sa.CheckConstraint(
            "state IN ('proposed', 'approved', 'due', 'deploying', 'verified', 'rolled back', 'vetoed', 'expired', "
            "'superseded')",
            name=op.f("ck_steps_state"),
        ),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name="fk_steps_schedule_id"),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
    )
    op.create_index("ix_steps_schedule_id", "steps", ["schedule_id"], unique=False)
    op.create_index("ix_steps_topology_state_deploy_at", "steps", ["topology", "state", "deploy_at"], unique=False)
    op.create_table(
        "outcomes",
        *_columns(sa.Text(), "step_id"),
        *_columns(sa.DateTime(timezone=True), "verified_at", nullable=True),
        *_columns(sa.Double(), "downtime_s", nullable=True),
        *_columns(sa.JSON(), "predicted", "measured"),
        *_columns(sa.Integer(), "violation_minutes", nullable=True),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_outcomes_step_id"),
        sa.PrimaryKeyConstraint("step_id", name="pk_outcomes"),
    )
    op.create_table(
        "step_events",
        *_columns(sa.Integer(), "id"),
        *_columns(sa.Text(), "step_id"),
        *_columns(sa.Text(), "from_state", nullable=True),
        *_columns(sa.Text(), "to_state"),
        *_columns(sa.DateTime(timezone=True), "at"),
        *_columns(sa.Text(), "by", "why"),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_step_events_step_id"),
        sa.PrimaryKeyConstraint("id", name="pk_step_events"),
    )
    op.create_index("ix_step_events_step_id", "step_events", ["step_id"], unique=False)
