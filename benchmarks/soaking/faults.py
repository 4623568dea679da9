"""The faults of a soak and their times: every kind in turn, each for an hour or two, then a fault-free hour or two."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from bench import Bench, Poison
from world import Interference

EVERY_H = 3
ROUND_H = 6
FIRST_H = 1
BALLOON = "balloon"
LEFT_KIB = (0, 200, 2000, 6000)
"""Free space of the full disk, by turns, so that jobs fail at different points."""
JUMPS = (timedelta(minutes=90), timedelta(minutes=-30))
"""Of all clocks. Jumps ahead are shorter than the gap between faults, or the next fault would be skipped."""
DAYS_OFF = (timedelta(days=3), timedelta(days=-3))
"""Of the machine's clock alone, while each job runs once; then it is right again."""


class Kind(StrEnum):
    METRICS = "metrics gone"
    MLFLOW = "MLflow gone"
    CLUSTER = "cluster gone"
    KILLED = "scheduler killed"
    FULL = "disk full"
    JUMP = "clock jump"
    DAYS_OFF = "clock days off"
    SLOW = "slow servers"
    POISON = "poisoned series"
    PLANNERS = "two planners"


NO_DECISION = frozenset({Kind.CLUSTER, Kind.FULL})
"""During these faults what runs is unknown, or a decision cannot be written down."""
NO_DEPLOYMENT = frozenset({Kind.CLUSTER, Kind.FULL, Kind.JUMP})
"""During these faults a step may be missed."""


@dataclass(frozen=True)
class Fault:
    """hour: of its beginning, since the start of the run. turn: how often its kind has come before."""

    kind: Kind
    hour: int
    hours: int
    turn: int

    def lasts(self, hour: int) -> bool:
        return self.hour <= hour < self.hour + self.hours


def calendar(days: int) -> tuple[Fault, ...]:
    """Every kind once a round of 30 hours, at another place each time, as the order moves on by one."""
    kinds, found = list(Kind), []
    slots = range(FIRST_H, 24 * days - 1, EVERY_H)
    for number, hour in enumerate(slots):
        turn, place = divmod(number, len(kinds))
        found.append(Fault(kinds[(place + turn) % len(kinds)], hour, 1 if turn % 2 == 0 else 2, turn))
    return tuple(found)


def due(hour: int, topologies: Sequence[str]) -> tuple[str, ...]:
    """A sixth of the topologies, which decide in this hour: each once in ROUND_H hours, an hour later each round, so
    that another sixth meets each fault in its first hour.
    """
    turn, of_round = divmod(hour, ROUND_H)
    return tuple(topologies[(of_round - turn) % ROUND_H :: ROUND_H])


def poison(faults: tuple[Fault, ...], topologies: tuple[str, ...]) -> tuple[Poison, ...]:
    """Poison every third topology, others each time. The metrics of an hour are read at its end."""
    return tuple(
        Poison(topology, hour - 1)
        for fault in faults
        if fault.kind is Kind.POISON
        for hour in range(fault.hour, fault.hour + fault.hours)
        for topology in topologies[fault.turn % 3 :: 3]
    )


@contextmanager
def injected(fault: Fault, bench: Bench) -> Iterator[None]:
    """Inject a fault that lasts for all of its hours. The caller triggers faults that happen once."""
    undo = _BEGUN.get(fault.kind, lambda *_: None)(bench, fault)
    try:
        yield
    finally:
        if undo is not None:
            undo()


def _metrics_gone(bench: Bench, fault: Fault) -> Callable[[], None] | None:
    """By turns Prometheus is down, or accepts connections without answering."""
    if fault.turn % 2:
        bench.prometheus.hang()
        return bench.prometheus.go_on
    bench.prometheus.stop()
    return bench.prometheus.start


def _servers_slow(bench: Bench, fault: Fault) -> Callable[[], None]:
    """By turns Prometheus and MLflow send a byte a second."""
    if fault.turn % 2:
        interference = Interference(bench.settings.home)
        interference.mlflow_uri.write_text(bench.prometheus.slow_url)
        return interference.end
    bench.prometheus.slow_down()
    return bench.prometheus.hasten


def _mlflow_gone(bench: Bench, _: Fault) -> Callable[[], None] | None:
    """MLflow's database is missing and cannot be created."""
    return _taken_away(bench.disk / "mlruns")


def _cluster_gone(bench: Bench, _: Fault) -> Callable[[], None] | None:
    """The simulator of every topology cannot be reached."""
    return _taken_away(bench.settings.home / "simulator")


def _taken_away(folder: Path) -> Callable[[], None] | None:
    if not folder.exists():
        return None
    folder.rename(_away(folder))
    folder.write_text("not a folder")
    return lambda: _given_back(folder)


def _given_back(folder: Path) -> None:
    if _away(folder).exists():
        folder.unlink()
        _away(folder).rename(folder)


def _away(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.away")


def _disk_full(bench: Bench, fault: Fault) -> Callable[[], None] | None:
    """Fill the disk with a file. Without a disk of its own nothing is done, or the machine's disk would be filled."""
    if not bench.limited:
        return None
    balloon, left = bench.disk / BALLOON, LEFT_KIB[fault.turn % len(LEFT_KIB)] << 10
    with balloon.open("wb", buffering=0) as out:
        room = shutil.disk_usage(bench.disk).free
        os.posix_fallocate(out.fileno(), 0, max(1, room - (8 << 20)))  # without writing all of it
        out.seek(0, os.SEEK_END)
        block = b"\0" * (1 << 20)
        while block:
            try:
                out.write(block)
            except OSError:
                block = block[: len(block) // 2]
        out.truncate(max(0, out.tell() - left))
    return balloon.unlink


_BEGUN = {
    Kind.METRICS: _metrics_gone,
    Kind.MLFLOW: _mlflow_gone,
    Kind.CLUSTER: _cluster_gone,
    Kind.FULL: _disk_full,
    Kind.SLOW: _servers_slow,
}


def mended(bench: Bench) -> None:
    """Undo the faults that a killed run has left."""
    for folder in (bench.disk / "mlruns", bench.settings.home / "simulator"):
        _given_back(folder)
    (bench.disk / BALLOON).unlink(missing_ok=True)
    Interference(bench.settings.home).end()
    bench.prometheus.hasten()


def ledger_checked(bench: Bench) -> str:
    """The ledger's faults by SQLite's own check; empty if it is whole."""
    with sqlite3.connect(bench.disk / "ledger" / "ledger.db") as connection:
        told = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return "" if told == "ok" else str(told)
