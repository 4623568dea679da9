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

from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Topology

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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

    saved_gib: all state of the job, as a savepoint writes it. restored_gib: read again, over all instances.
    largest_restored_gib: read again by the instance that reads most. moved_gib: of key groups whose number of instance
    changes.
    """

    saved_gib: Floats
    restored_gib: Floats
    largest_restored_gib: Floats
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

    Assumes that all state is keyed and spread evenly over key groups: a heavy key makes the largest instance larger
    than this says, list state (offsets of a source) is taken as nothing. A plan with the parallelism of `before` is no
    rescale and moves nothing.
    Raises ModelError for state of an unknown operator, or of a size that is negative or not finite.
    """
    for name, gib in state_gib.items():
        known = {operator.name for operator in topology.operators}
        if name not in known:
            raise ModelError(f"state of the unknown operator {name!r}; known are {', '.join(sorted(known))}")
        if not np.isfinite(gib) or gib < 0:
            raise ModelError(f"state of operator {name!r} is {gib} GiB; give a finite size, not below 0")
    for plan in (before, *after):
        plan.check(topology)
    saved, total, largest, moved = (np.zeros(len(after)) for _ in range(4))
    if topology.engine is not Engine.FLINK:
        return StateMove(saved, total, largest, moved)
    rescaled = np.array([not plan.same_parallelism(before) for plan in after], dtype=bool)
    for name, gib in state_gib.items():
        groups = topology.operator(name).max_parallelism
        now = before.parallelism[name]
        then = np.array([plan.parallelism[name] for plan in after], dtype=np.int64)
        own = largest_share(then, groups)
        match restored:
            case Restored.WHOLE_JOB:
                share, most = rescaled.astype(np.float64), own * rescaled
            case Restored.CHANGED_OPERATORS:
                share, most = (then != now).astype(np.float64), own * (then != now)
            case Restored.MOVED_KEY_GROUPS:
                fetched = [_fetched_by_instance(now, int(count), groups) for count in then]
                share = np.array([sum(by_instance) for by_instance in fetched]) / groups
                most = np.array([max(by_instance) for by_instance in fetched]) / groups
        saved += gib * rescaled
        total += gib * share
        largest += gib * most
        moved += gib * key_groups_moved(now, then, groups) / groups
    return StateMove(saved, total, largest, moved)


def key_groups_moved(before: npt.ArrayLike, after: npt.ArrayLike, key_groups: int = 128) -> Ints:
    """How many key groups belong to an instance of another number afterwards; exact, broadcast over parallelisms.

    Group g belongs to instance ⌊g·p/G⌋.

    >>> key_groups_moved(2, [1, 2, 4])  # 2 → 4: only the first quarter stays with instance 0
    array([64,  0, 96])
    """
    now, then = np.broadcast_arrays(np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64))
    _check_parallelism(now, key_groups)
    _check_parallelism(then, key_groups)
    group = np.arange(key_groups)
    changed = group * now[..., None] // key_groups != group * then[..., None] // key_groups
    return np.asarray(changed.sum(axis=-1), dtype=np.int64)


def key_groups_fetched(before: npt.ArrayLike, after: npt.ArrayLike, key_groups: int = 128) -> Ints:
    """Fewest key groups that must be fetched from elsewhere if each new instance takes the best old one's place.

    Flink's adaptive scheduler with local recovery chooses greedily, and only among slots that are still there: it
    fetches as many or more.

    >>> key_groups_fetched(2, [1, 2, 4])
    array([64,  0, 64])
    """
    now, then = np.broadcast_arrays(np.asarray(before, dtype=np.int64), np.asarray(after, dtype=np.int64))
    _check_parallelism(now, key_groups)
    _check_parallelism(then, key_groups)
    fewest = [
        sum(_fetched_by_instance(int(b), int(a), key_groups)) for b, a in zip(now.ravel(), then.ravel(), strict=True)
    ]
    return np.array(fewest, dtype=np.int64).reshape(now.shape)


def key_groups_held(parallelism: int, key_groups: int = 128) -> Ints:
    """Key groups of each instance, shape (parallelism,): ⌈(i+1)·G/p⌉ − ⌈i·G/p⌉.

    >>> key_groups_held(3, 8)
    array([3, 3, 2])
    """
    _check_parallelism(np.asarray(parallelism), key_groups)
    return np.diff(_range_starts(parallelism, key_groups))


def largest_share(parallelism: npt.ArrayLike, key_groups: int = 128) -> Floats:
    """The part of the key groups that the instance with most of them holds: ⌈G/p⌉/G."""
    counts = np.asarray(parallelism, dtype=np.int64)
    _check_parallelism(counts, key_groups)
    return np.asarray(-(-key_groups // counts) / key_groups, dtype=np.float64)


@lru_cache(maxsize=65536)
def _fetched_by_instance(before: int, after: int, key_groups: int) -> tuple[int, ...]:
    """Key groups that each new instance lacks, old instances matched to new ones so that they lack fewest."""
    old, new = _range_starts(before, key_groups), _range_starts(after, key_groups)
    overlap = np.maximum(0, np.minimum(old[1:, None], new[None, 1:]) - np.maximum(old[:-1, None], new[None, :-1]))
    kept = np.zeros(after, dtype=np.int64)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    kept[columns] = overlap[rows, columns]
    return tuple(int(lacking) for lacking in np.diff(new) - kept)


def _range_starts(parallelism: int, key_groups: int) -> Ints:
    return -(-np.arange(parallelism + 1) * key_groups // parallelism)


def _check_parallelism(counts: Ints, key_groups: int) -> None:
    if counts.size and (counts.min() < 1 or counts.max() > key_groups):
        wrong = counts.min() if counts.min() < 1 else counts.max()
        raise ModelError(f"parallelism {wrong} is not between 1 and the number of key groups {key_groups}")
