"""Input and utilisation of each kind of instance of an operator."""

from functools import cached_property

import numpy as np

from modeling.arrays import Floats
from modeling.flow.rates import OperatorFlow
from modeling.queueing.departures import memory_s
from modeling.queueing.queues import NEARLY_FULL


class KindLoads:
    """Input and utilisation of each kind of instance of an operator.

    row: of each plan. counts: instances of each row, shape (rows, 1). thin: share of all input for one instance of a
    kind. weight: for all instances of a kind. busy: its utilisation without polling, possibly above 1. All of shape
    (rows, kinds, scenarios). service_s: mean per tuple, same shape, or (rows, 1, scenarios or 1) if all kinds are
    equal. cv2: of service times over all streams, shape (rows, 1, scenarios or 1). busy and service_s are without
    pauses, which busy times contain.
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
            if flow.core_wait_s is not None:
                waited_s = kinds.mean(flow.core_wait_s)
                worked, idle_s = worked + taken * waited_s, idle_s + waited_s
            self.busy = worked
            self.service_s = np.where(taken > 0, worked / np.where(taken > 0, taken, 1.0), idle_s)
        if (awake := flow.profile.awake_share) < 1:
            self.busy, self.service_s = self.busy * awake, self.service_s * awake
        cv2 = _mixed_cv2(flow)
        self.cv2 = np.broadcast_to(cv2, (len(self.counts), cv2.shape[1]))[:, None]
        self.parts = _parts(flow)
        self._flow = flow

    @property
    def parallelism(self) -> Floats:
        """Parallelism of each plan, shape (plans, 1)."""
        return self.counts[self.row]

    def by_plan(self, rows: Floats) -> Floats:
        return rows if rows.shape[0] == 1 else rows[self.row]

    def part(self, stream: str) -> Floats:
        """A stream's share of all input, shape (plans or 1, scenarios)."""
        return self.by_plan(self.parts[stream])

    def work(self, stream: str) -> Floats:
        """How long a stream's tuples take over those of all streams, shape (plans or 1, scenarios)."""
        return self.by_plan(self._works[stream])

    @cached_property
    def _works(self) -> dict[str, Floats]:
        flow = self._flow
        if not flow.profile.stream_service_s or len(self.parts) < 2:
            return dict.fromkeys(self.parts, np.ones((1, 1)))
        of = {name: flow.service_s[:, at] for at, name in enumerate(flow.streams)}
        mean_s = np.asarray(sum(self.parts[name] * each for name, each in of.items()))
        return {name: np.where(mean_s > 0, each / np.where(mean_s > 0, mean_s, 1.0), 1.0) for name, each in of.items()}

    @cached_property
    def used(self) -> Floats:
        """Mean utilisation seen by a tuple, shape (plans or 1, scenarios), at most 1."""
        return self.by_plan(np.einsum("rkn,rkn->rn", self.weight, np.minimum(self.busy, 1.0)))

    @cached_property
    def exponential_wait_s(self) -> Floats:
        """Wait with Poisson arrivals and exponential services, shape (rows, kinds, scenarios)."""
        busy = np.minimum(self.busy, NEARLY_FULL)
        return np.asarray(busy / (1 - busy) * self.service_s)

    @cached_property
    def memory_s(self) -> Floats:
        """Mean memory of the instance seen by a tuple, shape (plans or 1, scenarios)."""
        wait_s = np.einsum("rkn,rkn->rn", self.weight, self.exponential_wait_s)
        return self.by_plan(memory_s(wait_s, self.cv2[:, 0]))

    @cached_property
    def apart_s(self) -> Floats:
        """Seconds between departures of a batch from all instances together, shape (plans or 1, scenarios)."""
        return self.by_plan(
            np.einsum("rkn,rkn,rkn->rn", self.weight, self.thin, np.broadcast_to(self.service_s, self.thin.shape))
        )


def _parts(flow: OperatorFlow) -> dict[str, Floats]:
    """Shares of all input by stream; each copy of an ALL stream counts as a tuple."""
    names = dict.fromkeys(flow.streams)
    if len(names) == 1:
        return dict.fromkeys(names, np.ones((1, 1)))
    copies, whole = flow.shares.sum(axis=2), flow.entering_per_s
    entering = {name: np.zeros_like(whole) for name in names}
    for at, name in enumerate(flow.streams):
        entering[name] += flow.term_per_s[:, at] * copies[:, at, None]
    some = np.where(whole > 0, whole, 1.0)
    return {name: np.where(whole > 0, each / some, 1 / len(names)) for name, each in entering.items()}


def _mixed_cv2(flow: OperatorFlow) -> Floats:
    """cv² over the tuples of all streams, including the differences of their means."""
    cv2 = flow.cv2[None]
    if not flow.profile.stream_service_s or len(flow.streams) < 2:
        return cv2
    weight, each_s = flow.term_per_s * flow.shares.sum(axis=2)[:, :, None], flow.service_s
    mean_s = (weight * each_s).sum(axis=1)
    squares = (weight * each_s**2).sum(axis=1) * weight.sum(axis=1)
    # For equal services it is cv2; rounding must not make the excess negative.
    spread = np.maximum(squares / np.where(mean_s > 0, mean_s, 1.0) ** 2, 1.0)
    return np.where(mean_s > 0, (1 + cv2) * spread - 1, cv2)
