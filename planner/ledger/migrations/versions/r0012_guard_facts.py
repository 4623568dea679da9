"""Why the guard acted, judged and barred, as facts. Sentences of 0.1 and 0.2 stay sentences, as what they are."""

import re
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_BARRED = re.compile(r"(\d+) times in a row without effect, at last: (.*)", re.DOTALL)
"""How 0.2 wrote why a pair is barred."""

_ACTION_KEY, _PAIR_KEY = ("id",), ("topology", "diagnosis", "action")


def upgrade() -> None:
    for table, name in (("guard_actions", "reason"), ("guard_actions", "judgement"), ("guard_blacklist", "last")):
        op.add_column(table, sa.Column(name, sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
    op.add_column("guard_blacklist", sa.Column("failures", sa.Integer(), nullable=False, server_default=sa.text("0")))
    _convert("guard_actions", _ACTION_KEY, ("why", "verdict"), _action)
    _convert("guard_blacklist", _PAIR_KEY, ("why",), _pair)
    for table, name in (("guard_actions", "why"), ("guard_actions", "verdict"), ("guard_blacklist", "why")):
        op.drop_column(table, name)


def _convert(name: str, key: tuple[str, ...], texts: tuple[str, ...], facts_of: Callable[..., dict[str, Any]]) -> None:
    columns: list[sa.ColumnClause[Any]] = [sa.column(each) for each in (*key, *texts)]
    facts = [sa.column(each, sa.JSON()) for each in ("reason", "judgement", "last")]
    table = sa.table(name, *columns, *facts, sa.column("failures", sa.Integer()))
    connection = op.get_bind()
    for row in connection.execute(sa.select(*columns)).all():
        this = [table.c[each] == getattr(row, each) for each in key]
        values = facts_of(*(getattr(row, each) for each in texts))
        connection.execute(sa.update(table).where(*this).values(**values))


def _action(why: object, verdict: object) -> dict[str, Any]:
    return {"reason": _worded(why), "judgement": _worded(verdict) if verdict else {}}


def _pair(why: object) -> dict[str, Any]:
    parts = _BARRED.fullmatch(str(why))
    if parts is None:
        return {"failures": 0, "last": _worded(why)}
    return {"failures": int(parts[1]), "last": _worded(parts[2])}


def _worded(sentence: object) -> dict[str, Any]:
    """A reason of kind `worded`."""
    return {"schema_version": 1, "kind": "worded", "detail": str(sentence)}
