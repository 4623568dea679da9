"""Sources that poll: they ask for tuples every so often, and get so many at most."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError

_MAX_S = 1e6


@dataclass(frozen=True)
class Polling:
    """One instance asks every interval_s and gets at most most_per_poll tuples (Kafka: max.poll.records).

    So it takes in no more than most_per_poll / interval_s, and a tuple waits evenly between nothing and interval_s
    until it is asked for.
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
        """Seconds of an instance's time that a tuple takes up at least: at one tuple every so long it is full.

        >>> Polling(0.1, 500).least_s
        0.0002
        """
        return self.interval_s / self.most_per_poll
