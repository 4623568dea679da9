"""What a schedule weighs against each other, all in instance-hours."""

from dataclasses import dataclass
from math import inf

from modeling.inputs.physical_plan import PhysicalPlan, adds_instances
from modeling.inputs.topology import Topology
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore

HOURLY_S = 3600
"""From one forecast to the next, as the DAGs make them unless they are told otherwise."""


@dataclass(frozen=True)
class Prices:
    """violation_h: of a minute in which the target is missed. rescale_h: of one change of plan; started_h: of each
    instance that it starts or stops; moved_gib_h: of each GiB of state that it gives to another instance.
    """

    violation_h: float
    rescale_h: float = 1.0
    started_h: float = 0.0
    moved_gib_h: float = 0.0


@dataclass(frozen=True)
class DisruptionPrices:
    """In instance-hours, beside that of a rescale: of each instance that it starts or stops, and of each GiB of state
    that it gives to another instance.
    """

    started_h: float = 0.0
    moved_gib_h: float = 0.0


@dataclass(frozen=True)
class ChangeTerms:
    """lead_s: from asking for more instances until they are there. downtime_s: of a change, but for the time in which
    restore says that state is read again. apart_s: least time from
    the end of one change until the next is asked for. max_lag_s: of the target. react_s: for how long more may come
    than a plan carries until somebody acts on it and another one is ready, at the price of its downtime; never at inf.
    max_step: instances that one change may start or stop in all. only_out: no change takes instances away. replanned_s:
    from one forecast, and the plan made by it, to the next.
    """

    lead_s: float
    downtime_s: float
    apart_s: float
    max_lag_s: float
    react_s: float = inf
    max_step: float = inf
    only_out: bool = False
    restore: StateRestore = NO_RESTORE
    replanned_s: float = HOURLY_S

    @property
    def held_s(self) -> float:
        """For how long what somebody has added is held unneeded: half the way to the next forecast, on average."""
        return self.replanned_s / 2

    def stops_after_s(self, before: PhysicalPlan, plan: PhysicalPlan) -> float:
        """Seconds from asking for a plan until the job stops for it: what only shrinks waits for no instances."""
        return self.lead_s if adds_instances(before.parallelism, plan.parallelism) else 0.0

    def down_s(self, topology: Topology, before: PhysicalPlan, plan: PhysicalPlan) -> float:
        """Seconds for which the job is down for a plan in place of another."""
        return self.downtime_s + self.restore.change_s(topology, before, plan)
