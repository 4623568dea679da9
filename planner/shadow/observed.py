"""What ran, minute by minute, as far as observations show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np

from modeling.arrays import Flags, Floats
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Status
from planner.clusters.cluster_record import ClusterRecord
from planner.ledger.entries import Observation

MINUTE_S = 60
MAX_APART_S = 2 * 3600
"""A plan counts as running from one observation to the next if they are at most this far apart."""


@dataclass(frozen=True)
class Ran:
    """instances: NaN in minutes with an unknown running plan; lag_s: NaN where not measured; both of shape (minutes,).
    followed: whether the plan is known in a minute and the one before, same shape; rescales: changes between such
    minutes.
    """

    instances: Floats
    lag_s: Floats
    followed: Flags
    rescales: int


def ran(observations: Sequence[Observation], start_s: float, minutes: int) -> Ran:
    """The minutes from start_s on, from observations of them and some time around them, oldest first."""
    known: list[PhysicalPlan | None] = [None] * (minutes + 1)  # the first is the minute before
    lag_s = np.full(minutes + 1, np.nan)
    at = [math.ceil((each.observed_at.timestamp() - start_s) / MINUTE_S) for each in observations]
    for number, each in zip(at, observations, strict=True):
        if 0 <= number <= minutes:
            known[number] = each.plan
            if each.lag_s is not None:
                lag_s[number] = np.fmax(lag_s[number], each.lag_s)
    for (begin, first), (end, second) in pairwise(zip(at, observations, strict=True)):
        if (second.observed_at - first.observed_at).total_seconds() <= MAX_APART_S:
            for number in range(max(0, begin + 1), min(end, minutes + 1)):
                known[number] = first.plan
    changes = [a is not None and b is not None and not a.same_parallelism(b) for a, b in pairwise(known)]
    followed = np.array([a is not None and b is not None for a, b in pairwise(known)], dtype=np.bool_)
    instances = np.array([np.nan if plan is None else plan.instances for plan in known[1:]], dtype=np.float64)
    return Ran(instances, lag_s[1:], followed, sum(changes))


def observations_of(topology: str, record: ClusterRecord) -> list[Observation]:
    """A cluster's record as observations, one at the end of each minute."""
    found = []
    for row, minute in enumerate(record.minute):
        counts = {name: int(column[row]) for name, column in record.parallelism.items()}
        known = bool(record.known[row])
        found.append(
            Observation(
                topology,
                _moment(minute) + timedelta(seconds=MINUTE_S),
                PhysicalPlan(topology, counts),
                str(Status.RESCALING if record.down_s[row] > 0 else Status.RUNNING),
                {name: float(column[row]) for name, column in record.backlog.items()} if known else {},
                float(record.lag_s[row]) if known else None,
                "" if known else "the simulator has no arrivals for this minute",
            )
        )
    return found


def _moment(minute: np.datetime64) -> datetime:
    return datetime.fromtimestamp(int(minute.astype(int)), UTC)
