"""What calibration knows of each operator: service time and its spread, selectivity, key histogram."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class KeyHistogram:
    """Shares of the tuples per key of a fields-grouped stream.

    shares: per key (its text, as the engine hashes it), heaviest keys at least. What the shares lack to 1 is the
    residual: many light keys, taken as spread evenly.
    """

    shares: Mapping[str, float]

    def __post_init__(self) -> None:
        for key, share in self.shares.items():
            if not 0 <= share <= 1:
                raise ModelError(f"key histogram: share {share} of key {key!r} is not between 0 and 1")
        if self.total > 1 + 1e-9:
            raise ModelError(f"key histogram: shares add up to {self.total:.6f} > 1; they are shares of one stream")

    @property
    def total(self) -> float:
        return float(sum(self.shares.values()))


@dataclass(frozen=True)
class OperatorProfile:
    """One operator as measured.

    service_s: mean busy seconds of one instance per tuple in (for a source: per tuple emitted).
    service_s_error: standard error of service_s in seconds. service_cv2: squared coefficient of variation of the
    service time of single tuples. selectivity: tuples out per tuple in, per stream name (`a->b`).
    samples: how many measurements it rests on; 0 where a person declared it.
    """

    operator: str
    service_s: float
    selectivity: Mapping[str, float] = field(default_factory=dict)
    service_s_error: float = 0.0
    service_cv2: float = 1.0
    keys: KeyHistogram | None = None
    samples: int = 0

    def __post_init__(self) -> None:
        where = f"profile of operator {self.operator!r}"
        if not (np.isfinite(self.service_s) and self.service_s >= 0):
            raise ModelError(f"{where}: service time {self.service_s} s; give a finite number of seconds, not negative")
        if not (np.isfinite(self.service_cv2) and self.service_cv2 >= 0):
            raise ModelError(f"{where}: service_cv2 {self.service_cv2}; give a finite number, not negative")
        for stream, ratio in self.selectivity.items():
            if not (np.isfinite(ratio) and ratio >= 0):
                raise ModelError(f"{where}: selectivity {ratio} of stream {stream}; give a finite number, not negative")


Profiles = Mapping[str, OperatorProfile]
"""Profiles by operator name."""
