"""Routing: the distribution of a stream's tuples over the instances of the reading operator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.key_assignment import key_shares, unplaced
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.topology import SHARES_TOLERANCE, Engine, Grouping

POINTWISE = (Grouping.FORWARD, Grouping.RESCALE, Grouping.LOCAL_OR_SHUFFLE)
"""Groupings under which an instance's input depends on the sending instance."""


@dataclass(frozen=True)
class Routing:
    """Shares of each upstream instance's output.

    shares: shape (downstream,), equal for all upstream instances, or (upstream, downstream). They sum to 1 over the
    downstream instances, unless each gets the whole stream. exact: False if they are expected values or a bound.
    """

    shares: Floats
    exact: bool = True


def routing(
    grouping: Grouping,
    upstream: int,
    downstream: int,
    *,
    engine: Engine = Engine.FLINK,
    max_parallelism: int = 128,
    keys: KeyHistogram | None = None,
    shares: Sequence[float] | None = None,
    containers: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Routing:
    """Routing of a stream from `upstream` to `downstream` instances.

    max_parallelism: of the reading operator (Flink: key groups; Storm: tasks). keys: of the stream, for FIELDS, or such
    as explain measured shares, for CUSTOM. shares: for CUSTOM, one per downstream instance, if known. containers: of
    each upstream and downstream instance, for LOCAL_OR_SHUFFLE; without them it acts as a shuffle. Raises ModelError
    for a parallelism outside 1 to max_parallelism and for shares that do not fit.
    """
    if not 1 <= downstream <= max_parallelism:
        raise ModelError(f"parallelism {downstream} is not between 1 and max_parallelism {max_parallelism}")
    match grouping:
        case Grouping.SHUFFLE:
            return Routing(np.full(downstream, 1 / downstream))
        case Grouping.ALL:
            return Routing(np.ones(downstream))
        case Grouping.GLOBAL:
            only_first = np.zeros(downstream)
            only_first[0] = 1.0
            return Routing(only_first)
        case Grouping.FIELDS:
            shared = key_shares(engine, downstream, max_parallelism, keys)
            return Routing(shared, downstream == 1 or unplaced(engine, keys) is None)
        case Grouping.FORWARD if upstream != downstream:
            # Flink rebalances what was forward at the parallelism that the job was submitted with.
            return Routing(np.full((upstream, downstream), 1 / downstream))
        case Grouping.FORWARD | Grouping.RESCALE:
            return Routing(_pointwise(upstream, downstream))
        case Grouping.LOCAL_OR_SHUFFLE:
            return Routing(_local_first(upstream, downstream, engine, containers))
        case Grouping.CUSTOM:
            if shares is None:
                # Each instance is a group of its own: any key may go to any.
                return Routing(key_shares(engine, downstream, downstream, keys))
            return Routing(_given(downstream, shares))


def partition_shares(partitions: int | None, parallelism: int) -> Floats:
    """Share of a source's input that each instance reads, shape (parallelism,): partitions are dealt out whole, and
    carry the same load. Without partitions all shares are equal.
    """
    if partitions is None:
        return np.full(parallelism, 1 / parallelism)
    read = partitions // parallelism + (np.arange(parallelism) < partitions % parallelism)
    return np.asarray(read / partitions)


def _pointwise(upstream: int, downstream: int) -> Floats:
    """Each instance sends to its own subset in turn; one to one if both parallelisms are equal.

    Flink: consumer j reads producers floor(j·u/d) up to floor((j+1)·u/d), at least one of them.
    """
    reads = np.zeros((upstream, downstream))
    for reader in range(downstream):
        first = reader * upstream // downstream
        last = max(first + 1, (reader + 1) * upstream // downstream)
        reads[first:last, reader] = 1.0
    return np.asarray(reads / reads.sum(axis=1, keepdims=True))


def _local_first(
    upstream: int, downstream: int, engine: Engine, containers: tuple[Sequence[int], Sequence[int]] | None
) -> Floats:
    """Storm prefers instances in its own worker if there are any; in Heron the grouping is a plain shuffle."""
    even = np.full((upstream, downstream), 1 / downstream)
    if containers is None or engine is Engine.HERON:
        return even
    giving, reading = (np.asarray(each) for each in containers)
    if giving.size != upstream or reading.size != downstream:
        raise ModelError(
            f"containers of {giving.size} and {reading.size} instances are given for {upstream} and {downstream}; "
            "give one for each"
        )
    local = (giving[:, None] == reading[None, :]).astype(np.float64)
    there = local.sum(axis=1, keepdims=True)
    return np.where(there > 0, local / np.maximum(there, 1.0), even)


def _given(downstream: int, shares: Sequence[float]) -> Floats:
    given = np.asarray(shares, dtype=np.float64)
    if given.size != downstream:
        raise ModelError(
            f"a custom grouping gives {given.size} shares for {downstream} instances; give one for each, as its "
            "routing to another number is unknown"
        )
    if not np.isfinite(given).all() or (given < 0).any() or abs(given.sum() - 1) > SHARES_TOLERANCE:
        raise ModelError(f"shares {given.tolist()} of a custom grouping; give numbers from 0 to 1 that add up to 1")
    return given
