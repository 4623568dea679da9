"""Linear flows: what one plan makes of any rates, worked out once. For simulations, which ask it every few seconds.

Rates are weighted sums of what sources take in and of what windows give out. The weights come from one pass of the
recursion (modeling/flow/rates.py) in which each of these inputs gives a tuple a second alone, in a scenario of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul

import numpy as np
import numpy.typing as npt

from modeling.flow.crossing import crossing
from modeling.flow.limits import SiteUse, feeding_sources
from modeling.flow.plan_rates import plan_flows
from modeling.flow.rates import Given, KnownDealing, OperatorFlow, left_by_window, operator_flows
from modeling.flow.scenarios import Scenarios
from modeling.flow.throughput import FULL, SEARCH_STEP
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.inputs.windowed_output import WindowedOutput

Floats = npt.NDArray[np.float64]
Weights = tuple[float, ...]

_CUTS, _ROUNDS = 2**8, 5
"""A crossing is sought among so many points of what is left, so often: down to 2^-40 of it."""


@dataclass(frozen=True)
class WindowInputs:
    """A window between inputs. entering: of each term, shape (terms, inputs). streams: of each term. first: number of
    the input that is what leaves of the first term; the others follow.
    """

    window: WindowedOutput
    entering: Floats
    streams: tuple[str, ...]
    first: int


@dataclass(frozen=True)
class LinearFlows:
    """Inputs are the sources, and then the terms of each stream that leaves a window, in topological order.

    flows: of one plan, in topological order; scenario n is one tuple a second of input n alone. use: of each limit
    (operators, containers, links) what each input uses of it, full at 1; of several instances, all that may be the
    busiest. slows: which sources each limit slows when it is full.
    """

    flows: tuple[OperatorFlow, ...]
    windows: tuple[WindowInputs, ...]
    use: tuple[tuple[Weights, ...], ...]
    slows: tuple[tuple[bool, ...], ...]

    def inputs_per_s(self, taken_per_s: Sequence[float]) -> Sequence[float]:
        """Of all inputs, of what each source takes in."""
        if not self.windows:
            return taken_per_s
        return list(self._inputs_per_s(np.array(taken_per_s)[:, None])[:, 0].tolist())

    def used(self, inputs_per_s: Sequence[float]) -> list[float]:
        """The part of each limit that is in use."""
        return [max([dot(row, inputs_per_s) for row in rows]) for rows in self.use]

    def let_in(self, base_per_s: Sequence[float], more_per_s: Sequence[float]) -> tuple[list[float], list[int]]:
        """What of more than a base each source takes in, and the numbers of the limits that are full then. All of the
        base is taken in.

        As `Capacity.throughput_per_s`: the limit that is full first slows its sources in proportion, then the next one;
        containers and links only once no operator is exceeded.
        """
        more, full = list(more_per_s), list[int]()
        for among in (range(len(self.flows)), range(len(self.flows), len(self.use))):
            for _ in among:
                part, limit = (self._first_crossing if self.windows else self._first_full)(base_per_s, more, among)
                if part >= FULL:
                    break
                full.append(limit)
                more = [each * part if slow else each for each, slow in zip(more, self.slows[limit], strict=True)]
        return more, full

    def _first_full(self, base_per_s: Sequence[float], more_per_s: Sequence[float], among: range) -> tuple[float, int]:
        """At what part of what is more the first of these limits is full, and its number; 1 where none is."""
        first, limit = 1.0, -1
        for number in among:
            for row in self.use[number]:
                more = dot(row, more_per_s)
                base = dot(row, base_per_s)
                if base + more > 1 / FULL and max(1 - base, 0.0) < first * more:
                    first, limit = max(1 - base, 0.0) / more, number
        return first, limit

    def _first_crossing(
        self, base_per_s: Sequence[float], more_per_s: Sequence[float], among: range
    ) -> tuple[float, int]:
        """_first_full where windows give less for more: as `Capacity.first_crossing`."""
        base, more = np.array(base_per_s)[:, None], np.array(more_per_s)[:, None]

        def used(parts: Floats) -> Floats:
            every = self._rows @ self._inputs_per_s(base + more * parts)
            return np.asarray(np.maximum.reduceat(every, self._first_row)[among.start : among.stop])

        before, after = used(np.array([0.0, 1.0])).T
        free, over = before < FULL, after > 1 / FULL
        if (stuck := over & ~free & (after > before)).any():
            return 0.0, among[int(stuck.argmax())]
        if not (over & free).any():
            return 1.0, -1
        halves: Floats = 0.5 ** np.arange(1.0, 60.0)
        low = halves[(used(halves)[free].max(axis=0) < 1).argmax()]
        points = low * SEARCH_STEP ** np.arange(np.ceil(np.log(1 / low) / np.log(SEARCH_STEP)) + 1)
        for _ in range(_ROUNDS):
            above = used(points)[free].max(axis=0) >= 1
            if not above.any():
                return 1.0, -1
            first = max(1, int(above.argmax()))
            points = np.linspace(points[first - 1], points[first], _CUTS + 1)
        at = np.where(free, used(points[-1:])[:, 0], -np.inf)
        return float(points[-1]), among[int(at.argmax())]

    @cached_property
    def _rows(self) -> Floats:
        """Of all limits, one after another, shape (rows, inputs)."""
        return np.array([row for rows in self.use for row in rows])

    @cached_property
    def _first_row(self) -> npt.NDArray[np.int64]:
        """Of each limit."""
        return np.cumsum([0, *map(len, self.use[:-1])])

    def _inputs_per_s(self, taken_per_s: Floats) -> Floats:
        """Shape (inputs, cases), of (sources, cases)."""
        sources = len(taken_per_s)
        found = np.zeros((sources + sum(len(each.streams) for each in self.windows), taken_per_s.shape[1]))
        found[:sources] = taken_per_s
        for each in self.windows:
            leaving = left_by_window(each.window, each.streams, (each.entering @ found)[None])[0]
            found[each.first : each.first + len(leaving)] = leaving
        return found


def dot(weights: Weights, inputs: Sequence[float]) -> float:
    """The weighted sum; quicker than numpy's for the few that there are."""
    total: float = sum(map(mul, weights, inputs))
    return total


