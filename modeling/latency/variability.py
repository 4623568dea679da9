"""How even the arrivals at each instance are: variability passed from operator to operator, sources first.

Round robin smooths a stream, hashing and filtering thin it at random, many tuples made of one come together; what
leaves an operator carries the variability of its arrivals and services on (Whitt's queueing network analyser, 1983).
Instances that are dealt to in turn get more at the same time and less at the same time: over long spans what they give
together varies as what was given to them together does, over short ones they are independent streams. So both are
handed on. Below saturation only: no backpressure here.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from modeling.flow.rates import OperatorFlow, rows_of
from modeling.inputs.topology import Grouping, Topology
from modeling.queueing.queues import MERGED, selected_ca2

Floats = npt.NDArray[np.float64]

ONE_BY_ONE = (Grouping.FORWARD, Grouping.RESCALE)
"""Groupings under which an instance hears of some of those before it only. LOCAL_OR_SHUFFLE is taken as a shuffle: what
is dealt within a container alone comes a little evener than it is told."""


class KindLoads:
    """What each kind of instance of an operator is given, and how busy that keeps it.

    row: of each plan. counts: instances of each row, shape (rows, 1). thin: part of all that enters which one instance
    of a kind is given; weight: which all of a kind are given; busy: its utilisation, without what it only polls, above
    1 too; all of shape (rows, kinds, scenarios). service_s: mean per tuple, the same shape, or (rows, 1, scenarios or
    1) where all kinds are alike. cv2: of service times of all streams together, shape (rows, 1, scenarios or 1).
    """

    def __init__(self, flow: OperatorFlow, alike: float) -> None:
        kinds = flow.kinds(alike)
        self.row = flow.row
        self.counts = flow.parallelism[:, None].astype(np.float64)
        taken = kinds.per_instance(flow.term_per_s)
        total = flow.entering_per_s[:, None]
        self.thin = np.where(total > 0, taken / np.where(total > 0, total, 1.0), 1 / self.counts[:, :, None])
        self.weight = kinds.number[:, :, None].astype(np.float64) * self.thin
        if flow.one_service:
            self.service_s = flow.service_s[:, :1]
            self.busy = taken * self.service_s
        else:
            worked, idle_s = kinds.per_instance(flow.term_per_s * flow.service_s), flow.idle_service_s[:, None]
            if kinds.service_factor is not None:
                worked, idle_s = worked * kinds.service_factor[:, :, None], idle_s * kinds.service_factor[:, :, None]
            self.busy = worked
            self.service_s = np.where(taken > 0, worked / np.where(taken > 0, taken, 1.0), idle_s)
        cv2 = _mixed_cv2(flow)
        self.cv2 = np.broadcast_to(cv2, (len(self.counts), cv2.shape[1]))[:, None]
        given = np.stack(list(flow.stream_per_s.values()))
        whole = given.sum(axis=0)
        parts = np.where(whole > 0, given / np.where(whole > 0, whole, 1.0), 1 / len(given))
        self._parts = dict(zip(flow.stream_per_s, parts, strict=True))

    @property
    def parallelism(self) -> Floats:
        """Of each plan, shape (plans, 1)."""
        return self.counts[self.row]

    def by_plan(self, rows: Floats) -> Floats:
        return rows if rows.shape[0] == 1 else rows[self.row]

    def part(self, stream: str) -> Floats:
        """Of all that enters, by rate, shape (plans or 1, scenarios)."""
        return self.by_plan(self._parts[stream])


def _mixed_cv2(flow: OperatorFlow) -> Floats:
    """Of a tuple of any stream: where streams take differently long, what they differ by comes on top."""
    cv2 = flow.cv2[None]
    if not flow.profile.stream_service_s or len(flow.streams) < 2:
        return cv2
    weight, each_s = flow.term_per_s, flow.service_s
    mean_s = (weight * each_s).sum(axis=1)
    squares = (weight * each_s**2).sum(axis=1) * weight.sum(axis=1)
    return np.where(mean_s > 0, (1 + cv2) * squares / np.where(mean_s > 0, mean_s, 1.0) ** 2 - 1, cv2)


@dataclass
class Arriving:
    """ca² − 1 at the instances, by what decides it; shape (plans or 1, scenarios).

    hashed: of hashed streams, as if all went to one instance; kept: of the others at each instance. Both are what long
    spans have more than short ones; what these have, where tuples come in batches, is in the other two. several: how
    many streams come together, less one.
    """

    hashed: Floats | None = None
    kept: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    hashed_batches: Floats | None = None
    kept_batches: Floats | None = None
    several: Floats = field(default_factory=lambda: np.zeros((1, 1)))

    def add_hashed(self, more: Floats, batches: Floats | None) -> None:
        self.hashed = _sum(self.hashed, more)
        self.hashed_batches = _sum(self.hashed_batches, batches)

    def add_kept(self, more: Floats, batches: Floats | None) -> None:
        self.kept = self.kept + more
        self.kept_batches = _sum(self.kept_batches, batches)

    def plain(self) -> "Arriving":
        """The same without what is 0 everywhere: Poisson arrivals that are hashed stay so, whoever gives them."""
        hashed = self.hashed if self.hashed is not None and self.hashed.any() else None
        uneven = hashed is not None or bool(self.kept.any())
        kept, several = (each if uneven else np.zeros((1, 1)) for each in (self.kept, self.several))
        return Arriving(hashed, kept, self.hashed_batches, self.kept_batches, several)

    @property
    def by_row(self) -> bool:
        """Whether all plans are given as evenly."""
        parts = (self.hashed, self.kept, self.hashed_batches, self.kept_batches, self.several)
        return all(part is None or part.shape[0] == 1 for part in parts)

    def taken(self, plans: npt.NDArray[np.int64]) -> "Arriving":
        """Of these plans."""

        def some(each: Floats) -> Floats:
            return each if each.shape[0] == 1 else np.asarray(each[plans])

        return Arriving(
            None if self.hashed is None else some(self.hashed),
            some(self.kept),
            None if self.hashed_batches is None else some(self.hashed_batches),
            None if self.kept_batches is None else some(self.kept_batches),
            some(self.several),
        )

    def at(self, plans: slice, thin: Floats, idle2: Floats) -> Floats:
        """Shape (plans or 1, kinds or 1, scenarios or 1), of these plans.

        thin: part of all that enters which an instance of each kind is given. idle2: its idle part, squared.
        """

        def of(each: Floats) -> Floats:
            return (each[plans] if each.shape[0] > 1 else each)[:, None]

        found = of(self.kept)
        if self.hashed is not None:
            found = thin * of(self.hashed) + found
        if (self.several > 0).any():
            # Albin's hybrid (1984), with the constant of MERGED: over short spans many streams look Poisson.
            found = found / (1 + idle2 * (MERGED * of(self.several)))
        if self.kept_batches is not None:
            found = found + of(self.kept_batches)
        if self.hashed_batches is not None:
            found = found + thin * of(self.hashed_batches)
        return found

    def ca2(self, loads: KindLoads) -> Floats:
        """Squared variation of the gaps between arrivals at an instance of each kind, shape (plans or 1, kinds or 1,
        scenarios or 1).
        """
        thin, busy = loads.by_plan(loads.thin), loads.by_plan(np.minimum(loads.busy, 1.0))
        return 1 + self.at(slice(None), thin, (1 - busy) ** 2)


def _sum(one: Floats | None, other: Floats | None) -> Floats | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


class Variability:
    """Takes one operator after the other, in topological order, and keeps only what later ones need.

    arrival_cv2: of the arrivals to each source; 1 is Poisson. Which instance of it an arrival comes to is taken as
    random: partitions of a log by key are, and nobody deals to them in turn.
    """

    def __init__(self, topology: Topology, arrival_cv2: float) -> None:
        self._topology = topology
        self._arrival_cv2 = arrival_cv2
        self._together: dict[str, Floats] = {}
        self._alone: dict[str, Floats] = {}
        self._senders: dict[str, Floats] = {}
        self._taken: dict[str, Floats] = {}
        self._number: dict[str, npt.NDArray[np.int64]] = {}
        self._readers = {name: len(topology.outputs(name)) for name in topology.order}

    def take(self, flow: OperatorFlow, loads: KindLoads) -> tuple[Arriving, npt.NDArray[np.int64]]:
        """At the instances of the operator; and a number for each plan, the same where all of that is."""
        name = flow.name
        arriving, pooled = self._arriving(flow, loads)
        before = [self._number[stream.upstream] for stream in self._topology.inputs(name)]
        number = rows_of([flow.row, *before])[1]
        self._number[name] = number
        if outputs := self._topology.outputs(name):
            entering = flow.entering_per_s
            self._taken[name], self._senders[name] = loads.by_plan(entering), loads.parallelism
            busy = np.minimum(loads.busy, 1.0)
            cs2 = loads.by_plan(loads.cv2[:, 0])
            busy2 = loads.by_plan((loads.weight * busy**2).sum(axis=1))
            self._together[name] = pooled + busy2 * (cs2 - pooled)
            if any(stream.grouping in ONE_BY_ONE for stream in outputs):
                self._alone[name] = _alone(loads, busy, arriving, cs2)
        for stream in self._topology.inputs(name):
            self._readers[stream.upstream] -= 1
            if not self._readers[stream.upstream]:
                for kept in (self._taken, self._senders, self._together, self._alone, self._number):
                    kept.pop(stream.upstream, None)
        return arriving, flow.row if arriving.by_row else number

    def _arriving(self, flow: OperatorFlow, loads: KindLoads) -> tuple[Arriving, Floats]:
        """At the instances, and of all of them together over long spans (ca²)."""
        streams = self._topology.inputs(flow.name)
        arriving = Arriving()
        if not streams:
            arriving.kept = (self._arrival_cv2 - 1) / loads.parallelism
            return arriving, np.full((1, 1), self._arrival_cv2)
        pooled: Floats = np.zeros((1, 1))
        squares: Floats = np.zeros((1, 1))
        for stream in streams:
            up = stream.upstream
            part = loads.part(stream.name)
            taken, out = self._taken[up], loads.by_plan(flow.stream_per_s[stream.name])
            made = np.where(taken > 0, out / np.where(taken > 0, taken, 1.0), 1.0)
            whole = selected_ca2(self._together[up], made)
            pooled = pooled + part * whole
            senders, receivers = senders_and_receivers(stream.grouping, self._senders[up], loads.parallelism)
            given = whole
            if stream.grouping in ONE_BY_ONE:
                of_some = some_together_ca2(self._alone[up], self._together[up], senders, self._senders[up])
                given = selected_ca2(of_some, made)
            squares = squares + part**2 / senders
            batched = bool((made > 1).any())
            batch = np.maximum(made, 1.0) if batched else np.ones((1, 1))
            if stream.grouping is Grouping.FIELDS:
                arriving.add_hashed(part * (given - batch), part * (batch - 1) if batched else None)
            else:
                short = np.maximum(batch / receivers, 1.0)
                arriving.add_kept(part * (given / receivers - short), part * (short - 1) if batched else None)
        arriving.several = 1 / squares - 1
        return arriving.plain(), pooled


def _alone(loads: KindLoads, busy: Floats, arriving: Arriving, cs2: Floats) -> Floats:
    """Squared variation of the gaps between departures of the busiest instance, shape (plans, scenarios)."""
    largest = loads.thin.argmax(axis=1)[:, None]
    thin, used = (loads.by_plan(np.take_along_axis(each, largest, 1)) for each in (loads.thin, busy))
    ca2 = 1 + arriving.at(slice(None), thin, (1 - used) ** 2)[:, 0]
    return np.asarray(ca2 + used[:, 0] ** 2 * (cs2 - ca2))


def some_together_ca2(
    alone: npt.ArrayLike, together: npt.ArrayLike, some: npt.ArrayLike, of: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Squared variation over long spans of what `some` of so many instances give, between that of one and of all."""
    one, others = np.asarray(alone, dtype=np.float64), np.maximum(np.asarray(of, dtype=np.float64) - 1, 1.0)
    return np.asarray(one + (np.asarray(some) - 1) / others * (np.asarray(together) - one))


def senders_and_receivers(
    grouping: Grouping, upstream: npt.ArrayLike, downstream: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of how many instances before it one gets a stream, and to how many each of those deals it in turn."""
    up, down = np.asarray(upstream, dtype=np.float64), np.asarray(downstream, dtype=np.float64)
    if grouping in ONE_BY_ONE:
        return np.maximum(up // down, 1.0), np.maximum(down // up, 1.0)
    return up, down if grouping in (Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE) else np.ones_like(down)
