"""Writers of arrival history in processes of their own, with AWS's settings from the environment.

`s3_writers.py many PREFIX FIRST_DAY COUNT COMMITS KEEP_S`: replaces four days from that one on, again and again, each
time with the next count. `s3_writers.py hours PREFIX FIRST_HOUR EVERY COUNT COMMITS`: writes one hour a commit, every
so many hours. `s3_writers.py killed PREFIX OLD_DAYS EVERY COUNT`: for each EVERYth request, a process that writes
four days below PREFIX/REQUEST, killed (SIGKILL) just before that request to the store, until one lives; before it,
another writes OLD_DAYS of 1 there. Prints each one's exit code. `s3_writers.py forked PREFIX`: reads before a fork,
then at once in parent and child; prints whether each has read all.
"""

import itertools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd  # noqa: F401 - pyarrow would import it at its first conversion
from s3_server import BUCKET

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.storage import s3_client
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.store import read_history, write_history

START = datetime(2003, 3, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)


def write_hours(directory: S3Directory, first: int, hours: int, count: int, **options: Any) -> None:
    start = START + first * HOUR
    alive = np.array([[0, 2**62]])
    rows = history_rows("calls", "ingest", np.full(hours, count), alive, start=start, window_s=3600)
    write_history(rows, directory, "calls", start, start + hours * HOUR, **options)


def many(directory: S3Directory, first_day: int, count: int, commits: int, keep_s: int) -> None:
    for number in range(commits):
        write_hours(directory, 24 * first_day, 96, count + number, keep_s=keep_s)


def hours(directory: S3Directory, first_hour: int, every: int, count: int, commits: int) -> None:
    for number in range(commits):
        write_hours(directory, first_hour + every * number, 1, count)


def killed(directory: S3Directory, old_days: int, every: int, count: int) -> None:
    """Forked, as each would import all of it."""
    for request in itertools.count(0, every):
        each = S3Directory(directory.bucket, f"{directory.prefix}/{request}")
        if old_days and _code_of(lambda to=each: write_hours(to, 0, 24 * old_days, 1)):
            sys.exit(f"{each} cannot be written to")
        code = _code_of(lambda to=each, last=request: _write_killed(to, last, count))
        print(code, flush=True)
        if code != -signal.SIGKILL:
            break


def _write_killed(directory: S3Directory, request: int, count: int) -> None:
    made = itertools.count()

    def die_in_time(**_: object) -> None:
        if next(made) == request:
            os.kill(os.getpid(), signal.SIGKILL)

    s3_client._connection(os.getpid()).client.meta.events.register("before-send.s3", die_in_time)
    write_hours(directory, 12, 96, count, keep_s=0)


def _code_of(work: Callable[[], None]) -> int:
    """The exit code of a process that does it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        os._exit(code)


def forked(directory: S3Directory) -> None:
    """Both ask for the same connection's answers, were it one connection."""
    read_history(directory, "calls")
    child = os.fork()
    seen = {tuple(read_history(directory, "calls").series["ingest"].counts) for _ in range(20)}
    who = "parent" if child else "child"
    print(f"{who} {seen == {(1.0,) * 48}}", flush=True)
    if child:
        os.waitpid(child, 0)


if __name__ == "__main__":
    {"many": many, "hours": hours, "killed": killed, "forked": forked}[sys.argv[1]](
        S3Directory(BUCKET, sys.argv[2]), *map(int, sys.argv[3:])
    )
