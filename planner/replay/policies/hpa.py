"""Kubernetes' HorizontalPodAutoscaler on CPU utilisation, one per operator."""

import math
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType

from modeling.inputs.topology import Topology
from planner.replay.policy import Decision, Seen

TOLERANCE = 0.1
STABILISATION_S = 300.0
INITIALISATION_S = 300.0
NO_FLOOR: Mapping[str, int] = MappingProxyType({})


class HorizontalPodAutoscaler:
    """desired = ⌈current · utilisation / target⌉, no change within the tolerance of 0.1.

    It scales down to the largest count that it wanted in the last 300 s, and up at once: its limit of doubling in 15 s
    exceeds what a minute's metric can ask for. All of this is autoscaling/v2's default. An instance's busy share counts
    as its CPU use, which holds for computation. Its best form here: all operators are changed in one rescale, none
    while one is under way, and none in the 5 minutes after it, in which Kubernetes attributes a pod's CPU use to its
    start.
    """

    every_s = 60.0
    first: Mapping[str, int] | None = None

    def __init__(self, topology: Topology, target: float, most: Mapping[str, int]) -> None:
        self.name = f"hpa-{target * 100:.0f}"
        self._topology, self._target, self._most = topology, target, most
        self._wanted: deque[tuple[float, dict[str, int]]] = deque()

    def decide(self, seen: Seen, floor: Mapping[str, int] = NO_FLOOR) -> Decision | None:
        """floor: counts by another metric, which decide where they are larger."""
        if seen.changing or seen.measured.last(60.0, seen.running_since_s + INITIALISATION_S).minutes == 0:
            return None
        busy = dict(zip(self._topology.order, seen.measured.busy[-1].tolist(), strict=True))
        fixed = self._topology.given_parallelism
        wanted = {
            name: now if name in fixed else max(self._desired(name, now, busy[name]), floor.get(name, 0))
            for name, now in seen.plan.items()
        }
        self._wanted.append((seen.at_s, wanted))
        while self._wanted[0][0] < seen.at_s - STABILISATION_S:
            self._wanted.popleft()
        plan = {}
        for name, now in seen.plan.items():
            stable = max(then[name] for _, then in self._wanted)
            plan[name] = wanted[name] if wanted[name] > now else min(now, stable)
        if plan == dict(seen.plan):
            return None
        shares = ", ".join(f"{name} {busy[name]:.0%}" for name, count in plan.items() if count != seen.plan[name])
        return Decision(plan, f"busy: {shares}; the target is {self._target:.0%}")

    def _desired(self, name: str, now: int, busy: float) -> int:
        ratio = busy / self._target
        desired = now if abs(ratio - 1) <= TOLERANCE else math.ceil(now * ratio - 1e-9)
        return max(1, min(desired, self._most[name]))
