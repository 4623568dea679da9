"""Dhalion: detect backpressure, diagnose its cause, resolve it, one operator per round."""

import math
from collections.abc import Mapping

import numpy as np

from modeling.inputs.topology import Topology
from planner.replay.policy import Decision, Seen

WINDOW_S = 300.0
COOLDOWN_S = 180.0
CATCH_UP_S = 600.0
NOISE = 0.02
"""Share of the time; suspension up to this is no backpressure."""
MAX_SUSPENDED = 0.999
MAX_GROWTH = 4.0
IDLE_S = 1.0
"""A backlog of fewer seconds of arrivals counts as none."""


class Dhalion:
    """The rules of the paper (Floratou et al., VLDB 2017), with the thresholds of Heron's implementation.

    With backpressure, the operator that causes it gets ⌈n·(1 + u)⌉ instances; u = b / (1 − b), at most 4, where b is
    the share of the last 300 s in which the operators before it were suspended: the missing capacity, 1 − μ/λ. Without
    backpressure and backlog, the least busy operator is scaled down by a tenth; if backpressure follows, that is undone
    and the operator is left alone from then on (the blacklist). After any action it waits 180 s, and up to 600 s while
    the backlog of the rescale itself drains, as that is not an effect of the action. Sources are never scaled down.
    Skewed data and slow instances, for which it has other remedies, are left alone.
    """

    name = "dhalion"
    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, topology: Topology, most: Mapping[str, int], down_factor: float = 0.9) -> None:
        self._topology, self._most, self._down = topology, most, down_factor
        # A full source shows no backpressure, so nothing would show that it has too few instances.
        self._kept = {*topology.sources, *topology.given_parallelism}
        self._acted_s = -math.inf
        self._lowered: tuple[str, int] | None = None
        self._blacklist: set[str] = set()

    def decide(self, seen: Seen) -> Decision | None:
        since_s = max(seen.running_since_s, self._acted_s + COOLDOWN_S)
        known = seen.measured.last(WINDOW_S, since_s)
        if seen.changing or not known.minutes or seen.at_s - since_s < 60:
            return None
        if seen.at_s < seen.running_since_s + CATCH_UP_S and known.backlog[-1].sum() < known.backlog[0].sum():
            return None
        suspended, busiest = known.suspended.mean(axis=0), known.busiest.mean(axis=0)
        if suspended.max() > NOISE:
            decision = self._scale_up(seen, suspended, busiest)
        elif known.minutes * 60 >= WINDOW_S and self._idle(known.backlog, known.arrivals_per_s):
            decision = self._scale_down(seen, busiest)
        else:
            decision = None
        if decision is not None:
            self._acted_s = seen.at_s
        return decision

    def _scale_up(self, seen: Seen, suspended: np.ndarray, busiest: np.ndarray) -> Decision | None:
        # Backpressure starts at a full operator that is not blocked itself: the one furthest downstream.
        position = max(
            (at for at in range(len(self._topology.order)) if suspended[at] <= NOISE), key=lambda at: busiest[at]
        )
        name = self._topology.order[position]
        share = min(float(suspended.max()), MAX_SUSPENDED)
        growth = min(share / (1 - share), MAX_GROWTH)
        now = seen.plan[name]
        if self._lowered and self._lowered[0] == name:
            self._blacklist.add(name)
            count, why = self._lowered[1], f"backpressure followed the scale-down of {name}: undone, and not done again"
        else:
            count = math.ceil(now * (1 + growth) - 1e-9)
            why = f"{name} holds others up for {share:.0%} of the time: {growth:.2g} times as much more is needed"
        self._lowered = None
        count = max(now, min(count, self._most[name]))
        return (
            None
            if count == now or name in self._topology.given_parallelism
            else Decision({**seen.plan, name: count}, why)
        )

    def _scale_down(self, seen: Seen, busiest: np.ndarray) -> Decision | None:
        able = [
            (float(busiest[at]), name)
            for at, name in enumerate(self._topology.order)
            if seen.plan[name] > 1 and name not in self._kept and name not in self._blacklist
        ]
        if not able:
            return None
        busy, name = min(able)
        now = seen.plan[name]
        self._lowered = (name, now)
        count = max(1, min(now - 1, math.floor(now * self._down)))
        return Decision({**seen.plan, name: count}, f"no backpressure, nothing waits, and {name} is {busy:.0%} busy")

    @staticmethod
    def _idle(backlog: np.ndarray, arrivals_per_s: np.ndarray) -> bool:
        return bool(backlog.mean() <= IDLE_S * arrivals_per_s.mean() + 1e-6)
