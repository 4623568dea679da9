"""Recurring pauses, in which an instance takes nothing: garbage collection, alignment of checkpoints, compaction."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Pauses:
    """An instance stands still for length_s, every interval_s from start to start. Service times include pauses, as
    busy times do, so they cost no capacity beside these.
    """

    interval_s: float
    length_s: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.interval_s) and 0 < self.length_s < self.interval_s):
            raise ModelError(
                f"pauses of {self.length_s:g} s every {self.interval_s:g} s; give a length above 0, "
                "and a longer interval"
            )

    @property
    def share(self) -> float:
        """Of the time.

        >>> Pauses(interval_s=10, length_s=0.5).share
        0.05
        """
        return self.length_s / self.interval_s
