"""Inputs of the DS2 model (planner/true_rates.py) from a replay: whole minutes, rates and output ratios."""

import numpy as np

from modeling.arrays import Floats
from planner.replay.policy import MinuteMetrics

MINUTE_S = 60.0


def whole_minutes(measured: MinuteMetrics, since_s: float) -> MinuteMetrics:
    """The newest uninterrupted minutes in which the job ran throughout, from since_s (epoch seconds) on."""
    first = int(np.searchsorted(measured.start_s, since_s))
    broken = np.flatnonzero(measured.up_s[first:] < MINUTE_S)
    return measured.taken(slice(first + (int(broken[-1]) + 1 if broken.size else 0), None))


def means(columns: Floats) -> list[float]:
    """Mean of each column over the minutes; as numpy's mean, without its argument checks."""
    found: list[float] = (np.add.reduce(columns, axis=0) / len(columns)).tolist()
    return found


def records_in_per_s(minutes: MinuteMetrics) -> dict[str, float]:
    """Mean over the minutes, by operator; for a source, what it took in."""
    topology = minutes.topology
    into = dict(zip(topology.order, means(minutes.records_in_per_s), strict=True))
    return into | dict(zip(topology.sources, means(minutes.taken_per_s), strict=True))


def output_ratios(minutes: MinuteMetrics) -> dict[tuple[str, str], float]:
    """Tuples out per tuple in, by upstream and downstream operator; 0 without input.

    Streams between the same two operators are summed. Copies made by an ALL grouping are not counted.
    """
    records_in = records_in_per_s(minutes)
    ratios = dict.fromkeys(minutes.topology.edges, 0.0)
    for stream, given_out in zip(minutes.topology.streams, means(minutes.streams_per_s), strict=True):
        if records_in[stream.upstream] > 0:
            ratios[stream.upstream, stream.downstream] += given_out / records_in[stream.upstream]
    return ratios
