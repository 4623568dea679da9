"""Delays of a stream besides queue and service: network, serialisation, filling of buffers."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class Delay:
    """Delay of a stream besides queue and service: mean in seconds and variance in seconds².

    Serialisation and network: a mean and its jitter. Delays of one stream add up. parts: shares of the tuples and their
    delays, where some have much longer ways than others; none if all are alike.
    """

    mean_s: float = 0.0
    variance_s2: float = 0.0
    parts: tuple[tuple[float, "Delay"], ...] = ()

    def __post_init__(self) -> None:
        if not (0 <= self.mean_s < np.inf and 0 <= self.variance_s2 < np.inf):
            raise ModelError(
                f"delay of mean {self.mean_s} s and variance {self.variance_s2} s²: give finite ones, not negative"
            )

    def __add__(self, other: "Delay") -> "Delay":
        some = self.parts or other.parts
        parts = tuple((share * its, one + two) for share, one in self.ways for its, two in other.ways) if some else ()
        return Delay(self.mean_s + other.mean_s, self.variance_s2 + other.variance_s2, parts)

    @property
    def ways(self) -> "tuple[tuple[float, Delay], ...]":
        return self.parts or ((1.0, self),)

    @property
    def cv2(self) -> float:
        return self.variance_s2 / self.mean_s / self.mean_s if self.mean_s > 0 else 0.0
