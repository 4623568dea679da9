"""Throughput: the saturation point of plans, and their throughput beyond it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.flow.core_waits import with_core_waits
from modeling.flow.crossing import Crossing, crossing
from modeling.flow.limits import Limit, OperatorLimit, SiteUse
from modeling.flow.linear import FULL, LinearFlows, LinearPlans
from modeling.flow.rates import KnownRouting, OperatorFlow, StreamOutput, operator_flows
from modeling.flow.scenarios import Parameters, Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology

Visit = Callable[[OperatorFlow, Sequence[tuple[str, Crossing]]], None]
"""Called with every operator, in topological order, and the crossings of its input streams. Flows then say how long
instances wait for the cores that they share."""


class Capacity:
    """The use, saturation and throughput of plans under loads.

    Plans and profiles must fit the topology. A limit is an operator (first, in topological order), a container or a
    link.
    """

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        plans: Sequence[PhysicalPlan],
        site: Site = NOWHERE,
        known: KnownRouting | None = None,
    ) -> None:
        self._topology = topology
        self._profiles = profiles
        self._site = site
        self._known = known or KnownRouting(topology, profiles)
        self.placed = placed(plans, topology.order, site)
        self._windowed = any(profiles[name].windowed for name in topology.order)
        self._drawn: tuple[Parameters, LinearPlans] | None = None

    def used(self, scenarios: Scenarios, visit: Visit | None = None) -> Floats:
        """Share of each limit used by offered loads, possibly above 1, shape (plans, limits, scenarios); for operators,
        of the busiest instance.
        """
        operators = len(self._topology.order)
        use = self._use.begun()
        used = np.empty((len(self.placed.plans), operators + use.count, scenarios.count))
        crossed = use.links > 0 or (visit is not None and bool(self.placed.nodes))
        contended: list[tuple[OperatorFlow, Sequence[tuple[str, Crossing]]]] = []
        for number, (flow, crossings) in enumerate(self._flows(scenarios, crossed)):
            used[:, number] = flow.busiest[flow.row]
            if use.count:
                use.take(flow, crossings)
            if visit is not None and use.shares_cores:
                contended.append((flow, crossings))
            elif visit is not None:
                visit(flow, crossings)
        if use.count:
            used[:, operators:] = use.used()
        if visit is not None and contended:
            waiting = with_core_waits([flow for flow, _ in contended], self.placed, self._site.container.cores)
            for flow, (_, crossings) in zip(waiting, contended, strict=True):
                visit(flow, crossings)
        return used

    def limits(self, plan: int) -> list[Limit]:
        """The limits of one plan, in the order of `used`."""
        return [*self._operator_limits, *self._use.limits(plan)]

    @cached_property
    def _operator_limits(self) -> list[Limit]:
        return [OperatorLimit(name) for name in self._topology.order]

    def saturation(self, scenarios: Scenarios, used: Floats) -> tuple[Floats, Ints]:
        """Factor by which each load could grow until the first limit is reached, and that limit's index, both of shape
        (plans, scenarios). used: by these scenarios. Infinite without load.

        Use is linear in the load, except with windowed outputs: then the first crossing of 1 is searched upwards from
        the load itself, or from the largest of one half, one quarter and so on that exceeds no limit.
        """
        if not self._windowed:
            first = used.argmax(axis=1)
            with np.errstate(over="ignore", divide="ignore"):
                return 1 / np.take_along_axis(used, first[:, None], 1)[:, 0], first
        loads = scenarios.loads_per_s
        found = [linear.first_crossing(np.zeros_like(loads), loads) for linear in self._linear(scenarios)]
        return np.stack([scale for scale, _ in found]), np.stack([first for _, first in found])

    def each_saturation(self, scenario: Scenarios, used: Floats) -> Floats:
        """Factor by which one load could grow until each limit of a single plan is reached, shape (limits,)."""
        if not self._windowed:
            with np.errstate(over="ignore", divide="ignore"):
                return np.asarray(1 / used[0, :, 0])
        (linear,) = self._linear(scenario)
        loads = np.repeat(scenario.loads_per_s, used.shape[1], axis=0)
        return linear.first_crossing(np.zeros_like(loads), loads, np.eye(used.shape[1], dtype=bool))[0]

    def throughput_per_s(self, scenarios: Scenarios, used: Floats) -> Floats:
        """Intake of each source under backpressure, shape (plans, scenarios, sources): the fixed point at which no
        limit is exceeded. used: by these scenarios.

        A reached limit throttles the sources that feed it in proportion; if these are not all sources, see
        `LinearFlows.let_in`.
        """
        loads = scenarios.loads_per_s
        taken = np.broadcast_to(loads, (used.shape[0], *loads.shape)).copy()
        most = used.max(axis=1)
        over = most > 1 / FULL
        if not over.any():
            return taken
        alike = (self._slows.all(axis=2) | (used.max(axis=2) <= 1 / FULL)).all(axis=1) & (not self._windowed)
        np.divide(taken, most[:, :, None], out=taken, where=(over & alike[:, None])[:, :, None])
        unlike = np.flatnonzero(over.any(axis=1) & ~alike)
        for number, linear in zip(unlike, self._linear(scenarios, unlike), strict=True):
            at = np.flatnonzero(over[number])
            taken[number, at] = linear.taken(at).let_in(np.zeros_like(taken[number, at]), taken[number, at])[0]
        return taken

    @cached_property
    def _use(self) -> SiteUse:
        return SiteUse(self._topology, self.placed, self._site)

    @cached_property
    def _slows(self) -> Flags:
        """Shape (plans, limits, sources)."""
        return self._use.slows()

    def _linear(self, scenarios: Scenarios, plans: Iterable[int] | None = None) -> Iterator[LinearFlows]:
        """Linear flows of all plans, or of some."""
        draws = Scenarios(scenarios.loads_per_s[:1]) if scenarios.parameters.none else scenarios
        if self._drawn is None or self._drawn[0] is not draws.parameters:
            linear = LinearPlans(self._topology, self._profiles, self.placed, self._site, self._known, draws)
            self._drawn = draws.parameters, linear
        return map(self._drawn[1].of, range(len(self.placed.plans)) if plans is None else plans)

    def _flows(
        self, scenarios: Scenarios, crossed: bool
    ) -> Iterator[tuple[OperatorFlow, Sequence[tuple[str, Crossing]]]]:
        given: dict[str, StreamOutput] = {}
        for flow in operator_flows(self._topology, self._profiles, self.placed, scenarios, self._known):
            streams = self._topology.inputs(flow.name) if crossed else ()
            yield flow, [(s.name, crossing(s, self.placed, given, flow, self._known)) for s in streams]
            given |= flow.given
