"""Latency: the wait at each operator, and the mean time from a source to its slowest sink, over the whole graph at
once.
"""

from collections.abc import Mapping

from modeling.estimate import UNSTABLE
from modeling.operator_profile import Profiles
from modeling.physical_plan import PhysicalPlan
from modeling.queues import dealt_ca2, departure_ca2, kingman_wait_s, merged_ca2, thinned_ca2
from modeling.rates import Rates
from modeling.topology import Grouping, Topology


def operator_waits_s(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, arrival_cv2: float = 1.0
) -> dict[str, float]:
    """Mean queueing delay at the busiest instance of each operator in seconds, UNSTABLE at utilisation 1 and above.

    Every instance has a queue of its own (G/G/1, Kingman). arrival_cv2: of the arrivals to each source; 1 is Poisson.
    Round robin smooths a stream, hashing thins it at random; what leaves an operator carries the variability of its
    arrivals and services on (Whitt's queueing network analyser, 1983). Below saturation only: no backpressure here.
    """
    leaving: dict[str, float] = {}
    waits: dict[str, float] = {}
    for name in topology.order:
        parallelism = plan.parallelism[name]
        instances = rates.instance_per_s[name]
        busiest = int(instances.argmax())
        total = float(instances.sum())
        share = float(instances[busiest]) / total if total > 0 else 1 / parallelism
        if name in topology.sources:
            entering = dealt_ca2(arrival_cv2, parallelism)
        else:
            parts = []
            for stream in topology.inputs(name):
                ca2 = leaving[stream.upstream]
                if stream.grouping in (Grouping.SHUFFLE, Grouping.FORWARD):
                    ca2 = dealt_ca2(ca2, parallelism)
                elif stream.grouping is Grouping.FIELDS:
                    ca2 = thinned_ca2(ca2, share)
                parts.append((rates.stream_per_s[stream.name], ca2))
            entering = merged_ca2(parts)
        profile = profiles[name]
        utilisation = float(instances[busiest]) * profile.service_s
        waits[name] = (
            kingman_wait_s(utilisation, profile.service_s, entering, profile.service_cv2)
            if utilisation < 1
            else UNSTABLE
        )
        # Departures of all instances together, as the next operator sees them: many independent streams are near
        # Poisson.
        one = departure_ca2(utilisation, entering, profile.service_cv2)
        leaving[name] = one if parallelism == 1 else 1 + (one - 1) / parallelism**0.5
    return waits


def end_to_end_latency_s(topology: Topology, profiles: Profiles, waits_s: Mapping[str, float]) -> float:
    """Mean seconds from arrival to the slowest sink: the longest path by wait + service, by dynamic programming."""
    reached: dict[str, float] = {}
    for name in topology.order:
        before = max((reached[stream.upstream] for stream in topology.inputs(name)), default=0.0)
        reached[name] = before + waits_s[name] + profiles[name].service_s
    return max(reached.values())
