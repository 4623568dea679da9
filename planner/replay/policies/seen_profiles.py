"""Service times as the running job shows them, for policies that plan by profiles, as calibration keeps them true."""

from collections import deque

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Topology
from planner.replay.policy import Measured, Seen
from planner.replay.reality import slower

MINUTE_S = 60.0
KEPT_MINUTES, FEWEST_MINUTES = 360, 10
MATTERS = 0.02
"""Smaller changes are left alone, as plans are looked for anew with every other profile."""


class SeenProfiles:
    """What is believed, each operator as much slower as its instances were busier than that tells."""

    def __init__(self, topology: Topology, believed: Profiles) -> None:
        self._topology, self._believed = topology, believed
        self._factors: Floats = np.ones(len(topology.order))
        # Seconds busy, and those that were believed, of each operator in a minute.
        self._busy_s: deque[tuple[Floats, Floats]] = deque(maxlen=KEPT_MINUTES)
        self._seen = 0
        self.profiles = believed

    def take(self, seen: Seen) -> None:
        """What is new in the metrics, of minutes in which the plan of now ran wholly."""
        measured = seen.measured
        instances = np.array([seen.plan[name] for name in self._topology.order])
        for row in range(self._seen, measured.minutes):
            whole = measured.up_s[row] == MINUTE_S and measured.start_s[row] >= seen.running_since_s
            if whole and not seen.changing:
                self._busy_s.append((measured.busy[row] * instances, self._believed_busy(measured, row)))
        self._seen = measured.minutes

    def refresh(self) -> bool:
        """Bring the profiles to what was seen; whether they are others now."""
        if len(self._busy_s) < FEWEST_MINUTES:
            return False
        busy, believed = (np.sum(each, axis=0) for each in zip(*self._busy_s, strict=True))
        factors = np.where((busy > 0) & (believed > 0), busy / np.where(believed > 0, believed, 1.0), self._factors)
        if np.abs(factors / self._factors - 1).max() < MATTERS:
            return False
        self._factors = factors
        names = zip(self._topology.order, factors.tolist(), strict=True)
        self.profiles = {name: slower(self._believed[name], factor) for name, factor in names}
        return True

    def _believed_busy(self, measured: Measured, row: int) -> Floats:
        """Instances of each operator that were busy all the time, by what is believed of what came in."""
        streams = {s.name: float(measured.streams_per_s[row, at]) for at, s in enumerate(self._topology.streams)}
        into = measured.records_in_per_s[row].tolist()
        of = zip(self._topology.order, into, strict=True)
        return np.array([self._worked(self._believed[name], rate, streams) for name, rate in of])

    def _worked(self, profile: OperatorProfile, rate_per_s: float, streams: dict[str, float]) -> float:
        own = {name: rate for name, rate in streams.items() if name in profile.stream_service_s}
        rest = max(0.0, rate_per_s - sum(own.values()))
        return rest * profile.service_s + sum(rate * profile.stream_service_s[name] for name, rate in own.items())
