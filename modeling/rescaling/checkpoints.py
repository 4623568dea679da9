"""Checkpoints: their timing, and the arrivals that are replayed after restoring one."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints that start every interval_s and complete duration_s later (end to end, including alignment).

    rescales_on_completion: the engine waits for a checkpoint to complete before it rescales (Flink's adaptive scheduler
    since FLIP-461).
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
        """Seconds of arrivals that are replayed after a restart from the last complete checkpoint.

        A checkpoint contains the arrivals before its start. The restart is independent of checkpoints, so the age of
        the last complete one is uniform between duration_s and duration_s + the time between two; `level` is its
        quantile (1: the worst). A checkpoint longer than the interval delays the next, since Flink runs one at a time.

        >>> Checkpoints(interval_s=60.0, duration_s=5.0).replayed_s(), Checkpoints(60.0, 5.0).replayed_s(1.0)
        (35.0, 65.0)
        """
        if not 0 <= level <= 1:
            raise ModelError(f"level {level} of what is processed again is not between 0 and 1")
        if self.rescales_on_completion:
            return self.duration_s
        return self.duration_s + level * max(self.interval_s, self.duration_s)
