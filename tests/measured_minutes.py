"""What a monitoring system would show of a steady job: the same numbers in every minute, made by hand."""

from collections.abc import Mapping, Sequence

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.topology import Topology
from planner.replay.policy import MinuteMetrics, Seen


def measured_minutes(
    topology: Topology,
    minutes: int,
    records_in_per_s: Mapping[str, float],
    busy: Mapping[str, float],
    streams_per_s: Mapping[str, float],
    *,
    arrivals_per_s: Mapping[str, float] | None = None,
    suspended: Mapping[str, float] | None = None,
    backlog: Sequence[float] | None = None,
    down: Sequence[int] = (),
    start_s: float = 0.0,
) -> MinuteMetrics:
    """From start_s on. Arrivals are what sources take in unless told otherwise, nothing is held back, and nothing
    waits. backlog: of every source, at each minute's end. down: minutes in which the job is down.
    """

    def steady(values: Mapping[str, float], names: Sequence[str]) -> Floats:
        return np.tile([values.get(name, 0.0) for name in names], (minutes, 1))

    up_s = np.full(minutes, 60.0)
    up_s[list(down)] = 0.0
    waiting = np.zeros(minutes) if backlog is None else np.asarray(backlog, dtype=np.float64)
    shares = steady(busy, topology.order)
    return MinuteMetrics(
        topology,
        start_s + 60.0 * np.arange(minutes),
        up_s,
        steady(arrivals_per_s or records_in_per_s, topology.sources),
        steady(records_in_per_s, topology.sources),
        np.tile(waiting[:, None], (1, len(topology.sources))),
        steady(records_in_per_s, topology.order),
        shares,
        shares,
        steady(suspended or {}, topology.order),
        steady(streams_per_s, [stream.name for stream in topology.streams]),
    )


def seen_at_the_end(measured: MinuteMetrics, plan: Mapping[str, int], running_since_s: float = 0.0) -> Seen:
    """By a policy that is asked when the last minute is over."""
    return Seen(float(measured.start_s[-1]) + 60, plan, running_since_s, False, measured)
