"""The cost of replacing the running plan: downtime, backlog, catch-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.recovery import recovery
from modeling.rescaling.rescale_model import RescaleModel
from modeling.rescaling.state import Restored, StateMove, state_move
from modeling.rescaling.warm_up import WARM, WarmUp

LEVEL = 0.95


@dataclass(frozen=True)
class PlanChange:
    """The running plan, and how the engine replaces it. with_savepoint: all state is saved first, and nothing is
    processed twice; else the engine restores the last of `checkpoints`. parallel_restore: all instances read at once,
    so the rescale model's restored GiB are those of the instance that reads most. warm_up: of the new plan.
    """

    current: PhysicalPlan
    rescale: RescaleModel
    checkpoints: Checkpoints | None = None
    with_savepoint: bool = False
    restored: Restored = Restored.WHOLE_JOB
    parallel_restore: bool = False
    warm_up: WarmUp = WARM

    @property
    def replayed_s(self) -> float:
        """Seconds of arrivals that are replayed."""
        return 0.0 if self.checkpoints is None or self.with_savepoint else self.checkpoints.replayed_s()


@dataclass(frozen=True)
class RescaleEstimate:
    """A change of plan under a steady load. downtime_p95_s: p95 of the downtime. replayed_s: seconds of arrivals that
    are replayed. backlog: tuples waiting when processing resumes, over all sources. catch_up_s: until none wait,
    infinite if the new plan has no spare capacity. peak_lag_s: the longest wait. lost_s: seconds of work at full speed
    that the new plan loses while it warms up.
    """

    current_plan_id: str
    downtime_s: float
    downtime_p95_s: float
    restored_gib: float
    moved_gib: float
    replayed_s: float
    backlog: float
    catch_up_s: float
    peak_lag_s: float
    lost_s: float = 0.0

    @property
    def recovery_s(self) -> float:
        """Downtime and catch-up."""
        return self.downtime_s + self.catch_up_s


def rescale_estimate(
    topology: Topology,
    state_gib: Mapping[str, float],
    change: PlanChange,
    plan: PhysicalPlan,
    load_per_s: float,
    capacity_per_s: float,
    backlog: float = 0.0,
) -> RescaleEstimate:
    """The cost of the change to `plan`. state_gib: per operator. load, capacity: over all sources, in their mix.
    backlog: tuples waiting when processing stops.

    A plan with the same parallelism and packing is not a change and costs nothing.
    """
    if change.current.plan_id == plan.plan_id:
        return RescaleEstimate(plan.plan_id, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    move, saved_gib = _moved(topology, state_gib, change, [plan])
    read, saved, replayed_s = float(_read_gib(change, move)[0]), float(saved_gib[0]), change.replayed_s
    downtime_s = float(change.rescale.downtime_s(read, saved))
    # Unbounded capacity drains at once.
    most_per_s, warm_up = min(capacity_per_s, 1e12), change.warm_up
    cost = recovery(load_per_s, most_per_s, downtime_s, replayed_s=replayed_s, backlog=backlog, warm_up=warm_up)
    return RescaleEstimate(
        current_plan_id=change.current.plan_id,
        downtime_s=downtime_s,
        downtime_p95_s=float(change.rescale.downtime_quantile_s(LEVEL, read, saved)),
        restored_gib=float(move.restored_gib[0]),
        moved_gib=float(move.moved_gib[0]),
        replayed_s=replayed_s,
        backlog=float(cost.backlog),
        catch_up_s=float(cost.catch_up_s),
        peak_lag_s=float(cost.peak_lag_s),
        lost_s=warm_up.whole_lost_s,
    )


def downtimes_s(
    topology: Topology, state_gib: Mapping[str, float], change: PlanChange, plans: Sequence[PhysicalPlan]
) -> Floats:
    """Expected downtime of the change to each plan, shape (plans,), as in rescale_estimate."""
    move, saved_gib = _moved(topology, state_gib, change, plans)
    runs = np.array([plan.plan_id == change.current.plan_id for plan in plans], dtype=bool)
    return np.where(runs, 0.0, change.rescale.downtime_s(_read_gib(change, move), saved_gib))


def _read_gib(change: PlanChange, move: StateMove) -> Floats:
    """The GiB that determine the duration of the restore."""
    return move.largest_gib if change.parallel_restore else move.restored_gib


def _moved(
    topology: Topology, state_gib: Mapping[str, float], change: PlanChange, plans: Sequence[PhysicalPlan]
) -> tuple[StateMove, Floats]:
    """The state moved by the change to each plan, and the GiB saved before the job stops, shape (plans,)."""
    move = state_move(topology, state_gib, change.current, plans, restored=change.restored)
    return move, move.saved_gib if change.with_savepoint else np.zeros(len(plans))
