"""Paths of forecasts and reports relative to the home, which may be moved."""

from pathlib import PurePosixPath

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # 0.1 and 0.2 wrote HOME/forecasts/TOPOLOGY/NAME and HOME/reports/TOPOLOGY/NAME.
    for table, column, folder in (("forecasts", "folder", "forecasts"), ("schedules", "report", "reports")):
        rows = sa.table(table, sa.column("id"), sa.column(column))
        connection = op.get_bind()
        for row in connection.execute(sa.select(rows.c.id, rows.c[column])).all():
            relative = _below_home(row[1], folder)
            if relative is not None:
                connection.execute(sa.update(rows).where(rows.c.id == row[0]).values({column: relative}))


def _below_home(path: object, folder: str) -> str | None:
    """None for any other path, which stays as it is."""
    if not isinstance(path, str):
        return None
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(*parts[-3:])) if len(parts) > 3 and parts[-3] == folder else None
