"""Throughput: where plans saturate, and what gets through when the load is beyond that."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modeling.flow.crossing import Crossing, crossing
from modeling.flow.limits import Limit, OperatorLimit, SiteUse, feeding_sources
from modeling.flow.rates import Given, KnownDealing, OperatorFlow, operator_flows
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LARGEST_SCALE = 1e6
"""What does not saturate at a million times the load has other limits."""
SEARCH_STEP = 1.5
FULL = 1 - 1e-12
"""What a limit is full at, but for rounding."""
_HALVINGS = 40

Visit = Callable[[OperatorFlow, Sequence[tuple[str, Crossing]]], None]
"""Is shown every operator, in topological order, with what of the streams that enter goes from node to node."""


class Capacity:
    """What loads use of some plans, where these saturate, and what they let through.

    Plans and profiles fit the topology. A limit is an operator (those come first, in topological order), a container or
    a link.
    """

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        plans: Sequence[PhysicalPlan],
        site: Site = NOWHERE,
        known: KnownDealing | None = None,
    ) -> None:
        self._topology = topology
        self._profiles = profiles
        self._site = site
        self._known = known or KnownDealing(topology, profiles)
        self.placed = placed(plans, topology.order, site)
        self._windowed = any(profiles[name].windowed for name in topology.order)

    def used(self, scenarios: Scenarios, visit: Visit | None = None) -> Floats:
        """The part of each limit that offered loads use, above 1 too, shape (plans, limits, scenarios); of operators
        their busiest instance.
        """
        operators = len(self._topology.order)
        use = self._use.begun()
        used = np.empty((len(self.placed.plans), operators + use.count, scenarios.count))
        crossed = use.links > 0 or (visit is not None and bool(self.placed.nodes))
        for number, (flow, crossings) in enumerate(self._flows(scenarios, crossed)):
            used[:, number] = flow.busiest[flow.row]
            if use.count:
                use.take(flow, crossings)
            if visit is not None:
                visit(flow, crossings)
        if use.count:
            used[:, operators:] = use.used()
        return used

    def limits(self, plan: int) -> list[Limit]:
        """Of one plan, in the order of `used`."""
        return [*self._operator_limits, *self._use.limits(plan)]

    @cached_property
    def _operator_limits(self) -> list[Limit]:
        return [OperatorLimit(name) for name in self._topology.order]

    def saturation(self, scenarios: Scenarios, used: Floats) -> tuple[Floats, Ints]:
        """By what factor each load could grow until the first limit is reached, and the number of that, both of shape
        (plans, scenarios). used: by these scenarios. Infinite where nothing comes.

        Use is linear in the load, but where outputs follow windows: then the first crossing of 1 is sought, upwards
        from the load itself, or from the half, the quarter and so on that nothing exceeds.
        """
        if not self._windowed:
            first = used.argmax(axis=1)
            with np.errstate(over="ignore", divide="ignore"):
                return 1 / np.take_along_axis(used, first[:, None], 1)[:, 0], first
        found = [plan.first_crossing(scenarios) for plan in self._one_by_one()]
        return np.stack([scale for scale, _ in found]), np.stack([first for _, first in found])

    def each_saturation(self, scenario: Scenarios, used: Floats) -> Floats:
        """By what factor one load could grow until each limit of one plan alone is reached, shape (limits,)."""
        if not self._windowed:
            with np.errstate(over="ignore", divide="ignore"):
                return np.asarray(1 / used[0, :, 0])
        count = used.shape[1]
        return self.first_crossing(scenario.taken(np.zeros(count, dtype=np.int64)), np.arange(count))[0]

    def throughput_per_s(self, scenarios: Scenarios, used: Floats) -> Floats:
        """What each source takes in under backpressure, shape (plans, scenarios, sources): the fixed point at which no
        limit is exceeded. used: by these scenarios.

        A limit that is reached slows the sources that feed it in proportion. Each round brings the worst one to exactly
        full and lowers no other's room, so there are at most as many rounds as limits; operators come before containers
        and links, so that larger containers never lower what a source takes in.
        """
        loads = scenarios.loads_per_s
        taken = np.broadcast_to(loads, (used.shape[0], *loads.shape)).copy()
        most = used.max(axis=1)
        over = most > 1 / FULL
        if not over.any():
            return taken
        if self._windowed:
            for number, plan in enumerate(self._one_by_one()):
                plan._slow_windowed(scenarios, taken[number])
            return taken
        if self._slows.all():
            return np.asarray(np.where(over[:, :, None], taken / np.maximum(most, 1.0)[:, :, None], taken))
        # Where all that are exceeded slow every source that gives anything, these are brought down alike.
        unlike = np.zeros(over.shape, dtype=bool)
        for part in (slice(0, len(self._topology.order)), slice(len(self._topology.order), None)):
            if used[:, part].shape[1]:
                worst = used[:, part].argmax(axis=1)
                spared = ~self._slows[:, part][np.arange(len(used))[:, None], worst] & (taken > 0)
                unlike |= (used[:, part].max(axis=1) > 1 / FULL) & spared.any(axis=2)
        np.divide(taken, most[:, :, None], out=taken, where=(over & ~unlike)[:, :, None])
        if unlike.any():
            at, where = np.nonzero(unlike)
            self._slow_further(scenarios, at, where, taken)
        return taken

    def first_crossing(
        self, scenarios: Scenarios, of: Ints | None = None, among: slice = slice(None)
    ) -> tuple[Floats, Ints]:
        """Of one plan: the scale of each load at which one of some limits is first reached, and which of them; 1 or
        less where it is exceeded, more where not. of: the limit of each scenario that is asked for, any where None.
        """
        every = np.arange(scenarios.count)

        def used(scales: Floats) -> Floats:
            scaled = scenarios.with_loads(scenarios.loads_per_s * scales[:, None])
            return np.asarray(self.used(scaled)[0, among])

        def most(scales: Floats) -> Floats:
            return used(scales).max(axis=0) if of is None else used(scales)[of, every]

        low = np.ones(scenarios.count)
        while (too_high := most(low) >= 1).any():
            low = np.where(too_high, low / 2, low)
        begun, high = low, low
        found = ~scenarios.loads_per_s.any(axis=1)
        none = found.copy()
        while (~found & (high < LARGEST_SCALE * begun)).any():
            low = np.where(found, low, high)
            high = np.where(found, high, high * SEARCH_STEP)
            found = found | (most(high) >= 1)
        crossing = found & ~none
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = most(middle) >= 1
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.where(crossing, high, np.inf), used(np.where(crossing, high, 1.0)).argmax(axis=0)

    @cached_property
    def _use(self) -> SiteUse:
        return SiteUse(self._topology, self.placed, self._site)

    @cached_property
    def _slows(self) -> Flags:
        """Shape (plans, limits, sources)."""
        fed = feeding_sources(self._topology)
        operators = np.broadcast_to(fed, (len(self.placed.plans), *fed.shape))
        return np.concatenate([operators, self._use.slows(fed)], axis=1)

    def _flows(
        self, scenarios: Scenarios, crossed: bool
    ) -> Iterator[tuple[OperatorFlow, Sequence[tuple[str, Crossing]]]]:
        given: dict[str, Given] = {}
        for flow in operator_flows(self._topology, self._profiles, self.placed, scenarios, self._known):
            streams = self._topology.inputs(flow.name) if crossed else ()
            yield flow, [(s.name, crossing(s, self.placed, given, flow, self._known)) for s in streams]
            given |= flow.given

    def _of(self, plans: Sequence[PhysicalPlan]) -> "Capacity":
        return Capacity(self._topology, self._profiles, plans, self._site, self._known)

    def _one_by_one(self) -> Iterator["Capacity"]:
        return (self._of([plan]) for plan in self.placed.plans)

    def _slow_further(self, scenarios: Scenarios, at: Ints, where: Ints, taken: Floats) -> None:
        """What sources take in where some of them are slowed and others not; changes `taken` in these cells.

        Every instance and limit is used by each source in proportion, so that is worked out once for one of each.
        """
        different, plan_of = np.unique(at, return_inverse=True)
        some = self._of([self.placed.plans[number] for number in different])
        sources = len(self._topology.sources)
        alike = scenarios.parameters.none
        count = 1 if alike else scenarios.count
        numbers = np.repeat(np.arange(count), sources)
        units = Scenarios(np.tile(np.eye(sources), (count, 1)), scenarios.parameters.map(lambda each: each[numbers]))
        cell = np.zeros_like(where) if alike else where
        parts: list[Floats] = []
        use = some._use.begun()
        for flow, crossings in some._flows(units, use.links > 0):
            busy = flow.busy()
            parts.append(busy.reshape(*busy.shape[:2], count, sources)[flow.row[plan_of], :, cell])
            if use.count:
                use.take(flow, crossings)
        if use.count:
            every = use.used()
            limits = every.reshape(*every.shape[:2], count, sources)[plan_of, :, cell]
            parts += list(limits.transpose(1, 0, 2)[:, :, None])
        slows, rates = some._slows, taken[at, where]
        operators = len(self._topology.order)
        for _ in parts:
            used = np.stack([np.einsum("cks,cs->ck", part, rates).max(axis=1) for part in parts], axis=1)
            # Containers and links only once no operator is exceeded.
            used[:, operators:][used[:, :operators].max(axis=1) > 1 / FULL] = 0.0
            worst = used.argmax(axis=1)
            most = np.take_along_axis(used, worst[:, None], 1)
            over = most > 1 / FULL
            if not over.any():
                break
            rates = np.where(over & slows[plan_of, worst], rates / np.maximum(most, 1e-300), rates)
        taken[at, where] = rates

    def _slow_windowed(self, scenarios: Scenarios, taken: Floats) -> None:
        """Of one plan; changes `taken`, of shape (scenarios, sources)."""
        operators, count = len(self._topology.order), self._slows.shape[1]
        for first, end in ((0, operators), (operators, count)):
            at = np.arange(scenarios.count)
            for _ in range(end - first):
                scales, worst = self.first_crossing(scenarios.taken(at).with_loads(taken[at]), among=slice(first, end))
                over = scales < FULL
                if not over.any():
                    break
                at, scales, worst = at[over], scales[over], worst[over]
                taken[at] *= np.where(self._slows[0, first + worst], scales[:, None], 1.0)
