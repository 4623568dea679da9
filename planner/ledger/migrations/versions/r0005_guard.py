"""The guard: what it saw and did, and what it must not try again. Replaces a blacklist that was never written to."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def upgrade() -> None:
    op.drop_table("blacklist")
    op.create_table(
        "guard_looks",
        *_columns(sa.Text(), "topology"),
        *_columns(sa.DateTime(timezone=True), "at"),
        *_columns(sa.JSON(), "body"),
        sa.PrimaryKeyConstraint("topology", "at", name="pk_guard_looks"),
    )
    op.create_table(
        "guard_actions",
        *_columns(sa.Text(), "id", "topology"),
        *_columns(sa.DateTime(timezone=True), "decided_at"),
        *_columns(sa.Text(), "diagnosis", "action", "operator", "why"),
        *_columns(sa.Text(), "step_id", nullable=True),
        *_columns(sa.JSON(), "plan", "before", "expected"),
        *_columns(sa.Text(), "state"),
        *_columns(sa.DateTime(timezone=True), "judged_at", nullable=True),
        *_columns(sa.Text(), "verdict"),
        *_columns(sa.JSON(), "measured"),
        sa.CheckConstraint(
            "state IN ('open', 'effective', 'ineffective', 'moot', 'advised')", name=op.f("ck_guard_actions_state")
        ),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_guard_actions_step_id"),
        sa.PrimaryKeyConstraint("id", name="pk_guard_actions"),
    )
    op.create_index("ix_guard_actions_topology_decided_at", "guard_actions", ["topology", "decided_at"], unique=False)
    op.create_table(
        "guard_blacklist",
        *_columns(sa.Text(), "topology", "diagnosis", "action"),
        *_columns(sa.DateTime(timezone=True), "since"),
        *_columns(sa.Text(), "why"),
        *_columns(sa.DateTime(timezone=True), "lifted_at", nullable=True),
        *_columns(sa.Text(), "lifted_by"),
        sa.PrimaryKeyConstraint("topology", "diagnosis", "action", name="pk_guard_blacklist"),
    )
