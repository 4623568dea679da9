"""evaluate(): what one physical plan would do under one load. A pure function; the heart of forescale."""

from collections.abc import Mapping

from modeling.estimate import UNSTABLE, Estimate, OperatorEstimate
from modeling.latency import end_to_end_latency_s, operator_waits_s
from modeling.operator_profile import Profiles
from modeling.physical_plan import PhysicalPlan
from modeling.rates import arrival_rates
from modeling.throughput import saturation_of, throughput_per_s
from modeling.topology import Topology


def evaluate(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    *,
    arrival_cv2: float = 1.0,
) -> Estimate:
    """What `plan` would do under `load_per_s` (tuples a second offered to each source).

    arrival_cv2: squared coefficient of variation of the times between arrivals; 1 is Poisson. Raises ModelError for a
    plan, load or profile that does not fit the topology. A load of zero at every source has no mix whose maximum
    sustainable throughput could be told: its scale is infinite and its mst zero.
    """
    rates = arrival_rates(topology, profiles, plan, load_per_s)
    limit = saturation_of(topology, profiles, plan, load_per_s, rates)
    taken_per_s = throughput_per_s(topology, profiles, plan, load_per_s)
    waits_s = operator_waits_s(topology, profiles, plan, rates, arrival_cv2)
    return Estimate(
        plan_id=plan.plan_id,
        load_per_s=dict(load_per_s),
        throughput_per_s=taken_per_s,
        mst_per_s={source: rate if rate == 0 else rate * limit.scale for source, rate in load_per_s.items()},
        saturation_scale=limit.scale,
        bottleneck=limit.bottleneck,
        operators={
            name: OperatorEstimate(
                operator=name,
                parallelism=plan.parallelism[name],
                arrival_rate_per_s=rates.operator_per_s(name),
                instance_utilisation=rates.busy[name],
                wait_s=waits_s[name],
                saturation_scale=limit.per_operator[name],
            )
            for name in topology.order
        },
        latency_s=end_to_end_latency_s(topology, profiles, waits_s) if limit.scale > 1 else UNSTABLE,
        excess_per_s={source: max(0.0, load_per_s[source] - taken_per_s[source]) for source in load_per_s},
        bounds=rates.bounds,
    )
