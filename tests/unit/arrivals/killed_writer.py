"""A writer of arrival history that is killed (SIGKILL) at each of its dealings with the file system in turn.

Run as a program: `killed_writer.py BEFORE AFTERMATHS`. For n = 0, 1, 2 … it copies the folder BEFORE to AFTERMATHS/n
and lets a child write into the copy, which kills itself just before its n-th dealing; the last child lives to finish.
"""

import os
import shutil
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: F401 - pyarrow would import it at its first conversion, a second in every child

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history

START = datetime(2003, 3, 3, 12, tzinfo=UTC)
END = START + timedelta(days=2)
"""The interval that is written touches three dates, and covers only the middle one wholly."""


def write_interval(directory: Path, count: int = 2) -> None:
    alive = np.array([[0, 2**62]])
    rows = history_rows("calls", "ingest", np.full(48, count), alive, start=START, window_s=3600)
    # Nothing is kept, so that sweeping is among the dealings.
    write_history(rows, directory, "calls", START, END, keep_s=0)


def _write_and_die(directory: Path, dealing: int) -> None:
    left = dealing

    def die_in_time(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event in {"open", "os.mkdir", "os.rename", "os.remove"} and str(args[0]).startswith(str(directory)):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(die_in_time)
    write_interval(directory)


def main(before: Path, aftermaths: Path) -> None:
    dealing, status = 0, -1
    while status != 0:
        shutil.copytree(before, aftermaths / str(dealing))
        if (child := os.fork()) == 0:
            _write_and_die(aftermaths / str(dealing), dealing)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in (0, -signal.SIGKILL):
            raise SystemExit(f"writer {dealing} ended with {status}")
        dealing += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
