"""Checkpoints: how late their barriers are, and how much is processed again after going back to one."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints that begin every interval_s and are complete duration_s later (end to end, alignment included).

    rescales_on_completion: the engine waits for a checkpoint to complete before it rescales (Flink's adaptive
    scheduler since FLIP-461).
    """

    interval_s: float
    duration_s: float
    rescales_on_completion: bool = False

    def __post_init__(self) -> None:
        if not np.isfinite(self.interval_s) or self.interval_s <= 0:
            raise ModelError(f"checkpoints: interval_s is {self.interval_s}; give finite seconds above 0")
        if not np.isfinite(self.duration_s) or self.duration_s < 0:
            raise ModelError(f"checkpoints: duration_s is {self.duration_s}; give finite seconds, not below 0")

    def replayed_s(self, level: float = 0.5) -> float:
        """Seconds of arrivals that are processed again after a restart from the last complete checkpoint.

        A checkpoint holds what had come when it began. The restart comes at a moment that knows nothing of the
        checkpoints, so the age of the last complete one is uniform between duration_s and duration_s + the time
        between two: `level` is the quantile of it (1: the worst). A checkpoint longer than the interval delays the
        next, as Flink runs one at a time.

        >>> Checkpoints(interval_s=60.0, duration_s=5.0).replayed_s(), Checkpoints(60.0, 5.0).replayed_s(1.0)
        (35.0, 65.0)
        """
        if not 0 <= level <= 1:
            raise ModelError(f"level {level} of what is processed again is not between 0 and 1")
        if self.rescales_on_completion:
            return self.duration_s
        return self.duration_s + level * max(self.interval_s, self.duration_s)


def barrier_s(path_delay_s: float, buffered_s: float, *, unaligned: bool = False) -> float:
    """Seconds that a checkpoint's barrier takes from the sources to the last sink.

    path_delay_s: network delay of the slowest path. buffered_s: how long the tuples in the buffers on that path take
    to be worked off: a barrier waits behind them, which is why checkpoints are late under backpressure. An unaligned
    barrier overtakes them (and they are written instead), yet travels through the same network.
    """
    if not (path_delay_s >= 0 and buffered_s >= 0):
        raise ModelError(f"barrier: path delay {path_delay_s} s, buffered {buffered_s} s: none may be negative or NaN")
    return path_delay_s + (0.0 if unaligned else buffered_s)
