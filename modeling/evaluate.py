"""evaluate(): what one physical plan would do under one load. A pure function; the heart of forescale."""

from collections.abc import Callable, Mapping
from functools import partial

from scipy.optimize import brentq

from modeling.estimate import UNSTABLE, Estimate, LatencyEstimate, OperatorEstimate
from modeling.latency import busiest_service_s, end_to_end_latency_s, operator_waits_s
from modeling.operator_profile import Profiles
from modeling.path_latency import latency_distribution, stations
from modeling.physical_plan import PhysicalPlan
from modeling.placement import places_nodes
from modeling.plan_change import PlanChange, rescale_estimate
from modeling.rates import Rates, arrival_rates
from modeling.resources import container_saturation, resources
from modeling.site import NOWHERE, Site
from modeling.stream_delays import link_saturation, stream_delays
from modeling.throughput import LARGEST_SCALE, SEARCH_STEP, saturation_of, throughput_per_s
from modeling.topology import Topology

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
    percentiles: bool = False,
) -> Estimate:
    """What `plan` would do under `load_per_s` (tuples a second offered to each source).

    arrival_cv2: squared coefficient of variation of the times between arrivals; 1 is Poisson. site: where the plan
    runs. change: the plan that runs now, whose place it would take. percentiles: of the latency, which take some ten
    milliseconds per different queue. Raises ModelError for a plan, load or profile that does not fit the topology. A
    load of zero at every source has no mix whose maximum sustainable throughput could be told: its scale is infinite
    and its mst zero.
    """
    rates = arrival_rates(topology, profiles, plan, load_per_s, site)
    limit = saturation_of(topology, profiles, plan, load_per_s, rates, site)
    needs = resources(topology, profiles, plan, rates, site)
    others = _saturation_of_others(topology, profiles, plan, load_per_s, rates, site)
    scale, bottleneck = min([(limit.scale, limit.bottleneck), *((each, what) for what, each in others.items())])
    taken_per_s = throughput_per_s(topology, profiles, plan, load_per_s, site)
    if others:
        # What takes the sources down to what operators can do may leave containers and links within their limits.
        left = arrival_rates(topology, profiles, plan, taken_per_s, site)
        room = min(_other_limits(topology, profiles, plan, left, site).values(), default=1.0)
        taken_per_s = {source: rate * min(1.0, room) for source, rate in taken_per_s.items()}
    services_s = busiest_service_s(topology, profiles, plan, rates)
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
        ),
        notes=(*(needs.notes if plan.packing or site != NOWHERE else ()), *_notes(topology, plan, site)),
    )


def _other_limits(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, site: Site
) -> dict[str, float]:
    """What else than operators the load fills: each container's cores, the fullest link; by what factor it may grow."""
    needs = resources(topology, profiles, plan, rates, site)
    cores = {f"container {id}": scale for id, scale in container_saturation(needs).items() if scale < float("inf")}
    return {**cores, **link_saturation(topology, profiles, plan, rates, site)}


def _saturation_of_others(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    rates: Rates,
    site: Site,
) -> dict[str, float]:
    """_other_limits where the load grows; sought where outputs follow windows, so that rates are not linear in it."""
    found = _other_limits(topology, profiles, plan, rates, site)
    if not found or not any(profiles[name].windowed for name in topology.order):
        return found

    def room(scale: float, what: str) -> float:
        grown = {source: rate * scale for source, rate in load_per_s.items()}
        more = arrival_rates(topology, profiles, plan, grown, site)
        return _other_limits(topology, profiles, plan, more, site).get(what, LARGEST_SCALE) - 1

    return {what: _crossing(partial(room, what=what), at) for what, at in found.items()}


def _crossing(room: Callable[[float], float], begin: float) -> float:
    """The scale at which nothing is left; room falls with it. Infinite beyond LARGEST_SCALE."""
    low = high = begin
    while room(low) <= 0:
        low /= SEARCH_STEP
    while room(high) > 0:
        high *= SEARCH_STEP
        if high > LARGEST_SCALE:
            return float("inf")
    return low if low == high else float(brentq(room, low, high))


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
