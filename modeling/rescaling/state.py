"""State: how much of it is saved, read again and moved when a plan takes the place of another.

Flink keeps keyed state in key groups, each owned by one instance; instance i of p owns a contiguous range of them
(KeyGroupRangeAssignment). Storm and Heron restart without state: what an operator keeps elsewhere is not moved by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from modeling.arrays import Floats, Ints
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Topology
from modeling.rescaling.recovery import check_numbers


class Restored(StrEnum):
    """What is read from the store of checkpoints before processing goes on."""

    WHOLE_JOB = "whole job"
    """Flink's schedulers restart every task of a job that is connected all to all, so every state is read again."""

    CHANGED_OPERATORS = "changed operators"
    """Operators whose parallelism stays keep their state in place."""

    MOVED_KEY_GROUPS = "moved key groups"
    """Local recovery: only key groups are fetched that no instance on the same task manager has a copy of."""


@dataclass(frozen=True)
class StateMove:
    """GiB at a change to each of several plans, every array of shape (plans,).

    saved_gib: all state of the job, as a savepoint writes it. restored_gib: read again, over all instances. moved_gib:
    of key groups whose number of instance changes.
    """

    saved_gib: Floats
    restored_gib: Floats
    moved_gib: Floats


def state_move(
    topology: Topology,
    state_gib: Mapping[str, float],
    before: PhysicalPlan,
    after: Sequence[PhysicalPlan],
    *,
    restored: Restored = Restored.WHOLE_JOB,
) -> StateMove:
    """What moves from `before` to each plan of `after`. An operator that `state_gib` does not name has no state.

    Assumes that all state is keyed and spread evenly over key groups; list state (offsets of a source) is taken as
    nothing. A plan with the parallelism of `before` is no rescale and moves nothing.
    Raises ModelError for state of an unknown operator, or of a size that is negative or not finite.
    """
    for name, gib in state_gib.items():
        known = {operator.name for operator in topology.operators}
        if name not in known:
            raise ModelError(f"state of the unknown operator {name!r}; known are {', '.join(sorted(known))}")
        check_numbers(f"state of operator {name!r}", "its size in GiB", gib)
    for plan in (before, *after):
        plan.check(topology)
    saved, total, moved = (np.zeros(len(after)) for _ in range(3))
    if topology.engine is not Engine.FLINK:
        return StateMove(saved, total, moved)
    rescaled = np.array([not plan.same_parallelism(before) for plan in after], dtype=bool)
    for name, gib in state_gib.items():
        groups = topology.operator(name).max_parallelism
        now = before.parallelism[name]
        then = np.array([plan.parallelism[name] for plan in after], dtype=np.int64)
        match restored:
            case Restored.WHOLE_JOB:
                share = rescaled.astype(np.float64)
            case Restored.CHANGED_OPERATORS:
                share = (then != now).astype(np.float64)
            case Restored.MOVED_KEY_GROUPS:
                share = np.array([_key_groups_fetched(now, int(count), groups) for count in then]) / groups
        saved += gib * rescaled
        total += gib * share
        moved += gib * key_groups_moved(now, then, groups) / groups
    return StateMove(saved, total, moved)


def key_groups_moved(before: npt.ArrayLike, after: npt.ArrayLike, key_groups: int = 128) -> Ints:
    """How many key groups belong to an instance of another number afterwards; exact, broadcast over parallelisms.

    Group g belongs to instance ⌊g·p/G⌋.

    >>> key_groups_moved(2, [1, 2, 4])  # 2 → 4: only the first quarter stays with instance 0
    array([64,  0, 96])
    """
    now, then = np.broadcast_arrays(np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64))
    both = np.stack([now, then])
    if (wrong := both[(both < 1) | (both > key_groups)]).size:
        raise ModelError(f"parallelism {wrong[0]} is not between 1 and the number of key groups {key_groups}")
    group = np.arange(key_groups)
    changed = group * now[..., None] // key_groups != group * then[..., None] // key_groups
    return np.asarray(changed.sum(axis=-1), dtype=np.int64)


@lru_cache(maxsize=65536)
def _key_groups_fetched(before: int, after: int, key_groups: int) -> int:
    """Fewest key groups that must be fetched from elsewhere if each new instance takes the best old one's place.

    Flink's adaptive scheduler with local recovery chooses greedily, and only among slots that are still there: it
    fetches as many or more.
    """
    old, new = (-(-np.arange(count + 1) * key_groups // count) for count in (before, after))
    overlap = np.maximum(0, np.minimum(old[1:, None], new[None, 1:]) - np.maximum(old[:-1, None], new[None, :-1]))
    return key_groups - int(overlap[linear_sum_assignment(overlap, maximize=True)].sum())
