"""Latencies at the sinks for many plans under many scenarios: means, and quantiles of mixtures.

modeling/latency/moments.py computes them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modeling.arrays import Flags, Floats
from modeling.errors import ModelError
from modeling.queueing.queues import UNSTABLE
from modeling.queueing.three_moments import EvenTimes, ThreeMoments, mixture_quantile_s

CELLS = 2**15
"""Plans × kinds of instances × scenarios computed at once, so that they stay in a core's cache."""


@dataclass(frozen=True)
class SinkTimes:
    """Latency of the tuples at one sink; arrays of one shape. weight: their share of the tuples at all sinks. held_up:
    share of them that a recurring pause held up somewhere, and the latency of these and of the others; None without
    pauses. Both together have the moments of `times`, but no distribution that three moments tell.
    """

    weight: Floats
    times: ThreeMoments
    held_up: tuple[Floats, EvenTimes, ThreeMoments] | None = None

    @classmethod
    def of(cls, weight: Floats, *arrays: Floats) -> "SinkTimes":
        times = ThreeMoments(*arrays[:3])
        if len(arrays) == 3:
            return cls(weight, times)
        return cls(weight, times, (arrays[3], EvenTimes(*arrays[4:7]), ThreeMoments(*arrays[7:])))

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """The arguments for `of`."""
        found = (self.weight, *self.times.arrays)
        if self.held_up is None:
            return found
        share, late, others = self.held_up
        return (*found, share, *late.arrays, *others.arrays)

    def parts(self) -> list[tuple[Floats, ThreeMoments]]:
        """Latencies that three moments tell, with their shares of this sink's tuples."""
        if self.held_up is None:
            return [(np.ones_like(self.weight), self.times)]
        share, late, others = self.held_up
        return [(1 - share, others), (share, late)]


@dataclass(frozen=True)
class ManyLatencies:
    """Seconds from arrival until the last service at a sink, UNSTABLE if the plan does not carry the load.

    All of one shape: that of utilisation without its last axis. stable: whether the load is carried. unknown: whether
    the plan does not fit; its values are NaN.
    """

    sinks: Mapping[str, SinkTimes]
    stable: Flags
    unknown: Flags

    def map(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> "ManyLatencies":
        """`change` applied to every array."""
        sinks = {name: SinkTimes.of(*(change(each) for each in sink.arrays)) for name, sink in self.sinks.items()}
        return ManyLatencies(sinks, change(self.stable), change(self.unknown))

    @cached_property
    def mean_s(self) -> Floats:
        """Mean over the tuples at all sinks."""
        return self._where_stable(np.asarray(sum(sink.weight * sink.times.mean_s for sink in self.sinks.values())))

    @property
    def p50_s(self) -> Floats:
        return self.quantile_s(0.5)

    @property
    def p95_s(self) -> Floats:
        return self.quantile_s(0.95)

    @property
    def p99_s(self) -> Floats:
        return self.quantile_s(0.99)

    def quantile_s(self, share: float, sink: str | None = None) -> Floats:
        """Quantile `share` of the tuples at a sink, or at all sinks. Raises ModelError for a share outside (0, 1) and
        an unknown sink.
        """
        if not 0 < share < 1:
            raise ModelError(f"quantile {share} is not between 0 and 1; 0.99 is the p99")
        if sink is not None and sink not in self.sinks:
            raise ModelError(f"{sink!r} is no sink; sinks are {', '.join(self.sinks)}")
        if sink not in self._known.setdefault(share, {}):
            # Mix the sinks' distributions, since some sinks are often much slower than others.
            some = [
                (part if sink else part * each.weight, times)
                for name, each in self.sinks.items()
                if sink in (None, name)
                for part, times in each.parts()
            ]
            self._known[share][sink] = self._where_stable(_in_blocks(share, some, self.stable.shape))
        return self._known[share][sink]

    @cached_property
    def _known(self) -> dict[float, dict[str | None, Floats]]:
        return {}

    def _where_stable(self, times_s: Floats) -> Floats:
        return np.where(self.stable, times_s, np.where(self.unknown, np.nan, UNSTABLE))


def _in_blocks(share: float, parts: Sequence[tuple[Floats, ThreeMoments]], shape: tuple[int, ...]) -> Floats:
    """mixture_quantile_s of arrays of one shape, in blocks that stay in a core's cache."""
    flat = [[np.broadcast_to(each, shape).reshape(-1) for each in (part, *times.arrays)] for part, times in parts]
    found = np.empty(flat[0][0].size)
    for begin in range(0, found.size, CELLS):
        at = slice(begin, begin + CELLS)
        some = [
            (weight[at], type(times)(*(each[at] for each in arrays)))
            for (weight, *arrays), (_, times) in zip(flat, parts, strict=True)
        ]
        found[at] = mixture_quantile_s(share, some)
    return found.reshape(shape)
