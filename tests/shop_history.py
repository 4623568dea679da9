"""A shop of two sources, orders and clicks, with a history that tests write window by window."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from forecasting.arrivals.arrival_source import TALLIES
from forecasting.arrivals.rows import SCHEMA
from forecasting.arrivals.store import write_history

NAME = "shop"
MONDAY = datetime(2024, 3, 4, tzinfo=UTC)
HOUR_S = 3600
_STATUSES = {"~": "partial", "^": "throttled"}

Count = int | str | None
"""What a window counted: 3 observed, "~3" partial, "^3" throttled, None missing."""


def hour(number: float) -> datetime:
    """So many hours after Monday's midnight."""
    return MONDAY + timedelta(hours=number)


def write_shop(
    home: Path,
    counts: Mapping[str, Sequence[Count]],
    *,
    start: datetime = MONDAY,
    window_s: int = HOUR_S,
    measures: str = "offered",
    tallies: Mapping[str, int] | None = None,
    now: datetime | None = None,
) -> str:
    """Makes consecutive windows from start on the history; the id of the commit.

    tallies: of every window that is not missing; every event counts as a row that was read, and so does each of them.
    """
    each = dict.fromkeys(TALLIES, 0) | (dict(tallies) if tallies else {})
    rows = []
    for source, of_source in counts.items():
        for number, told in enumerate(of_source):
            count = None if told is None else int(str(told).lstrip("~^"))
            own = dict.fromkeys(TALLIES, 0) if count is None else each | {"rows_read": count + sum(each.values())}
            rows.append(
                {
                    "topology": NAME,
                    "source": source,
                    "window_start": start + timedelta(seconds=number * window_s),
                    "window_s": window_s,
                    "count": count,
                    "status": "missing" if told is None else _STATUSES.get(str(told)[0], "observed"),
                    "measures": measures,
                    **own,
                }
            )
    longest = max(len(of_source) for of_source in counts.values())
    end = start + timedelta(seconds=longest * window_s)
    return write_history(
        pa.Table.from_pylist(rows, schema=SCHEMA), home / "history", NAME, start, end, now=now or datetime.now(UTC)
    )


def shop_file(folder: Path, arrivals: Mapping[str, Any]) -> Path:
    """A topology file with this section `arrivals`. Its sources are orders and clicks."""
    operators = ("orders", "clicks", "join")
    body = {
        "topology": NAME,
        "operators": {name: {"service_s": 0.01} for name in operators},
        "streams": [{"from": "orders", "to": "join"}, {"from": "clicks", "to": "join"}],
        "arrivals": dict(arrivals),
        "cluster": {"kind": "simulator", "truth": "truth", "parallelism": dict.fromkeys(operators, 1)},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(body, sort_keys=False))
    return path
