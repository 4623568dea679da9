"""evaluate(): the behaviour of one physical plan under one load. A pure function, the core of forescale."""

from collections.abc import Mapping, Sequence

import numpy as np

from modeling.errors import ModelError
from modeling.estimate import Estimate, LatencyEstimate, OperatorEstimate
from modeling.evaluate_many import checked_loads
from modeling.excuse import misfit
from modeling.flow.crossing import Crossing
from modeling.flow.key_assignment import Unplaced, unplaced
from modeling.flow.limits import CardLimit, ContainerLimit, Limit, LinkLimit, SiteLimit
from modeling.flow.plan_rates import rates_of
from modeling.flow.rates import OperatorFlow
from modeling.flow.resources import resources
from modeling.flow.scenarios import Scenarios
from modeling.flow.throughput import Capacity
from modeling.inputs.checked import check_site
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.latency.distribution import Station, latency_distribution, stations
from modeling.latency.moments import LatencyRecursion, busiest_wait_s
from modeling.latency.sink_times import ManyLatencies
from modeling.latency.stream_delays import ManyDelays, StreamDelays
from modeling.notes import notes
from modeling.queueing.bursts import Arrivals
from modeling.rescaling.plan_change import PlanChange, rescale_estimate

_FULL = 1 - 1e-12


def evaluate(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    *,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
    change: PlanChange | None = None,
    backlog: Mapping[str, float] | None = None,
    percentiles: bool = False,
) -> Estimate:
    """Estimate `plan` under `load_per_s` (tuples per second offered to each source).

    arrival_cv2: squared coefficient of variation of interarrival times; 1 is Poisson. site: where the plan runs.
    change: the running plan that it would replace. backlog: tuples waiting at each source now, which the change must
    catch up with. percentiles: whether to compute latency percentiles, at some ten milliseconds per distinct queue.
    Raises ModelError for a plan, load or profile that does not fit the topology. A load of zero at every source has no
    mix: its headroom_factor is infinite and its mst zero.
    """
    arrivals = Arrivals.of(arrival_cv2)
    scenario = Scenarios(checked_loads(topology, profiles, load_per_s))
    check_site(topology, site, [plan])
    if excuse := misfit(topology, plan, site):
        raise ModelError(str(excuse))
    capacity = Capacity(topology, profiles, [plan], site)
    recursion = LatencyRecursion(topology, (1, 1), arrivals)
    added = StreamDelays(topology, capacity.placed, site, {})
    flows: list[OperatorFlow] = []
    delays: dict[str, ManyDelays] = {}
    waits_s: dict[str, float] = {}

    def visit(flow: OperatorFlow, crossings: Sequence[tuple[str, Crossing]]) -> None:
        of_streams = added.of(flow, crossings)
        flows.append(flow)
        delays.update(of_streams)
        waits_s[flow.name] = busiest_wait_s(flow, *recursion.take(flow, of_streams))

    used, sinks = capacity.used(scenario, visit), recursion.at_sinks()
    scales, first = capacity.saturation(scenario, used)
    scale = float(scales[0, 0])
    limits = dict(zip(capacity.limits(0), capacity.each_saturation(scenario, used).tolist(), strict=True))
    taken = capacity.throughput_per_s(scenario, used)[0, 0]
    taken_per_s = dict(zip(topology.sources, taken.tolist(), strict=True))
    rates = rates_of(flows)
    needs = resources(topology, profiles, plan, rates, site)
    mst_per_s = {source: rate if rate == 0 else rate * scale for source, rate in load_per_s.items()}
    return Estimate(
        plan_id=plan.plan_id,
        load_per_s=dict(load_per_s),
        throughput_per_s=taken_per_s,
        mst_per_s=mst_per_s,
        headroom_factor=scale,
        bottleneck=capacity.limits(0)[int(first[0, 0])],
        operators={
            name: OperatorEstimate(
                operator=name,
                parallelism=plan.parallelism[name],
                arrival_rate_per_s=rates.operator_per_s(name),
                instance_utilisation=rates.busy[name],
                wait_s=waits_s[name],
                headroom_factor=alone,
            )
            for name, alone in zip(topology.order, limits.values(), strict=False)
        },
        latency_s=float(ManyLatencies(sinks, scales > 1, np.isnan(scales)).mean_s[0, 0]),
        excess_per_s={
            source: load_per_s[source] - taken if taken < load_per_s[source] * _FULL else 0.0
            for source, taken in taken_per_s.items()
        },
        resources=needs,
        bounds={name: _unplaced(topology, profiles, name) for name in rates.bounds},
        latency=_latency(topology, stations(topology, flows, arrivals), delays, stable=scale > 1)
        if percentiles
        else None,
        other_limits=_fullest_link(limits),
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
        notes=(
            *(needs.notes if plan.packing or site != NOWHERE else ()),
            *notes(topology, profiles, plan, flows, arrivals, site, needs.containers),
        ),
    )


def _unplaced(topology: Topology, profiles: Profiles, stream: str) -> Unplaced:
    reader = next(each.downstream for each in topology.streams if each.name == stream)
    return unplaced(topology.engine, profiles[reader].keys_of(stream)) or Unplaced.CHANCE


def _fullest_link(limits: Mapping[Limit, float]) -> dict[SiteLimit, float]:
    """All bounded containers, and the first link or network card to be full."""
    kept: dict[SiteLimit, float] = {
        what: scale for what, scale in limits.items() if isinstance(what, ContainerLimit) and scale < np.inf
    }
    links: dict[SiteLimit, float] = {
        what: scale for what, scale in limits.items() if isinstance(what, LinkLimit | CardLimit) and scale < np.inf
    }
    if links:
        first = min(links, key=lambda what: links[what])
        kept[first] = links[first]
    return kept


def _latency(
    topology: Topology, queues: Mapping[str, Station], delays: Mapping[str, ManyDelays], *, stable: bool
) -> LatencyEstimate:
    found = latency_distribution(topology, queues, {name: each.first() for name, each in delays.items()})
    slowest = max(found.at_sink, key=lambda sink: found.at_sink[sink].quantile_s(0.95))
    if not stable:
        # The unstable part may be a container or a link.
        return LatencyEstimate.unstable(slowest)
    return LatencyEstimate(
        mean_s=found.of_tuples.mean_s,
        p50_s=found.quantile_s(0.5),
        p95_s=found.quantile_s(0.95),
        p99_s=found.quantile_s(0.99),
        slowest_sink=slowest,
        slowest_p95_s=found.at_sink[slowest].quantile_s(0.95),
    )
