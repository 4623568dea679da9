"""Traces of a folder, and what is said of those that cannot be read."""

import sys
from collections.abc import Iterator
from pathlib import Path

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.trace_file import read_trace


def traces(folder: Path, names: set[str]) -> Iterator[ArrivalSeries]:
    """Those of these names, all where there are none; what cannot be read is told and left out."""
    for path in sorted(folder.glob("*.csv")):
        if not names or path.stem in names:
            try:
                yield read_trace(path)
            except HistoryError as error:
                leave_out(error)


def leave_out(why: object) -> None:
    print(f"left out: {why}", file=sys.stderr, flush=True)
