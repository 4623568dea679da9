"""How a simulated engine carries out a change of plan, and how it recovers from a failure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.state import Restored
from modeling.rescaling.state_restore import StateRestore
from modeling.rescaling.warm_up import WARM, WarmUp


@dataclass(frozen=True)
class EngineTerms:
    """Times and sizes that decide a rescale.

    downtime_s: of any change, without restoring state. lead_s: from requesting more instances until they are available;
    the old plan runs on meanwhile. cooldown_s: between a change and the start of the next. checkpoints: tuples
    processed after the last complete one are processed again after a change or a failure; None: none are.
    restore_s_per_gib: time to restore state, added to the downtime. state_gib: per operator. restored,
    parallel_restore: which state is restored, and whether by all instances at once (see StateRestore). buffered: tuples
    per source that fit between it and a full operator (Flink's network buffers, Storm's `topology.max.spout.pending`,
    up to Heron's water marks); only the rest waits at the source. warm_up: of the job after a change or a failure.
    """

    downtime_s: float
    lead_s: float = 0.0
    cooldown_s: float = 0.0
    checkpoints: Checkpoints | None = None
    restore_s_per_gib: float = 0.0
    state_gib: Mapping[str, float] = field(default_factory=dict)
    restored: Restored = Restored.WHOLE_JOB
    parallel_restore: bool = False
    buffered: float = 0.0
    warm_up: WarmUp = WARM

    def __post_init__(self) -> None:
        for name in ("downtime_s", "lead_s", "cooldown_s", "restore_s_per_gib", "buffered"):
            check_numbers("simulated engine", name, getattr(self, name))

    @property
    def every_s(self) -> float:
        """Seconds between checkpoints; a job makes one at a time. Infinite without checkpoints."""
        return max(self.checkpoints.interval_s, self.checkpoints.duration_s) if self.checkpoints else math.inf

    def stop_s(self, asked_s: float, free_s: float, *, grows: bool) -> float:
        """When the job stops for a change, in epoch seconds. free_s: when the previous change was done. grows:
        instances are added.

        An engine that rescales on completion of a checkpoint waits for the next one.
        """
        ready_s = asked_s + (self.lead_s if grows else 0.0)
        if self.cooldown_s:
            ready_s = max(ready_s, free_s + self.cooldown_s)
        known = self.checkpoints
        if known is None or not known.rescales_on_completion:
            return ready_s
        return math.ceil((ready_s - known.duration_s) / self.every_s) * self.every_s + known.duration_s

    def begun_s(self, stopped_s: float) -> float:
        """When the last checkpoint that was complete at the stop had begun; checkpoints begin at multiples of their
        interval since the epoch.
        """
        known = self.checkpoints
        if known is None:
            return stopped_s
        return math.floor((stopped_s - known.duration_s) / self.every_s) * self.every_s

    @property
    def restore(self) -> StateRestore:
        return StateRestore(self.restore_s_per_gib, self.state_gib, self.restored, self.parallel_restore)

    @property
    def whole_s(self) -> float:
        """Downtime in which all state is restored, by one instance per operator if all restore in parallel: the longest
        that a change can take.
        """
        sizes = self.state_gib.values()
        return self.downtime_s + self.restore_s_per_gib * (
            max(sizes, default=0.0) if self.parallel_restore else sum(sizes)
        )

    def change_s(self, topology: Topology, before: Mapping[str, int], after: Mapping[str, int]) -> float:
        """Downtime of a change, or of a failure if both plans are equal: then all state is restored."""
        if not self.restore.takes_time:
            return self.downtime_s
        if dict(before) == dict(after):
            return self.downtime_s + self.restore.restart_s(topology, PhysicalPlan(topology.name, after))
        old, new = (PhysicalPlan(topology.name, counts) for counts in (before, after))
        return self.downtime_s + self.restore.change_s(topology, old, new)
