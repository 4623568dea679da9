"""Service times as the running job shows them, for policies that plan by profiles; stands for calibration."""

from collections import deque
from dataclasses import replace
from functools import lru_cache

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import LINEAR
from planner.plan_model import PlanModel
from planner.replay.policy import MinuteMetrics, Seen

MINUTE_S = 60.0
KEPT_MINUTES, MIN_MINUTES = 360, 10
MATTERS = 0.02
"""Smaller changes are ignored, as new profiles require a new search for plans."""


class SeenProfiles:
    """The believed profiles, each scaled by how much busier its instances were than they predict."""

    def __init__(self, model: PlanModel) -> None:
        self._topology, self._believed = model.topology, model.profiles
        self._model, self._slowness = model, lru_cache(1024)(self._slowness_of)
        self._factors: Floats = np.ones(len(model.topology.order))
        # Usable minutes, and the plan that ran in each.
        self._usable: deque[tuple[int, tuple[int, ...]]] = deque(maxlen=KEPT_MINUTES)
        self._measured: MinuteMetrics | None = None
        self.profiles = model.profiles

    def take(self, seen: Seen) -> None:
        """Add new minutes of the metrics in which the present plan ran throughout."""
        measured = seen.measured
        known = 0 if self._measured is None else self._measured.minutes
        if not seen.changing:
            counts = tuple(seen.plan[name] for name in self._topology.order)
            for row in range(known, measured.minutes):
                if measured.up_s[row] == MINUTE_S and measured.start_s[row] >= seen.running_since_s:
                    self._usable.append((row, counts))
        self._measured = measured

    def refresh(self) -> bool:
        """Update the profiles to the observations. Returns whether they changed."""
        measured = self._measured
        if measured is None or len(self._usable) < MIN_MINUTES:
            return False
        minutes, counts = zip(*self._usable, strict=True)
        rows = list(minutes)
        # Busy time of each operator in instances, observed and believed.
        busy = (measured.busy[rows] * np.array(counts)).sum(axis=0)
        slowness = np.array([self._slowness(each) for each in counts])
        believed = (self._believed_busy(measured, rows) * slowness).sum(axis=0)
        factors = np.where((busy > 0) & (believed > 0), busy / np.where(believed > 0, believed, 1.0), self._factors)
        if np.abs(factors / self._factors - 1).max() < MATTERS:
            return False
        self._factors = factors
        names = zip(self._topology.order, factors.tolist(), strict=True)
        self.profiles = {name: self._believed[name].slower(factor) for name, factor in names}
        return True

    def _believed_busy(self, measured: MinuteMetrics, rows: list[int]) -> Floats:
        """Busy time of each operator in instances, by the believed profiles for the observed input if instances did
        not slow each other and ran where they were measured, shape (minutes, operators).
        """
        per_s = measured.streams_per_s[rows]
        streams = {stream.name: per_s[:, at] for at, stream in enumerate(self._topology.streams)}
        into = measured.records_in_per_s[rows].T
        of = zip(self._topology.order, into, strict=True)
        return np.column_stack([_worked(self._believed[name], per_s, streams) for name, per_s in of])

    def _slowness_of(self, counts: tuple[int, ...]) -> tuple[float, ...]:
        """By operator, its busy time under a plan as packed, over that of instances which do not slow each other and
        run where they were measured.
        """
        plan = PhysicalPlan(self._topology.name, dict(zip(self._topology.order, counts, strict=True)))
        alone = {name: replace(profile, efficiency=LINEAR) for name, profile in self._believed.items()}
        load_per_s = dict.fromkeys(self._topology.sources, 1.0)
        of = self._model.estimate(plan, load_per_s).operators
        bare = PlanModel(self._topology, alone).estimate(plan, load_per_s).operators
        busy = ((of[name].instance_utilisation.sum(), bare[name].instance_utilisation.sum()) for name in of)
        return tuple(float(placed / plain) if plain > 0 else 1.0 for placed, plain in busy)


def _worked(profile: OperatorProfile, per_s: Floats, streams: dict[str, Floats]) -> Floats:
    """Busy seconds per second, minute by minute."""
    own = {name: rate for name, rate in streams.items() if name in profile.stream_service_s}
    rest = np.maximum(0.0, per_s - sum(own.values()))
    return np.asarray(rest * profile.service_s + sum(rate * profile.stream_service_s[n] for n, rate in own.items()))
