"""Facts that were texts: who made a step, withheld and undoing as states, why a step moved, how it was approved."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_STATES = (
    "state IN ('proposed', 'approved', 'due', 'withheld', 'deploying', 'undoing', 'verified', 'rolled back', "
    "'vetoed', 'expired', 'superseded', 'shadow')"
)
# Texts of 0.1 and 0.2.
_WITHHELD, _UNDOING = "withheld: ", "being undone: "
_NEVER_ASKED = "cut short before the cluster took it"
_ASKED, _FOLLOWS = "; asked because ", "; follows on "
_INHERITED, _BOUNDS = "earlier approval", "auto_approve"


def upgrade() -> None:
    op.alter_column("schedules", "derived_from", new_column_name="basis")
    op.add_column("schedules", sa.Column("replaced_by", sa.Text(), nullable=True))
    for table, name in (("step_events", "approval"), ("steps", "moved"), ("steps", "asked_because")):
        op.add_column(table, sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("steps", sa.Column("never_asked", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("steps", sa.Column("made_by", sa.Text(), nullable=False, server_default="schedule"))
    if op.get_bind().dialect.name == "sqlite":
        _make_steps_anew()
    else:
        op.alter_column("steps", "made_by", server_default=None)
        op.drop_constraint(op.f("ck_steps_state"), "steps", type_="check")
        op.create_check_constraint(op.f("ck_steps_state"), "steps", _STATES)
    _convert_steps()
    _convert_events()


def _make_steps_anew() -> None:
    """SQLite cannot change a constraint, so copy the table. Foreign keys to it are checked at the end only."""
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TABLE steps_before AS SELECT * FROM steps")
    op.drop_table("steps")
    moments = sa.DateTime(timezone=True)
    op.create_table(
        "steps",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("topology", sa.Text(), nullable=False),
        *(sa.Column(name, moments, nullable=False) for name in ("deploy_at", "expires_at")),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("plan", "replaces")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("state", "reason")),
        sa.Column("updated_at", moments, nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("moved", sa.Text(), nullable=False, server_default=sa.text("''")),
        sa.Column("asked_because", sa.Text(), nullable=False, server_default=sa.text("''")),
        sa.Column("never_asked", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.CheckConstraint(_STATES, name=op.f("ck_steps_state")),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name="fk_steps_schedule_id"),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
    )
    op.execute("INSERT INTO steps SELECT * FROM steps_before")
    op.drop_table("steps_before")
    op.create_index("ix_steps_schedule_id", "steps", ["schedule_id"], unique=False)
    op.create_index("ix_steps_topology_state_deploy_at", "steps", ["topology", "state", "deploy_at"], unique=False)


def _convert_steps() -> None:
    columns = ("id", "schedule_id", "state", "reason", "made_by", "moved", "asked_because", "never_asked")
    steps = sa.table("steps", *(sa.column(name) for name in columns))
    connection = op.get_bind()
    for row in connection.execute(sa.select(steps.c.id, steps.c.schedule_id, steps.c.state, steps.c.reason)).all():
        changes: dict[str, object] = {}
        if row.schedule_id is None:
            changes["made_by"] = "guard" if str(row.id).startswith("guard-") else "person"
        if isinstance(row.reason, str):
            changes |= _facts_of(row.state, row.reason)
        if changes:
            connection.execute(sa.update(steps).where(steps.c.id == row.id).values(**changes))


def _facts_of(state: str, text: str) -> dict[str, object]:
    """What a step's reason held beside the reason."""
    reason, _, asked = text.partition(_ASKED)
    reason, _, follows = reason.partition(_FOLLOWS)
    facts: dict[str, object] = {}
    if asked:
        facts["asked_because"] = asked
    if follows:
        facts["moved"] = "by guard" if "which the guard has put in place" in follows else "past withheld"
    if state == "due" and reason.startswith(_WITHHELD):
        facts["state"], reason = "withheld", reason.removeprefix(_WITHHELD)
    if state == "deploying" and reason.startswith(_UNDOING):
        facts["state"], reason = "undoing", reason.removeprefix(_UNDOING)
    if state == "rolled back" and reason.startswith(_NEVER_ASKED):
        facts["never_asked"] = True
    return facts | ({"reason": reason} if reason != text else {})


def _convert_events() -> None:
    """The states of a step one after the other, and how it was approved."""
    columns = ("id", "step_id", "from_state", "to_state", "by", "why", "approval")
    events = sa.table("step_events", *(sa.column(name) for name in columns))
    own_steps = sa.table("steps", sa.column("id"), sa.column("made_by"))
    connection = op.get_bind()
    made_by = {row.id: row.made_by for row in connection.execute(sa.select(own_steps)).all()}
    now: dict[str, str] = {}
    for row in connection.execute(sa.select(events).order_by(events.c.step_id, events.c.id)).all():
        why = row.why if isinstance(row.why, str) else ""
        to, changes = row.to_state, dict[str, object]()
        if to == "due" and why.startswith(_WITHHELD):
            to = "withheld"
        elif to == "deploying" and why.startswith(_UNDOING):
            to = "undoing"
        elif to == row.from_state and to in ("due", "deploying"):
            to = now.get(row.step_id, to)  # a remark, which leaves the state as it is
        before = now.get(row.step_id, row.from_state) if row.from_state is not None else None
        if (before, to) != (row.from_state, row.to_state):
            changes = {"from_state": before, "to_state": to}
        if to == "approved" and row.from_state != "approved" and made_by.get(row.step_id) != "guard":
            changes["approval"] = {_INHERITED: "inherited", _BOUNDS: "bounds"}.get(row.by, "person")
        if changes:
            connection.execute(sa.update(events).where(events.c.id == row.id).values(**changes))
        now[row.step_id] = to
