"""The model of DS2 (Kalavri et al., OSDI 2018): true rates of operators, and target rates along streams.

An operator's true rate is what it could process if it did nothing else; its target rate follows from the sources. Both
are measured in the running job, so no profile is needed.
"""

import math
from collections.abc import Callable, Mapping

from modeling.inputs.topology import Topology


def target_rates_per_s(
    topology: Topology,
    sources_per_s: Mapping[str, float],
    ratios: Mapping[tuple[str, str], float],
    rounded: Callable[[float], float] = float,
) -> dict[str, float]:
    """Tuples per second that each operator must process so that the sources keep up, by operator."""
    rates = {name: rounded(rate_per_s) for name, rate_per_s in sources_per_s.items()}
    for name in topology.order:
        if name not in rates:
            rates[name] = rounded(sum(rates[each] * ratios[each, name] for each in topology.senders(name)))
    return rates


def growths(
    topology: Topology,
    now_per_s: Mapping[str, float],
    then_per_s: Mapping[str, float],
    ratios: Mapping[tuple[str, str], float],
) -> dict[str, float]:
    """By operator, its flow under later rates of the sources over its flow now; 1 if nothing flows now."""
    now = target_rates_per_s(topology, now_per_s, ratios)
    then = target_rates_per_s(topology, then_per_s, ratios)
    return {name: then[name] / now[name] if now[name] > 0 else 1.0 for name in topology.order}


def true_rate_per_s(processed_per_s: float, busy: float) -> float:
    """What all instances together could process; busy: their mean busy share. Infinite without a measurement."""
    return processed_per_s / busy if processed_per_s > 0 and busy > 0 else math.inf
