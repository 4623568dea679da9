"""Computes many calm minutes together, with the same result as the simulator's minute-by-minute steps.

In a calm minute all arrivals are taken in at once: nothing waits, no limit is full and no change is under way, so its
metrics follow from its rates alone. Most minutes of a replay are calm.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from modeling.arrays import Floats
from modeling.flow.linear import FULL
from planner.clusters.fluid_queues import FluidNetwork
from planner.clusters.simulator_course import MINUTE_S, warms_up_until_s
from planner.clusters.simulator_state import SimulatorState
from planner.replay.load import Load
from planner.replay.reality import Reality

SPAN = 360
"""Minutes computed together."""
_KEPT = 8
"""Cached spans: time goes forward, so few are requested again."""


@dataclass(frozen=True)
class CalmSpan:
    """calm_until: for each minute, the next one in which a network cannot take in all arrivals, itself included. per_s:
    arrivals at each source, shape (minutes, sources). busiest: busy share of the busiest instance of each operator, in
    topological order, shape (minutes, operators).
    """

    calm_until: list[int]
    per_s: Floats
    busiest: Floats


@dataclass(frozen=True)
class _Under:
    """The network of a plan from one moment until the next turn of reality."""

    parallelism: Mapping[str, int]
    from_s: float
    until_s: float
    network: FluidNetwork


class CalmMinutes:
    """Calm minutes of one load in one reality."""

    def __init__(self, load: Load, reality: Reality) -> None:
        self._start_s = load.start_s
        counts = np.column_stack([load.rate_per_s[name] for name in reality.topology.sources]) * MINUTE_S
        # The same rounding as in ArrivalTrace: from the rate of a window to its tuples per minute.
        self._per_s = (counts / MINUTE_S * MINUTE_S) / MINUTE_S
        self._reality = reality
        self._spans = lru_cache(_KEPT)(self._span)
        self._under: _Under | None = None

    def until(self, state: SimulatorState, at_s: float, to_s: float) -> tuple[int, int, FluidNetwork] | None:
        """Indices of the first calm minute from at_s on and of the one after the last, up to to_s and at most to the
        end of a span, and their network; None if the first minute is not calm. state: at at_s, except for its time.
        """
        # Only the simulator tracks a warm-up, and what a checkpoint covers.
        if at_s < warms_up_until_s(state, self._reality.terms):
            return None
        if at_s % MINUTE_S or at_s < state.down_until_s or any(state.content) or self._reality.terms.checkpoints:
            return None
        under = self._under
        if under is None or under.parallelism is not state.parallelism or not under.from_s <= at_s < under.until_s:
            network = self._reality.network(state.parallelism, at_s)
            under = self._under = _Under(state.parallelism, at_s, self._reality.turn_s(at_s), network)
        event_s = under.until_s if state.asked is None else min(under.until_s, state.asked.stop_s)
        first = int(at_s - self._start_s) // MINUTE_S
        # A minute that ends with an event is left to the simulator.
        end_s = min(to_s, at_s + (math.ceil((event_s - at_s) / MINUTE_S) - 1) * MINUTE_S) if event_s <= to_s else to_s
        last = int(end_s - self._start_s) // MINUTE_S
        if last <= first or under.network.linear.windows:
            return None
        number, begin = divmod(first, SPAN)
        calm_until = number * SPAN + self.span(under.network, number).calm_until[begin]
        return (first, min(last, calm_until), under.network) if calm_until > first else None

    def span(self, network: FluidNetwork, number: int) -> CalmSpan:
        """The minutes from number × SPAN on."""
        return self._spans(_Same(network), number)

    def _span(self, same: "_Same", number: int) -> CalmSpan:
        per_s = self._per_s[number * SPAN : (number + 1) * SPAN]
        linear = same.network.linear
        rows = _weighted(linear.rows[0], per_s)
        used = np.maximum.reduceat(rows, linear.first_row, axis=1)
        busiest = used[:, : linear.operators] * MINUTE_S / MINUTE_S
        calm = used.max(axis=1) <= 1 / FULL
        breaks = np.where(calm, len(calm), np.arange(len(calm)))
        return CalmSpan(np.minimum.accumulate(breaks[::-1])[::-1].tolist(), per_s, np.minimum(1.0, busiest))


@dataclass(frozen=True, eq=False)
class _Same:
    """A network as a cache key, compared by identity, as networks are not hashable."""

    network: FluidNetwork

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.network is self.network

    def __hash__(self) -> int:
        return id(self.network)


def _weighted(weights: Floats, per_s: Floats) -> Floats:
    """Sums of rates with weights of shape (sums, sources), added in the simulator's order; shape (minutes, sums)."""
    total = np.zeros((len(per_s), len(weights)))
    for source in range(per_s.shape[1]):
        total = total + per_s[:, source, None] * weights[:, source]
    return total
