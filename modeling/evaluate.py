"""evaluate(): what one physical plan would do under one load. A pure function; the heart of forescale."""

from collections.abc import Mapping

from modeling.estimate import Estimate, LatencyEstimate, OperatorEstimate
from modeling.flow.rates import Rates, arrival_rates
from modeling.flow.resources import resources
from modeling.flow.site_limits import site_saturation, site_throughput_per_s
from modeling.flow.throughput import saturation_of
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import places_nodes
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.latency.distribution import latency_distribution, stations
from modeling.latency.mean import busiest_service_s, end_to_end_latency_s, operator_waits_s
from modeling.latency.stream_delays import stream_delays
from modeling.queueing.queues import UNSTABLE
from modeling.rescaling.plan_change import PlanChange, rescale_estimate

_FULL = 1 - 1e-12


def evaluate(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    *,
    arrival_cv2: float = 1.0,
    site: Site = NOWHERE,
    change: PlanChange | None = None,
    backlog: Mapping[str, float] | None = None,
    percentiles: bool = False,
) -> Estimate:
    """What `plan` would do under `load_per_s` (tuples a second offered to each source).

    arrival_cv2: squared coefficient of variation of the times between arrivals; 1 is Poisson. site: where the plan
    runs. change: the plan that runs now, whose place it would take. backlog: tuples that wait at each source now, which
    the change has to catch up with. percentiles: of the latency, which take some ten
    milliseconds per different queue. Raises ModelError for a plan, load or profile that does not fit the topology. A
    load of zero at every source has no mix whose maximum sustainable throughput could be told: its scale is infinite
    and its mst zero.
    """
    rates = arrival_rates(topology, profiles, plan, load_per_s, site)
    limit = saturation_of(topology, profiles, plan, load_per_s, rates, site)
    needs = resources(topology, profiles, plan, rates, site)
    others = _fullest_link(site_saturation(topology, profiles, plan, load_per_s, rates, site))
    scale, bottleneck = min([(limit.scale, limit.bottleneck), *((each, what) for what, each in others.items())])
    taken_per_s = site_throughput_per_s(topology, profiles, plan, load_per_s, site)
    services_s = busiest_service_s(topology, rates)
    waits_s = operator_waits_s(topology, profiles, plan, rates, arrival_cv2)
    mst_per_s = {source: rate if rate == 0 else rate * scale for source, rate in load_per_s.items()}
    return Estimate(
        plan_id=plan.plan_id,
        load_per_s=dict(load_per_s),
        throughput_per_s=taken_per_s,
        mst_per_s=mst_per_s,
        saturation_scale=scale,
        bottleneck=bottleneck,
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
        latency_s=end_to_end_latency_s(topology, services_s, waits_s) if scale > 1 else UNSTABLE,
        excess_per_s={
            source: load_per_s[source] - taken if taken < load_per_s[source] * _FULL else 0.0
            for source, taken in taken_per_s.items()
        },
        resources=needs,
        bounds=rates.bounds,
        latency=_latency(topology, profiles, plan, rates, arrival_cv2, site, stable=scale > 1) if percentiles else None,
        other_limits=others,
        rescale=None
        if change is None
        else rescale_estimate(
            topology,
            {name: profile.state_gib for name, profile in profiles.items() if name in topology.order},
            change,
            plan,
            sum(load_per_s.values()),
            sum(mst_per_s.values()),
            sum((backlog or {}).values()),
        ),
        notes=(*(needs.notes if plan.packing or site != NOWHERE else ()), *_notes(topology, plan, site)),
    )


def _fullest_link(limits: Mapping[str, float]) -> dict[str, float]:
    """All containers, and of the many links the one that is full first."""
    links = {what: scale for what, scale in limits.items() if what.startswith("network ")}
    kept = {what: scale for what, scale in limits.items() if what not in links}
    return kept | ({first: links[first]} if links and (first := min(links, key=lambda what: links[what])) else {})


def _latency(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    rates: Rates,
    arrival_cv2: float,
    site: Site,
    *,
    stable: bool,
) -> LatencyEstimate:
    found = latency_distribution(
        topology,
        rates,
        stations(topology, profiles, plan, rates, arrival_cv2),
        stream_delays(topology, profiles, plan, rates, site),
    )
    slowest = max(found.at_sink, key=lambda sink: found.at_sink[sink].quantile_s(0.95))
    if not stable:
        # Beyond saturation the backlog grows, and so does all latency; what is unstable may be a container or a link.
        return LatencyEstimate(UNSTABLE, UNSTABLE, UNSTABLE, UNSTABLE, slowest, UNSTABLE)
    return LatencyEstimate(
        mean_s=found.of_tuples.mean_s,
        p50_s=found.quantile_s(0.5),
        p95_s=found.quantile_s(0.95),
        p99_s=found.quantile_s(0.99),
        slowest_sink=slowest,
        slowest_p95_s=found.at_sink[slowest].quantile_s(0.95),
    )


def _notes(topology: Topology, plan: PhysicalPlan, site: Site) -> tuple[str, ...]:
    """What of the site is not in the numbers."""
    notes = []
    if (site.network is not None or site.service_factor) and not places_nodes(plan):
        notes.append("the plan does not tell the node of every container: node speeds and network are left out")
    elif site.network is not None and (
        lacking := [stream.name for stream in topology.streams if stream.name not in site.bytes_per_tuple]
    ):
        notes.append(f"bytes_per_tuple of {lacking[0]} is not told: whether links are full is left out")
    return tuple(notes)
