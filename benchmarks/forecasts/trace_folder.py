"""Traces of a folder; those that cannot be read are reported."""

import sys
from collections.abc import Iterator
from pathlib import Path

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.trace_file import read_trace


def traces(folder: Path, names: set[str]) -> Iterator[ArrivalSeries]:
    """Traces with these names, all if there are none; a trace that cannot be read is reported and left out."""
    for path in sorted(folder.glob("*.csv")):
        if not names or path.stem in names:
            try:
                yield read_trace(path)
            except HistoryError as error:
                leave_out(error)


def leave_out(why: object) -> None:
    print(f"left out: {why}", file=sys.stderr, flush=True)
