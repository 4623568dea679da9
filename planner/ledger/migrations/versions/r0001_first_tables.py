"""The first tables: forecasts, schedules, steps and their events, outcomes, the blacklist."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blacklist",
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("topology", "action", name="pk_blacklist"),
    )
    op.create_table(
        "forecasts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("horizon_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("history_digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_forecasts"),
    )
    op.create_index("ix_forecasts_topology_issued_at", "forecasts", ["topology", "issued_at"], unique=False)
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("start_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("quantile", sa.Double(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("current_plan", sa.JSON(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("derived_from", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
    )
    op.create_index("ix_schedules_topology_made_at", "schedules", ["topology", "made_at"], unique=False)
    op.create_table(
        "schedule_forecasts",
        sa.Column("schedule_id", sa.Text(), nullable=False),
        sa.Column("forecast_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["forecast_id"], ["forecasts.id"], name="fk_schedule_forecasts_forecast_id"),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name="fk_schedule_forecasts_schedule_id"),
        sa.PrimaryKeyConstraint("schedule_id", "forecast_id", name="pk_schedule_forecasts"),
    )
    op.create_table(
        "steps",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        sa.Column("deploy_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("replaces", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
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
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("downtime_s", sa.Double(), nullable=True),
        sa.Column("predicted", sa.JSON(), nullable=False),
        sa.Column("measured", sa.JSON(), nullable=False),
        sa.Column("violation_minutes", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_outcomes_step_id"),
        sa.PrimaryKeyConstraint("step_id", name="pk_outcomes"),
    )
    op.create_table(
        "step_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=True),
        sa.Column("to_state", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_step_events_step_id"),
        sa.PrimaryKeyConstraint("id", name="pk_step_events"),
    )
    op.create_index("ix_step_events_step_id", "step_events", ["step_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_step_events_step_id", table_name="step_events")
    op.drop_table("step_events")
    op.drop_table("outcomes")
    op.drop_index("ix_steps_topology_state_deploy_at", table_name="steps")
    op.drop_index("ix_steps_schedule_id", table_name="steps")
    op.drop_table("steps")
    op.drop_table("schedule_forecasts")
    op.drop_index("ix_schedules_topology_made_at", table_name="schedules")
    op.drop_table("schedules")
    op.drop_index("ix_forecasts_topology_issued_at", table_name="forecasts")
    op.drop_table("forecasts")
    op.drop_table("blacklist")
