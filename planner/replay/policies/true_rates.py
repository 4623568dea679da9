"""The model of DS2 (Kalavri et al., OSDI 2018): true rates of operators, and target rates along streams.

What an operator could process while it does nothing else is its true rate; what it must process follows from the
sources. Both are measured in the running job, so policies that use them need no profile.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from modeling.inputs.topology import Topology
from planner.replay.policy import Measured

MINUTE_S = 60.0


def whole_minutes(measured: Measured, since_s: float) -> Measured:
    """The newest minutes without a gap in which the job ran wholly, from since_s (epoch seconds) on."""
    first = int(np.searchsorted(measured.start_s, since_s))
    broken = np.flatnonzero(measured.up_s[first:] < MINUTE_S)
    return measured.taken(slice(first + (int(broken[-1]) + 1 if broken.size else 0), None))


def records_in_per_s(minutes: Measured) -> dict[str, float]:
    """Mean over the minutes, by operator; into a source goes what it took in."""
    topology = minutes.topology
    means = dict(zip(topology.order, minutes.records_in_per_s.mean(axis=0).tolist(), strict=True))
    return means | dict(zip(topology.sources, minutes.taken_per_s.mean(axis=0).tolist(), strict=True))


def output_ratios(minutes: Measured) -> dict[tuple[str, str], float]:
    """Tuples out for each tuple in, by upstream and downstream operator; 0 where nothing came in.

    Streams between the same two operators are summed. A copy that an ALL grouping makes is not counted.
    """
    records_in = records_in_per_s(minutes)
    ratios = dict.fromkeys(minutes.topology.graph.edges, 0.0)
    for stream, given_out in zip(minutes.topology.streams, minutes.streams_per_s.mean(axis=0).tolist(), strict=True):
        if records_in[stream.upstream] > 0:
            ratios[stream.upstream, stream.downstream] += given_out / records_in[stream.upstream]
    return ratios


def target_rates_per_s(
    topology: Topology,
    sources_per_s: Mapping[str, float],
    ratios: Mapping[tuple[str, str], float],
    rounded: Callable[[float], float] = float,
) -> dict[str, float]:
    """Tuples a second that each operator must process so that the sources keep up, by operator."""
    rates = {name: rounded(rate_per_s) for name, rate_per_s in sources_per_s.items()}
    for name in topology.order:
        if name not in rates:
            above = topology.graph.predecessors(name)
            rates[name] = rounded(sum(rates[each] * ratios[each, name] for each in above))
    return rates


def true_rate_per_s(processed_per_s: float, busy: float) -> float:
    """What all instances together could process, busy being their mean share; infinite where nothing tells."""
    return processed_per_s / busy if processed_per_s > 0 and busy > 0 else math.inf
