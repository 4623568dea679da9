"""How even the arrivals at each instance are: variability passed from operator to operator, sources first.

Round robin smooths a stream, hashing and filtering thin it at random, many tuples made of one come together; what
leaves an operator carries the variability of its arrivals and services on (Whitt's queueing network analyser, 1983).
Below saturation only: no backpressure here.
"""

import numpy as np

from modeling.operator_profile import Profiles
from modeling.physical_plan import PhysicalPlan
from modeling.queues import Floats, dealt_ca2, departure_ca2, merged_ca2, selected_ca2, thinned_ca2
from modeling.rates import Rates
from modeling.topology import Grouping, Topology


def instance_arrival_ca2(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, arrival_cv2: float = 1.0
) -> dict[str, Floats]:
    """Per operator the squared variation of the gaps between arrivals at each instance, shape (parallelism,).

    arrival_cv2: of the arrivals to each source; 1 is Poisson.
    """
    leaving: dict[str, float] = {}
    entering: dict[str, Floats] = {}
    for name in topology.order:
        parallelism = plan.parallelism[name]
        instances = rates.instance_per_s[name]
        total = float(instances.sum())
        shares = instances / total if total > 0 else np.full(parallelism, 1 / parallelism)
        if name in topology.sources:
            entering[name] = np.full(parallelism, float(dealt_ca2(arrival_cv2, parallelism)))
        else:
            parts: list[tuple[float, Floats]] = []
            for stream in topology.inputs(name):
                taken = rates.operator_per_s(stream.upstream)
                made = rates.stream_per_s[stream.name] / taken if taken > 0 else 1.0
                ca2 = np.full(parallelism, float(selected_ca2(leaving[stream.upstream], made)))
                if stream.grouping in (Grouping.SHUFFLE, Grouping.FORWARD):
                    ca2 = dealt_ca2(ca2, parallelism)
                elif stream.grouping is Grouping.FIELDS:
                    ca2 = thinned_ca2(ca2, shares)
                parts.append((rates.stream_per_s[stream.name], ca2))
            entering[name] = np.broadcast_to(merged_ca2(parts, rates.busy[name]), instances.shape).copy()
        busiest = int(instances.argmax())
        # Departures of all instances together, as the next operator sees them: many independent streams are near
        # Poisson.
        utilisation = float(rates.busy[name][busiest])
        one = float(departure_ca2(utilisation, entering[name][busiest], profiles[name].service_cv2))
        leaving[name] = one if parallelism == 1 else 1 + (one - 1) / parallelism**0.5
    return entering
