"""The model of DS2 (Kalavri et al., OSDI 2018): true rates of operators, and target rates along streams.

What an operator could process while it does nothing else is its true rate; what it must process follows from the
sources. Both are measured in the running job, so whoever uses them needs no profile.
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
