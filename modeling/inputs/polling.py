"""Polling sources, which ask for a limited number of tuples at intervals."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError

_MAX_S = 1e6


@dataclass(frozen=True)
class Polling:
    """One instance polls every interval_s and gets at most most_per_poll tuples (Kafka: max.poll.records).

    So its intake is at most most_per_poll / interval_s, and a tuple waits between 0 and interval_s, uniformly, until it
    is polled.
    """

    interval_s: float
    most_per_poll: int

    def __post_init__(self) -> None:
        if not (np.isfinite(self.interval_s) and 0 <= self.interval_s <= _MAX_S):
            raise ModelError(f"polling every {self.interval_s} s; give seconds, not below 0, at most {_MAX_S:g}")
        if self.most_per_poll < 1:
            raise ModelError(f"polling of at most {self.most_per_poll} tuples; give at least 1")

    @property
    def least_s(self) -> float:
        """Minimum seconds of an instance's time per tuple: with one tuple per least_s it is full.

        >>> Polling(0.1, 500).least_s
        0.0002
        """
        return self.interval_s / self.most_per_poll