def linear_flows(topology: Topology, profiles: Profiles, plan: PhysicalPlan, site: Site = NOWHERE) -> LinearFlows:
    """Raises ModelError for a plan or profiles that do not fit the topology."""
    sources, some = len(topology.sources), dict.fromkeys(topology.sources, 1.0)
    terms = {flow.name: len(flow.streams) for flow in plan_flows(topology, profiles, plan, some, site)}
    opened = [s for name in topology.order for s in topology.outputs(name) if s.name in profiles[name].windowed]
    begins = np.cumsum([sources, *(terms[stream.upstream] for stream in opened)])
    unit = np.eye(int(begins[-1]))
    leaving = {s.name: unit[begin:end] for s, begin, end in zip(opened, begins, begins[1:], strict=False)}
    plans, known = placed([plan], topology.order, site), KnownDealing(topology, profiles)
    use, given, flows = SiteUse(topology, plans, site), dict[str, Given](), list[OperatorFlow]()
    for flow in operator_flows(topology, profiles, plans, Scenarios(unit[:, :sources], leaving_per_s=leaving), known):
        streams = topology.inputs(flow.name) if use.links else ()
        use.take(flow, [(s.name, crossing(s, plans, given, flow, known)) for s in streams])
        given |= flow.given
        flows.append(flow)
    windows = []
    for stream, begin in zip(opened, begins, strict=False):
        before = next(flow for flow in flows if flow.name == stream.upstream)
        entering = before.term_per_s[0] * before.copies[0][:, None]
        windows.append(WindowInputs(before.profile.windowed[stream.name], entering, before.streams, int(begin)))
    rows = [_undominated(flow.busy()[0]) for flow in flows]
    rows += [(tuple(row),) for row in use.used()[0].tolist()] if use.count else []
    slows = np.concatenate([feeding_sources(topology), use.slows(feeding_sources(topology))[0]])
    return LinearFlows(tuple(flows), tuple(windows), tuple(rows), tuple(map(tuple, slows.tolist())))


def _undominated(rows: Floats) -> tuple[Weights, ...]:
    """Without those that others are never less than."""
    kept = np.empty((0, rows.shape[1]))
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not (kept >= row * (1 - 1e-15)).all(axis=1).any():
            kept = np.append(kept, row[None], axis=0)
    return tuple(map(tuple, kept.tolist()))
