"""The time to restore state at a change of plan: the part of a downtime that depends on the plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.state import Restored, StateMove, largest_share, state_move, state_moves


@dataclass(frozen=True)
class StateRestore:
    """s_per_gib: seconds per GiB of restored state: of all of it or, if all instances read at once at equal speed
    (parallel), of the instance that reads most. state_gib: per operator. restored: which state is read.
    """

    s_per_gib: float = 0.0
    state_gib: Mapping[str, float] = field(default_factory=dict)
    restored: Restored = Restored.WHOLE_JOB
    parallel: bool = False

    def __post_init__(self) -> None:
        check_numbers("state that is read again", "s_per_gib", self.s_per_gib)
        for name, gib in self.state_gib.items():
            check_numbers(f"state of operator {name!r}", "its size in GiB", gib)

    @property
    def takes_time(self) -> bool:
        return self.s_per_gib > 0 and any(self.state_gib.values())

    def between_s(self, topology: Topology, plans: Sequence[PhysicalPlan]) -> Floats:
        """Restore time of the change from each plan to each other, shape (plans, plans)."""
        if not self.takes_time:
            return np.zeros((len(plans), len(plans)))
        return self._read_s(state_moves(topology, self.state_gib, plans, restored=self.restored))

    def change_s(self, topology: Topology, before: PhysicalPlan, plan: PhysicalPlan) -> float:
        """Restore time of the change from one plan to another."""
        if not self.takes_time:
            return 0.0
        return float(self._read_s(state_move(topology, self.state_gib, before, [plan], restored=self.restored))[0])

    def restart_s(self, topology: Topology, plan: PhysicalPlan) -> float:
        """Restore time of a restart under the same plan, as after a failure: all state is read."""
        if not self.parallel:
            return self.s_per_gib * sum(self.state_gib.values())
        return self.s_per_gib * max(
            (
                gib * largest_share(plan.parallelism[name], topology.operator(name).max_parallelism)
                for name, gib in self.state_gib.items()
            ),
            default=0.0,
        )

    def _read_s(self, move: StateMove) -> Floats:
        return self.s_per_gib * (move.largest_gib if self.parallel else move.restored_gib)


NO_RESTORE = StateRestore()
