"""What a race has shown: lags from the events' own times, whether each counts once, and the scores of a replay."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forescale.local.demo.modeled_job import item_logs
from modeling.arrays import Floats, Ints
from modeling.inputs.topology import Topology
from planner.replay.load import MINUTE_S
from planner.replay.run import Replayed, Taken

SAMPLES_A_SECOND = 10


@dataclass(frozen=True)
class Totals:
    """sent: events; counted, lost, doubled: by the job's state, and by the log of what was done."""

    sent: int
    counted: int
    lost: int
    doubled: int


@dataclass(frozen=True)
class Raced:
    """One policy on the engine. minutes: as a replay has them, times in the trace's. second_lag_s: the oldest waiting
    event's age at each second of the race, in seconds of the race. core_hours: of quotas, cpu_core_hours: of processor
    time used, both in hours of the race. decided_s: processor time of the deciding process.
    """

    minutes: Replayed
    second_lag_s: Floats
    slot_hours: float
    core_hours: float
    cpu_core_hours: float
    decided_s: float
    totals: Totals


def done_us(folder: Path, due_us: Ints) -> Ints:
    """When each event was done for the last time, in microseconds since the epoch; 0 for one that never was."""
    logs = [np.zeros(0, dtype=[("due_us", ">i8"), ("latency_us", ">i4")]), *item_logs(folder)]
    logged = np.concatenate(logs)
    due = logged["due_us"].astype(np.int64)
    at, known = np.searchsorted(due_us, due), np.isin(due, due_us)
    done = np.zeros(due_us.size, dtype=np.int64)
    np.maximum.at(done, at[known], due[known] + logged["latency_us"][known].astype(np.int64))
    return done


def lags_s(due_us: Ints, finished_us: Ints, at_s: Floats) -> Floats:
    """Age of the oldest event that is due and not done, at each moment; 0 without one. due_us ascends.

    >>> due, done = np.array([0, 1_000_000, 2_000_000]), np.array([500_000, 4_000_000, 3_000_000])
    >>> lags_s(due, done, np.array([0.25, 0.75, 3.5, 4.5])).tolist()
    [0.25, 0.0, 2.5, 0.0]
    """
    # Of the events up to each one the latest end: the first above a moment is that of the oldest that waits then.
    latest = np.maximum.accumulate(np.where(finished_us > 0, finished_us, np.iinfo(np.int64).max))
    at_us = at_s * 1e6
    first = np.searchsorted(latest, at_us, side="right")
    oldest = np.append(due_us, np.iinfo(np.int64).max)[first].astype(np.float64)
    return np.maximum(0.0, at_us - oldest) / 1e6


def totals(due_us: Ints, finished_us: Ints, sums: Sequence[int]) -> Totals:
    """sums: of the job's state: events, their numbers, and squares.

    >>> due = np.array([1, 2, 3, 4])
    >>> totals(due, due + 1, (4, 6, 14))
    Totals(sent=4, counted=4, lost=0, doubled=0)
    >>> totals(due, due + 1, (5, 8, 18))  # number 2 twice
    Totals(sent=4, counted=5, lost=0, doubled=1)
    >>> totals(due, np.array([2, 3, 0, 5]), (3, 4, 10))
    Totals(sent=4, counted=3, lost=1, doubled=0)
    >>> totals(due, due + 1, (4, 5, 13)) # one of another's number
    Totals(sent=4, counted=4, lost=1, doubled=1)
    """
    sent = int(due_us.size)
    numbers = np.arange(sent)
    counted = sums[0]
    lost = max(int(np.count_nonzero(finished_us == 0)), sent - counted)
    doubled = max(0, counted - sent + (0 if counted <= sent else lost))
    if counted == sent and tuple(sums[1:]) != (int(numbers.sum()), int((numbers**2).sum())):
        lost, doubled = max(1, lost), max(1, doubled)
    return Totals(sent, counted, lost, doubled)


def minute_lags_s(due_us: Ints, finished_us: Ints, began_s: float, minutes: int, speed: float) -> Floats:
    """The longest wait in each minute of the trace, in seconds of the trace."""
    each = max(1, round(SAMPLES_A_SECOND * MINUTE_S / speed))
    at_s = began_s + (np.arange(minutes * each) + 1) * MINUTE_S / speed / each
    return speed * lags_s(due_us, finished_us, at_s).reshape(minutes, each).max(axis=1)


def written(raced: Raced, path: Path) -> None:
    """Keep it in a file, whole or not at all."""
    minutes = raced.minutes
    body = {
        "policy": minutes.policy,
        "columns": {
            name: getattr(minutes, name).tolist()
            for name in (
                "start_s",
                "arrivals_per_s",
                "capacity_per_s",
                "parallelism",
                "backlog",
                "lag_s",
                "down_s",
                "utilisation",
            )
        },
        "decisions": [[each.decided_s, each.in_effect_s, dict(each.plan), each.why] for each in minutes.decisions],
        "second_lag_s": raced.second_lag_s.tolist(),
        "slot_hours": raced.slot_hours,
        "core_hours": raced.core_hours,
        "cpu_core_hours": raced.cpu_core_hours,
        "decided_s": raced.decided_s,
        "totals": vars(raced.totals),
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(body), encoding="utf-8")
    part.replace(path)


def kept(path: Path, topology: Topology) -> Raced:
    body = json.loads(path.read_text(encoding="utf-8"))
    columns: Mapping[str, np.ndarray] = {name: np.array(each) for name, each in body["columns"].items()}
    decisions = tuple(Taken(*each) for each in body["decisions"])
    return Raced(
        Replayed(body["policy"], 0, topology, decisions=decisions, **columns),
        np.array(body["second_lag_s"]),
        body["slot_hours"],
        body["core_hours"],
        body["cpu_core_hours"],
        body["decided_s"],
        Totals(**body["totals"]),
    )
