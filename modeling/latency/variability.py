"""How even the arrivals at each instance are: variability passed from operator to operator, sources first.

Round robin smooths a stream, hashing and filtering thin it at random, many tuples made of one come together; what
leaves an operator carries the variability of its arrivals and services on (Whitt's queueing network analyser, 1983).
Instances that are dealt to in turn get more at the same time and less at the same time: over long spans what they give
together varies as what was given to them together does, over short ones they are independent streams. So both are
handed on. Below saturation only: no backpressure here.
"""

import numpy as np
import numpy.typing as npt

from modeling.flow.rates import Rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Topology
from modeling.queueing.queues import Floats, Merging, dealt_ca2, departure_ca2, merged_ca2, selected_ca2, thinned_ca2

ONE_BY_ONE = (Grouping.FORWARD, Grouping.RESCALE)
"""Groupings under which an instance hears of some of those before it only. LOCAL_OR_SHUFFLE is taken as a shuffle: what
is dealt within a container alone comes a little evener than it is told."""


def instance_arrival_ca2(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, arrival_cv2: float = 1.0
) -> dict[str, Floats]:
    """Per operator the squared variation of the gaps between arrivals at each instance, shape (parallelism,).

    arrival_cv2: of the arrivals to each source; 1 is Poisson. Which instance of it an arrival comes to is taken as
    random: partitions of a log by key are, and nobody deals to them in turn.
    """
    together: dict[str, float] = {}
    alone: dict[str, float] = {}
    entering: dict[str, Floats] = {}
    for name in topology.order:
        parallelism = plan.parallelism[name]
        instances = rates.instance_per_s[name]
        total = float(instances.sum())
        shares = instances / total if total > 0 else np.full(parallelism, 1 / parallelism)
        if name in topology.sources:
            whole = arrival_cv2
            entering[name] = np.full(parallelism, float(thinned_ca2(arrival_cv2, 1 / parallelism)))
        else:
            parts: list[Merging] = []
            pooled: list[Merging] = []
            for stream in topology.inputs(name):
                up = stream.upstream
                rate, taken = rates.stream_per_s[stream.name], rates.operator_per_s(up)
                made = rate / taken if taken > 0 else 1.0
                senders, receivers = senders_and_receivers(stream.grouping, plan.parallelism[up], parallelism)
                of_some = (
                    some_together_ca2(alone[up], together[up], senders, plan.parallelism[up])
                    if stream.grouping in ONE_BY_ONE
                    else together[up]
                )
                given = selected_ca2(of_some, made)
                batch = max(made, 1.0)
                if stream.grouping is Grouping.FIELDS:
                    long, short = thinned_ca2(given, shares), thinned_ca2(batch, shares)
                else:
                    long, short = dealt_ca2(given, receivers), np.maximum(batch / receivers, 1.0)
                parts.append(Merging(rate, long, short, float(senders)))
                pooled.append(Merging(rate, selected_ca2(together[up], made)))
            entering[name] = np.broadcast_to(merged_ca2(parts, rates.busy[name]), instances.shape).copy()
            whole = float(merged_ca2(pooled))
        busiest = int(instances.argmax())
        cs2 = profiles[name].service_cv2
        # Without the share that a source polls: it does not work meanwhile.
        busy = np.minimum(instances * rates.service_s[name], 1.0)
        together[name] = float(departure_ca2(float(shares @ busy**2) ** 0.5, whole, cs2))
        alone[name] = float(departure_ca2(float(busy[busiest]), entering[name][busiest], cs2))
    return entering


def some_together_ca2(
    alone: npt.ArrayLike, together: npt.ArrayLike, some: npt.ArrayLike, of: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Squared variation over long spans of what `some` of so many instances give, between that of one and of all."""
    one, others = np.asarray(alone, dtype=np.float64), np.maximum(np.asarray(of, dtype=np.float64) - 1, 1.0)
    return np.asarray(one + (np.asarray(some) - 1) / others * (np.asarray(together) - one))


def senders_and_receivers(
    grouping: Grouping, upstream: npt.ArrayLike, downstream: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of how many instances before it one gets a stream, and to how many each of those deals it in turn."""
    up, down = np.asarray(upstream, dtype=np.float64), np.asarray(downstream, dtype=np.float64)
    if grouping in ONE_BY_ONE:
        return np.maximum(up // down, 1.0), np.maximum(down // up, 1.0)
    return up, down if grouping in (Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE) else np.ones_like(down)
