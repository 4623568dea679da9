"""What a stream adds to a tuple's way besides queue and service: network, serialisation, buffers that fill."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Delay:
    """What a stream adds besides queue and service: mean seconds and variance in seconds².

    Serialisation and network: a mean and its jitter. Delays of one stream add up.
    """

    mean_s: float = 0.0
    variance_s2: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.mean_s < np.inf and 0 <= self.variance_s2 < np.inf):
            raise ModelError(
                f"delay of mean {self.mean_s} s and variance {self.variance_s2} s²: give finite ones, not negative"
            )

    def __add__(self, other: "Delay") -> "Delay":
        return Delay(self.mean_s + other.mean_s, self.variance_s2 + other.variance_s2)

    @property
    def cv2(self) -> float:
        return self.variance_s2 / self.mean_s / self.mean_s if self.mean_s > 0 else 0.0


def buffer_timeout_delay(timeout_s: float) -> Delay:
    """Of a buffer that is flushed every timeout_s before it is full: uniform from 0 to timeout_s.

    >>> buffer_timeout_delay(0.1).mean_s
    0.05
    """
    return Delay(timeout_s / 2, timeout_s**2 / 12)


def batch_fill_delay(tuples: int, rate_per_s: float) -> Delay:
    """Of a buffer that leaves when it holds `tuples`, filled by a Poisson stream: each waits for those behind it.

    Those behind are 0 to tuples − 1, equally likely; each brings a gap of mean and deviation 1/rate. Raises ModelError
    where there is no rate to fill it.

    >>> batch_fill_delay(11, 10.0).mean_s  # five more on average, a tenth of a second each
    0.5
    """
    if tuples < 1 or not rate_per_s > 0:
        raise ModelError(f"a batch of {tuples} tuples at {rate_per_s}/s never fills; give a buffer time-out instead")
    behind, behind_variance = (tuples - 1) / 2, (tuples**2 - 1) / 12
    return Delay(behind / rate_per_s, (behind + behind_variance) / rate_per_s**2)
