"""evaluate_many(): throughput, utilisation and latency of many plans under many loads at once.

Loops run over operators only; plans, loads and draws of parameters are axes of arrays (modeling/flow/rates.py,
modeling/latency/moments.py). Use modeling/evaluate.py for all details of one plan under one load.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from modeling.arrays import Flags, Floats, Ints
from modeling.errors import ModelError
from modeling.excuse import Excuse, misfit
from modeling.flow.crossing import Crossing
from modeling.flow.limits import Limit
from modeling.flow.plan_rates import check_load
from modeling.flow.rates import KnownRouting, OperatorFlow
from modeling.flow.scenarios import Scenarios
from modeling.flow.throughput import Capacity
from modeling.inputs.checked import check_site
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.latency.delay import Delay
from modeling.latency.moments import LatencyRecursion
from modeling.latency.sink_times import ManyLatencies, SinkTimes
from modeling.latency.stream_delays import StreamDelays
from modeling.queueing.bursts import Arrivals

CELLS = 2**15
"""Plans × scenarios computed at once."""

SCENARIOS = 2**12
"""Maximum scenarios computed at once."""


@dataclass(frozen=True)
class ManyEstimates:
    """Estimates of plans (first axis) under loads (second axis); draws are an axis before both.

    utilisation: of the busiest instance of each operator, shape (plans, loads, operators), under the offered load.
    headroom_factor: factor by which the load could grow. bottleneck: index of the limit reached first (see
    bottleneck_of), below the number of operators if it is one of these. Both of shape (plans, loads). throughput_per_s:
    intake of each source, shape (plans, loads, sources). latency: None if not requested. excuses: why a plan could not
    be evaluated, by its index; its estimates are NaN.
    """

    operators: tuple[str, ...]
    sources: tuple[str, ...]
    utilisation: Floats
    headroom_factor: Floats
    bottleneck: Ints
    throughput_per_s: Floats
    excuses: Mapping[int, Excuse]
    limits: Sequence[Callable[[], Sequence[Limit]]]
    latency: ManyLatencies | None = None

    @property
    def stable(self) -> Flags:
        """Whether each plan carries each load, shape (plans, loads)."""
        return self.headroom_factor > 1.0

    def bottleneck_of(self, plan: int, load: int) -> Limit:
        """The limit reached first. Raises ModelError for a plan that could not be evaluated."""
        if plan in self.excuses:
            raise ModelError(f"plan {plan} was not evaluated: {self.excuses[plan]}")
        return self.limits[plan]()[int(self.bottleneck[plan, load])]


@dataclass(frozen=True)
class EvaluationOptions:
    """Options for all plans and loads: see evaluate_many."""

    latency: bool = True
    arrival_cv2: float | Arrivals = 1.0
    delays: Mapping[str, Delay] = field(default_factory=dict)
    site: Site = NOWHERE


def evaluate_many(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    loads_per_s: Mapping[str, npt.ArrayLike],
    *,
    latency: bool = True,
    arrival_cv2: float | Arrivals = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> ManyEstimates:
    """Estimates of each plan under each load, equal to those of `evaluate`; latency by three moments.

    loads_per_s: rates per source, shape (loads,). latency: False omits it. arrival_cv2: squared coefficient of
    variation of interarrival times at each source; 1 is Poisson. delays: of streams in addition to the site, by `a->b`,
    and before a source, by its name. site: where plans with a packing run. Raises ModelError for loads, profiles or
    delays that do not fit the topology; a plan that does not fit gets an excuse.
    """
    loads = checked_loads(topology, profiles, loads_per_s)
    return evaluate_scenarios(
        topology, profiles, plans, Scenarios(loads), EvaluationOptions(latency, arrival_cv2, delays or {}, site)
    )


def checked_loads(topology: Topology, profiles: Profiles, loads_per_s: Mapping[str, npt.ArrayLike]) -> Floats:
    """Shape (loads, sources). Raises ModelError for loads that do not fit the topology."""
    given = {source: np.atleast_1d(np.asarray(rates, dtype=np.float64)) for source, rates in loads_per_s.items()}
    lengths = {rates.size for rates in given.values()}
    if len(lengths) > 1 or any(rates.ndim != 1 for rates in given.values()):
        raise ModelError(f"loads of {sorted(lengths)} rates; give every source one rate for each load")
    if 0 in lengths:
        raise ModelError("no load at all; give every source at least one rate")
    # Checking the extremes suffices: a negative or infinite rate is one of them, NaN is both.
    for extreme in (np.min, np.max):
        check_load(topology, profiles, {source: float(extreme(rates)) for source, rates in given.items()})
    return np.stack([given[source] for source in topology.sources], axis=1)


def evaluate_scenarios(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    scenarios: Scenarios,
    options: EvaluationOptions,
) -> ManyEstimates:
    """evaluate_many with parameters per load; shapes have scenarios in place of loads. Loads must fit the topology."""
    check_site(topology, options.site, plans)
    excuses = {number: why for number, plan in enumerate(plans) if (why := misfit(topology, plan, options.site))}
    fitting = [number for number in range(len(plans)) if number not in excuses]
    known = KnownRouting(topology, profiles)
    shape = (len(plans), scenarios.count)
    # Operators are the first axis: each writes its own plane.
    utilisation = np.full((len(topology.order), *shape), np.nan)
    scale, first = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    taken = np.full((*shape, len(topology.sources)), np.nan)
    limits: list[Callable[[], Sequence[Limit]]] = [tuple] * len(plans)
    sinks = [name for name in topology.order if not topology.outputs(name)]
    times: dict[str, list[Floats]] = {name: [] for name in sinks} if options.latency else {}
    across = min(scenarios.count, SCENARIOS)
    nodes = 0 if options.site.network is None else len(options.site.network.nodes)
    at_once = max(1, CELLS // max(across, nodes**2))
    for begin in range(0, len(fitting), at_once):
        chosen = fitting[begin : begin + at_once]
        # Use slices if possible: they do not copy.
        at = slice(chosen[0], chosen[-1] + 1) if chosen[-1] - chosen[0] + 1 == len(chosen) else chosen
        capacity = Capacity(topology, profiles, [plans[number] for number in chosen], options.site, known)
        for part, number in enumerate(chosen):
            limits[number] = partial(capacity.limits, part)
        for early in range(0, scenarios.count, across):
            of = slice(early, min(scenarios.count, early + across))
            some = scenarios.part(of)
            used, moments = loaded(capacity, topology, some, options)
            utilisation[:, at, of] = used[:, : len(topology.order)].transpose(1, 0, 2)
            scale[at, of], first[at, of] = capacity.saturation(some, used)
            taken[at, of] = capacity.throughput_per_s(some, used)
            for name, sink in moments.items():
                times[name] = times[name] or [np.full(shape, np.nan) for _ in sink.arrays]
                for whole, each in zip(times[name], sink.arrays, strict=True):
                    whole[at, of] = each
    latency = None
    if options.latency:
        unknown = [np.full(shape, np.nan)] * 4
        by_sink = {name: SinkTimes.of(*(each or unknown)) for name, each in times.items()}
        latency = ManyLatencies(by_sink, scale > 1, np.isnan(scale))
    return ManyEstimates(
        topology.order, topology.sources, np.moveaxis(utilisation, 0, 2), scale, first, taken, excuses, limits, latency
    )


def loaded(
    capacity: Capacity, topology: Topology, scenarios: Scenarios, options: EvaluationOptions
) -> tuple[Floats, Mapping[str, SinkTimes]]:
    """Use of all limits by the loads, shape (plans, limits, scenarios), and arrival times at the sinks."""
    if not options.latency:
        return capacity.used(scenarios), {}
    shape = (len(capacity.placed.plans), scenarios.count)
    recursion = LatencyRecursion(topology, shape, Arrivals.of(options.arrival_cv2))
    delays = StreamDelays(topology, capacity.placed, options.site, options.delays)

    def visit(flow: OperatorFlow, crossings: Sequence[tuple[str, Crossing]]) -> None:
        recursion.take(flow, delays.of(flow, crossings))

    return capacity.used(scenarios, visit), recursion.at_sinks()
