"""State: the amounts saved, restored and moved when one plan replaces another.

Flink keeps keyed state in key groups, each owned by one instance; instance i of p owns a contiguous range of them
(KeyGroupRangeAssignment). Storm and Heron restart without state; they do not move external state of operators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from modeling.arrays import Floats, Ints
from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Topology
from modeling.rescaling.recovery import check_numbers


class Restored(StrEnum):
    """What is read from the checkpoint store before processing resumes."""

    WHOLE_JOB = "whole job"
    """Flink's schedulers restart every task of a job with all-to-all connections, so all state is read again."""

    CHANGED_OPERATORS = "changed operators"
    """Operators with unchanged parallelism keep their state in place."""

    MOVED_KEY_GROUPS = "moved key groups"
    """Local recovery: only key groups without a copy on the same task manager are fetched."""


@dataclass(frozen=True)
class StateMove:
    """GiB at changes of plan; all arrays have the same shape.

    saved_gib: all state of the job, as written by a savepoint. restored_gib: read again, over all instances.
    largest_gib: read by the instance of the new plan that reads most. moved_gib: of key groups whose instance index
    changes.
    """

    saved_gib: Floats
    restored_gib: Floats
    largest_gib: Floats
    moved_gib: Floats


def state_move(
    topology: Topology,
    state_gib: Mapping[str, float],
    before: PhysicalPlan,
    after: Sequence[PhysicalPlan],
    *,
    restored: Restored = Restored.WHOLE_JOB,
) -> StateMove:
    """State moves from `before` to each plan of `after`, arrays of shape (plans,). Operators missing in `state_gib`
    have no state.

    Assumes that all state is keyed and spread evenly over key groups; list state (offsets of a source) is ignored. A
    plan with the parallelism of `before` is not a rescale and moves nothing.
    Raises ModelError for state of an unknown operator, or of a negative or non-finite size.
    """
    move = _moves(topology, state_gib, [before], after, restored)
    return StateMove(move.saved_gib[0], move.restored_gib[0], move.largest_gib[0], move.moved_gib[0])


def state_moves(
    topology: Topology,
    state_gib: Mapping[str, float],
    plans: Sequence[PhysicalPlan],
    *,
    restored: Restored = Restored.WHOLE_JOB,
) -> StateMove:
    """State moves from each plan to each other, arrays of shape (plans, plans); otherwise like state_move."""
    return _moves(topology, state_gib, plans, plans, restored)


def _moves(
    topology: Topology,
    state_gib: Mapping[str, float],
    before: Sequence[PhysicalPlan],
    after: Sequence[PhysicalPlan],
    restored: Restored,
) -> StateMove:
    for name, gib in state_gib.items():
        known = {operator.name for operator in topology.operators}
        if name not in known:
            raise ModelError(f"state of the unknown operator {name!r}; known are {', '.join(sorted(known))}")
        check_numbers(f"state of operator {name!r}", "its size in GiB", gib)
    for plan in (*before, *(() if after is before else after)):
        plan.check(topology)
    shape = len(before), len(after)
    saved, total, largest, moved = (np.zeros(shape) for _ in range(4))
    if topology.engine is not Engine.FLINK:
        return StateMove(saved, total, largest, moved)
    now, then = (
        np.array([[plan.parallelism[name] for plan in of] for name in topology.order]) for of in (before, after)
    )
    rescaled = (now[:, :, None] != then[:, None, :]).any(axis=0)
    for at, name in enumerate(topology.order):
        if not (gib := state_gib.get(name, 0.0)):
            continue
        groups = topology.operator(name).max_parallelism
        # Plans are many, but the parallelisms of one operator are few.
        counts, place = np.unique(np.concatenate([now[at], then[at]]), return_inverse=True)
        pairs = place[: shape[0], None], place[None, shape[0] :]
        read, most = _groups_read(counts, groups, restored)
        changed = rescaled if restored is Restored.WHOLE_JOB else rescaled & (pairs[0] != pairs[1])
        saved += gib * rescaled
        total += np.where(changed, gib * read[pairs] / groups, 0.0)
        largest = np.maximum(largest, np.where(changed, gib * most[pairs] / groups, 0.0))
        moved += gib * key_groups_moved(counts[:, None], counts[None, :], groups)[pairs] / groups
    return StateMove(saved, total, largest, moved)


def _groups_read(counts: Ints, groups: int, restored: Restored) -> tuple[Ints, Ints]:
    """Key groups read for a change between any two parallelisms, over all instances and by the one that reads most;
    shape (counts, counts).
    """
    shape = counts.size, counts.size
    if restored is not Restored.MOVED_KEY_GROUPS:
        return np.full(shape, groups), np.broadcast_to(-(-groups // counts), shape)
    each = [[_key_groups_fetched(before, after, groups) for after in counts.tolist()] for before in counts.tolist()]
    fetched = np.array(each, dtype=np.int64)
    return fetched[..., 0], fetched[..., 1]


def key_groups_moved(before: npt.ArrayLike, after: npt.ArrayLike, key_groups: int = 128) -> Ints:
    """Number of key groups whose instance index changes; exact, broadcast over parallelisms.

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


def largest_share(parallelism: int, key_groups: int = 128) -> float:
    """Share of an operator's key groups at the instance with most of them.

    >>> largest_share(3, 8)  # 3, 3 and 2
    0.375
    """
    return -(-key_groups // parallelism) / key_groups


@lru_cache(maxsize=65536)
def _key_groups_fetched(before: int, after: int, key_groups: int) -> tuple[int, int]:
    """Minimum number of key groups to fetch if each new instance takes the best old one's place, and the maximum of
    these for one instance.

    Flink's adaptive scheduler with local recovery chooses greedily among remaining slots, so it fetches at least as
    many.
    """
    old, new = (-(-np.arange(count + 1) * key_groups // count) for count in (before, after))
    overlap = np.maximum(0, np.minimum(old[1:, None], new[None, 1:]) - np.maximum(old[:-1, None], new[None, :-1]))
    rows, columns = scipy.optimize.linear_sum_assignment(overlap, maximize=True)
    fetched = np.diff(new)
    fetched[columns] -= overlap[rows, columns]
    return int(fetched.sum()), int(fetched.max())
