"""Latency: the wait at each operator, and the mean time from a source to its slowest sink, over the whole graph at
once. Percentiles are in modeling/latency/distribution.py.
"""

from collections.abc import Mapping

from modeling.flow.rates import Rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.latency.variability import instance_arrival_ca2
from modeling.queueing.queues import klb_waits_s


def operator_waits_s(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, arrival_cv2: float = 1.0
) -> dict[str, float]:
    """Mean queueing delay at the busiest instance of each operator in seconds, UNSTABLE at utilisation 1 and above.

    Every instance has a queue of its own (G/G/1, Kraemer and Langenbach-Belz). arrival_cv2: of the arrivals to each
    source; 1 is Poisson. Below saturation only: no backpressure here.
    """
    entering = instance_arrival_ca2(topology, profiles, plan, rates, arrival_cv2)
    waits: dict[str, float] = {}
    for name in topology.order:
        working = rates.instance_per_s[name] * rates.service_s[name]
        busiest = int(working.argmax())
        service_s = float(rates.service_s[name][busiest])
        ca2, cs2 = entering[name][busiest], profiles[name].service_cv2
        waits[name] = float(klb_waits_s(float(working[busiest]), service_s, ca2, cs2))
    return waits


def busiest_service_s(topology: Topology, rates: Rates) -> dict[str, float]:
    """Mean seconds per tuple at the busiest instance of each operator: over its streams, on its node."""
    return {
        name: float(rates.service_s[name][int((rates.instance_per_s[name] * rates.service_s[name]).argmax())])
        for name in topology.order
    }


def end_to_end_latency_s(topology: Topology, services_s: Mapping[str, float], waits_s: Mapping[str, float]) -> float:
    """Mean seconds from arrival to the slowest sink: the longest path by wait + service, by dynamic programming."""
    reached: dict[str, float] = {}
    for name in topology.order:
        before = max((reached[stream.upstream] for stream in topology.inputs(name)), default=0.0)
        reached[name] = before + waits_s[name] + services_s[name]
    return max(reached.values())
