"""Linear flows: the use of limits as a linear function of rates, computed once for searches and simulations.

Rates are weighted sums of the sources' intake and of the windows' output. The weights come from one pass of the
recursion (modeling/flow/rates.py) in which each of these inputs alone gives a tuple per second, in its own scenario.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import mul

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.flow.crossing import crossing
from modeling.flow.limits import SiteUse
from modeling.flow.rates import KnownRouting, OperatorFlow, StreamOutput, left_by_window, operator_flows
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.placed import Placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.inputs.windowed_output import WindowedOutput

Weights = tuple[float, ...]

FULL = 1 - 1e-12
"""Use at which a limit counts as full, allowing for rounding."""

_UPWARDS: Floats = 1.5 ** np.arange(36.0)
"""Steps of the search for a crossing; a plan that carries a million times the load has other limits."""
_DOWNWARDS: Floats = 0.5 ** np.arange(60.0)
_CUTS, _ROUNDS = 8, 14
"""The search then divides the remaining interval into _CUTS parts, _ROUNDS times: down to 2^-42 of it."""


@dataclass(frozen=True)
class WindowInputs:
    """A window between inputs. entering: weights of each term, shape (draws, terms, inputs). streams: of each term.
    factor: on the output, shape (draws or 1,). first: index of the input for the first term's output; the others
    follow.
    """

    window: WindowedOutput
    entering: Floats
    streams: tuple[str, ...]
    factor: Floats
    first: int


@dataclass(frozen=True)
class LinearFlows:
    """One plan. Inputs are the sources, then the terms of each windowed output stream, in topological order.

    rows: use of a limit (operators, containers, links; full at 1) per input, with a row for each instance that may be
    the busiest; shape (draws, rows, inputs), one draw of parameters per case, or 1 for all. first_row: of each limit.
    slows: sources that each full limit throttles, shape (limits, sources).
    """

    windows: tuple[WindowInputs, ...]
    rows: Floats
    first_row: Ints
    slows: Flags
    operators: int

    def with_share(self, share: float) -> "LinearFlows":
        """The same with a further limit, full at a share of what the others carry; it throttles all sources that any of
        them does.
        """
        if share >= 1:
            return self
        rows = np.concatenate([self.rows, self.rows / share], axis=1)
        slows = np.concatenate([self.slows, self.slows.any(axis=0, keepdims=True)])
        return replace(self, rows=rows, first_row=np.append(self.first_row, self.rows.shape[1]), slows=slows)

    def taken(self, numbers: Ints) -> "LinearFlows":
        """The flows of these cases."""
        if len(self.rows) == 1:
            return self
        windows = [
            replace(w, entering=w.entering[numbers], factor=w.factor[numbers] if len(w.factor) > 1 else w.factor)
            for w in self.windows
        ]
        return replace(self, windows=tuple(windows), rows=self.rows[numbers])

    def inputs_per_s(self, taken_per_s: Sequence[float]) -> Sequence[float]:
        """Rates of all inputs from the intake of each source, in one case."""
        if not self.windows:
            return taken_per_s
        return list(self._inputs_per_s(np.array(taken_per_s)[None, :, None])[0, :, 0].tolist())

    def used(self, inputs_per_s: Sequence[float]) -> list[float]:
        """The used share of each limit, in one case."""
        return [max([dot(row, inputs_per_s) for row in rows]) for rows in self._weights]

    @property
    def most_used(self) -> tuple[float, float]:
        """Maximum use per tuple per second of any input: of an operator, and of a container or link."""
        most = [max(weight for row in rows for weight in row) for rows in self._weights]
        return max(most[: self.operators]), max(most[self.operators :], default=0.0)

    def let_in_one(self, base_per_s: Sequence[float], more_per_s: Sequence[float]) -> tuple[list[float], list[int]]:
        """`let_in` for one case, faster for few limits: each source's intake of `more`, and the indices of the full
        limits.
        """
        if self.windows:
            parts_per_s, limits = self.let_in(np.array([base_per_s]), np.array([more_per_s]))
            return list(parts_per_s[0].tolist()), list(np.flatnonzero(limits[0]).tolist())
        more, full = list(more_per_s), list[int]()
        before = [[dot(row, base_per_s) for row in rows] for rows in self._weights]
        for among in (range(self.operators), range(self.operators, len(self._weights))):
            for _ in among:
                part, limit = 1.0, 0
                for number in among:
                    for row, used in zip(self._weights[number], before[number], strict=True):
                        added = dot(row, more)
                        if added > 0 and used + added > 1 / FULL and (left := max(1 - used, 0.0) / added) < part:
                            part, limit = left, number
                if part >= FULL:
                    break
                full.append(limit)
                more = [each * part if slow else each for each, slow in zip(more, self.slowed[limit], strict=True)]
        return more, sorted(set(full))

    def let_in(self, base_per_s: Floats, more_per_s: Floats) -> tuple[Floats, Flags]:
        """Each source's intake of `more` beyond a base under backpressure, shape (cases, sources), and the full limits,
        shape (cases, limits): the fixed point at which no limit is exceeded. The base is always taken in.

        The first full limit throttles its sources in proportion, then the next one, so there are at most as many rounds
        as limits. Containers and links come only once no operator is exceeded, so that larger containers never lower a
        source's intake.
        """
        more, full = more_per_s, np.zeros((len(more_per_s), len(self.first_row)), dtype=bool)
        for among in (slice(0, self.operators), slice(self.operators, len(self.first_row))):
            for _ in range(among.stop - among.start):
                part, limit = (self._first_crossed if self.windows else self._first_full)(base_per_s, more, among)
                over = np.flatnonzero(part < FULL)
                if not over.size:
                    break
                full[over, limit[over]] = True
                more = np.where((part < FULL)[:, None] & self.slows[limit], more * part[:, None], more)
        return more, full

    def first_crossing(
        self, base_per_s: Floats, more_per_s: Floats, selected: Flags | None = None
    ) -> tuple[Floats, Ints]:
        """The share of `more` at which a requested limit is first full, and its index, per case: searched upwards from
        the whole, or from the largest of one half, one quarter and so on that exceeds none. Infinite if `more` is zero.
        selected: shape (cases or 1, limits), None for all.
        """

        def used(parts: Floats) -> Floats:
            every = self._used(base_per_s[:, :, None] + more_per_s[:, :, None] * parts[:, None])
            return every if selected is None else np.where(selected[:, :, None], every, -np.inf)

        def at(points: Floats, number: Ints) -> Floats:
            return np.take_along_axis(points, number[:, None], axis=1)

        def is_full(parts: Floats) -> Flags:
            return np.asarray(used(parts).max(axis=1) >= 1)

        cases = len(more_per_s)
        low = np.ones((cases, 1))
        if is_full(low).any():
            low = _DOWNWARDS[(~is_full(np.tile(_DOWNWARDS, (cases, 1)))).argmax(axis=1)][:, None]
        points = low * _UPWARDS
        above = is_full(points)
        found = above.any(axis=1) & more_per_s.any(axis=1)
        for _ in range(_ROUNDS if found.any() else 0):
            first = np.where(above.any(axis=1), above.argmax(axis=1), points.shape[1] - 1).clip(1)
            low, high = at(points, first - 1), at(points, first)
            points = low + (high - low) * np.linspace(0, 1, _CUTS + 1)
            above = is_full(points)
        first = np.where(above.any(axis=1), above.argmax(axis=1), points.shape[1] - 1)
        part = np.where(found, at(points, first)[:, 0], np.inf)
        return part, used(np.where(found, part, 1.0)[:, None])[:, :, 0].argmax(axis=1)

    def _first_full(self, base_per_s: Floats, more_per_s: Floats, among: slice) -> tuple[Floats, Ints]:
        """Share of `more` at which the first of these limits is full, and its index; 1 if none is."""
        of = self._limit_of_row
        rows = slice(*np.searchsorted(of, (among.start, among.stop)).tolist())
        base, more = (np.einsum("cri,ci->cr", self.rows[:, rows], each) for each in (base_per_s, more_per_s))
        over = (base + more > 1 / FULL) & (more > 0)
        parts = np.where(over, np.maximum(1 - base, 0) / np.where(over, more, 1), 1)
        first = parts.argmin(axis=1)
        return parts[np.arange(len(parts)), first], of[rows][first]

    def _first_crossed(self, base_per_s: Floats, more_per_s: Floats, among: slice) -> tuple[Floats, Ints]:
        """_first_full for windows whose output grows less than their input."""
        before, after = (self._used(each[:, :, None])[:, :, 0] for each in (base_per_s, base_per_s + more_per_s))
        selected = np.zeros(before.shape, dtype=bool)
        selected[:, among] = True
        over = selected & (after > 1 / FULL)
        stuck = over & (before >= FULL) & (after > before)
        parts, limits = np.where(stuck.any(axis=1), 0.0, 1.0), stuck.argmax(axis=1)
        sought = np.flatnonzero((over & (before < FULL)).any(axis=1) & ~stuck.any(axis=1))
        if sought.size:
            free = (selected & (before < FULL))[sought]
            some = self.taken(sought)
            parts[sought], limits[sought] = some.first_crossing(base_per_s[sought], more_per_s[sought], free)
        return parts, limits

    @cached_property
    def _limit_of_row(self) -> Ints:
        return np.repeat(np.arange(len(self.first_row)), np.diff([*self.first_row, self.rows.shape[1]]))

    @cached_property
    def slowed(self) -> tuple[tuple[bool, ...], ...]:
        """`slows` as Python tuples."""
        return tuple(map(tuple, self.slows.tolist()))

    @cached_property
    def _weights(self) -> tuple[tuple[Weights, ...], ...]:
        """Weights of each limit in one case, as plain numbers, which are faster than small arrays."""
        return tuple(tuple(map(tuple, rows.tolist())) for rows in np.split(self.rows[0], self.first_row[1:]))

    def _used(self, taken_per_s: Floats) -> Floats:
        """The used share of each limit, shape (cases, limits, points), from intake (cases, sources, points)."""
        return np.maximum.reduceat(self.rows @ self._inputs_per_s(taken_per_s), self.first_row, axis=1)

    def _inputs_per_s(self, taken_per_s: Floats) -> Floats:
        """Input rates, shape (cases, inputs, points), from intake (cases, sources, points)."""
        cases, sources, points = taken_per_s.shape
        found = np.zeros((cases, self.rows.shape[2], points))
        found[:, :sources] = taken_per_s
        for each in self.windows:
            leaving = left_by_window(each.window, each.streams, each.entering @ found) * each.factor[:, None, None]
            found[:, each.first : each.first + leaving.shape[1]] = leaving
        return found


def dot(weights: Weights, inputs: Sequence[float]) -> float:
    """The weighted sum; faster than numpy's for few values."""
    total: float = sum(map(mul, weights, inputs))
    return total


