"""Writers of batch-wise commits that are killed (SIGKILL) at random, one after the other on the same history.

Run as a program: `killed_batch_writer.py BEFORE AFTERMATHS SEED`. Writer n = 1 … 10 finds what writer n - 1 left (the
first: the folder BEFORE), in a copy AFTERMATHS/n, and replaces four days by batches of a day, all of the count 100 + n.
Odd ones die before a random one of their dealings with the file system, even ones at a random time. Those that finish
first are counted in AFTERMATHS/finished.
"""

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: F401 - pyarrow would import it at its first conversion, a second in every child
import pyarrow as pa

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history

START = datetime(2003, 3, 3, 12, tzinfo=UTC)
DAYS = 4
WRITERS = 10
DEALINGS = {"open", "os.mkdir", "os.rename", "os.remove", "os.truncate"}


def batches(start: datetime, days: int, count: int) -> Iterator[pa.Table]:
    """Days from start on, cut at midnight."""
    alive = np.array([[0, 2**62]])
    end, at = start + timedelta(days=days), start
    while at < end:
        midnight = min(end, at.replace(hour=0) + timedelta(days=1))
        hours = (midnight - at) // timedelta(hours=1)
        yield history_rows("calls", "ingest", np.full(hours, count), alive, start=at, window_s=3600)
        at = midnight


def write(directory: Path, count: int, keep_s: float) -> None:
    write_history(batches(START, DAYS, count), directory, "calls", START, START + timedelta(days=DAYS), keep_s=keep_s)


def _dealings(directory: Path, die_before: int | None) -> list[str]:
    """Note the dealings below the directory from here on, and die before the one of this number."""
    noted: list[str] = []

    def note(event: str, args: tuple[object, ...]) -> None:
        if event in DEALINGS and str(args[0]).startswith(str(directory)):
            if len(noted) == die_before:
                os.kill(os.getpid(), signal.SIGKILL)
            noted.append(event)

    sys.addaudithook(note)
    return noted


def _forked(directory: Path, count: int, keep_s: float, die_before: int | None, report: int | None = None) -> int:
    if (child := os.fork()) == 0:
        noted = _dealings(directory, die_before)
        write(directory, count, keep_s)
        if report is not None:
            os.write(report, f"{len(noted)}".encode())
        os._exit(0)
    return child


def _status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(before: Path, aftermaths: Path, seed: int) -> None:
    rng = random.Random(seed)
    aftermaths.mkdir()
    # How much one of them does, and how long it takes, unharmed.
    trial = shutil.copytree(before, aftermaths / "trial")
    reading, writing = os.pipe()
    began = time.perf_counter()
    if _status(_forked(trial, 100, 0, None, writing)) != 0:
        raise SystemExit("a writer that nobody kills failed")
    took_s, dealings = time.perf_counter() - began, int(os.read(reading, 20))
    shutil.rmtree(trial)
    left, finished = before, 0
    for number in range(1, WRITERS + 1):
        left = shutil.copytree(left, aftermaths / str(number))
        keep_s = rng.choice([0.0, 86_400.0])
        among_dealings = number % 2 == 1
        child = _forked(left, 100 + number, keep_s, rng.randrange(dealings) if among_dealings else None)
        if not among_dealings:
            time.sleep(rng.uniform(0, took_s))
            os.kill(child, signal.SIGKILL)
        status = _status(child)
        if status not in (0, -signal.SIGKILL):
            raise SystemExit(f"writer {number} ended with {status}")
        finished += status == 0
    (aftermaths / "finished").write_text(str(finished))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