class LinearPlans:
    """Several plans under the same scenarios, of which only the parameters matter.

    flows: in topological order; scenario n is one tuple per second of input n alone, with the first parameters, then
    with the next ones.
    """

    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        plans: Placed,
        site: Site = NOWHERE,
        known: KnownRouting | None = None,
        draws: Scenarios | None = None,
    ) -> None:
        known = known or KnownRouting(topology, profiles)
        sources = len(topology.sources)
        one = Scenarios(np.ones((1, sources)))
        draws = draws or one
        windows = [s for name in topology.order for s in topology.outputs(name) if s.name in profiles[name].windowed]
        self._draws = draws.count
        opened: dict[str, slice] = {}
        inputs = sources
        if windows:
            terms = {flow.name: len(flow.streams) for flow in operator_flows(topology, profiles, plans, one, known)}
            for stream in windows:
                opened[stream.name] = slice(inputs, inputs := inputs + terms[stream.upstream])
        unit = np.tile(np.eye(inputs), (1, draws.count))
        units = Scenarios(
            unit[:sources].T,
            draws.parameters.map(lambda each: np.repeat(each, inputs)),
            {name: unit[at] for name, at in opened.items()},
        )
        self._use = SiteUse(topology, plans, site)
        self._slows = self._use.slows()
        flows, given = list[OperatorFlow](), dict[str, StreamOutput]()
        for flow in operator_flows(topology, profiles, plans, units, known):
            streams = topology.inputs(flow.name) if self._use.links else ()
            self._use.take(flow, [(s.name, crossing(s, plans, given, flow, known)) for s in streams])
            given |= flow.given
            flows.append(flow)
        self.flows = tuple(flows)
        self._windows = [(stream, next(f for f in flows if f.name == stream.upstream)) for stream in windows]
        self._opened = opened
        self._factor = draws.parameters.selectivity_factor
        self._site_used = self._by_draw(self._use.used()) if self._use.count else None
        self._busy = {flow.name: flow.busy() for flow in flows}
        self._known_rows: dict[tuple[str, int], Floats] = {}

    def of(self, plan: int) -> LinearFlows:
        """The flows of the plan with this index."""
        parts = [self._rows(flow, int(flow.row[plan])) for flow in self.flows]
        if self._site_used is not None:
            parts += np.split(self._site_used[plan].transpose(1, 0, 2), self._use.count, axis=1)
        windows = []
        for stream, flow in self._windows:
            row = flow.row[plan]
            entering = self._by_draw(flow.term_per_s[row] * flow.copies[row][:, None]).transpose(1, 0, 2)
            window, factor = flow.profile.windowed[stream.name], self._factor.get(stream.name, np.ones(1))
            windows.append(WindowInputs(window, entering, flow.streams, factor, self._opened[stream.name].start))
        first_row = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
        rows = np.concatenate(parts, axis=1)
        return LinearFlows(tuple(windows), rows, first_row, self._slows[plan], len(self.flows))

    def _rows(self, flow: OperatorFlow, row: int) -> Floats:
        if (flow.name, row) not in self._known_rows:
            rows = _undominated(self._busy[flow.name][row])
            self._known_rows[flow.name, row] = self._by_draw(rows).transpose(1, 0, 2)
        return self._known_rows[flow.name, row]

    def _by_draw(self, of_units: Floats) -> Floats:
        return of_units.reshape(*of_units.shape[:-1], self._draws, of_units.shape[-1] // self._draws)


def _undominated(rows: Floats) -> Floats:
    """The rows without dominated ones (nowhere larger than another row)."""
    kept = np.empty((0, rows.shape[1]))
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not (kept >= row * (1 - 1e-15)).all(axis=1).any():
            kept = np.append(kept, row[None], axis=0)
    return kept
