"""How variability passes through stations: what leaves one is, over short spans, as even as its services, and over long
spans as variable as what came.

A queue feels the spans over which it fills and drains, so what it feels of a stream depends on how long it remembers
beside the stations that the stream has passed (Suresh and Whitt 1990; Whitt and You 2022). The forms here were found on
simulated pairs of stations and hold on simulated chains (benchmarks/queueing.py, docs/modeling/measurements.md).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats

SHARPNESS = 2.4
"""How much more than in proportion a longer memory before hides from a shorter one what came, where services before
hardly vary."""

EARLIER = 0.3
"""What the services of stations before the last still count beside the last one's, at equal memories."""

_CONSTANT = 0.05
"""Sum of two stations' cs2 at which half of what constant services would do to the second station's wait is done."""


def memory_s(exponential_wait_s: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """What decides over which spans a station evens out what comes: twice M/G/1's wait.

    exponential_wait_s: the wait in M/M/1 at that utilisation, ρ s/(1 − ρ).
    """
    return np.asarray(np.asarray(exponential_wait_s, dtype=float) * (1 + np.asarray(cs2, dtype=float)))


class Carried(NamedTuple):
    """Variability of a stream; arrays that broadcast.

    long_ca2: over long spans. memory2_s2: squared memories of the stations passed, added up; 0 before the first.
    even_ca2: over short spans, of the services passed. sharp: how sharply these stations hide what came.
    """

    long_ca2: Floats
    memory2_s2: Floats
    even_ca2: Floats
    sharp: Floats

    @classmethod
    def arriving(cls, ca2: npt.ArrayLike) -> "Carried":
        """From outside: alike over all spans."""
        given = np.asarray(ca2, dtype=float)
        return cls(given, np.zeros_like(given), np.zeros_like(given), np.zeros_like(given))

    def past(self, memory_s: npt.ArrayLike, cs2: npt.ArrayLike) -> "Carried":
        """What leaves a station of that memory to which this came."""
        own2, spread = np.asarray(memory_s, dtype=float) ** 2, np.asarray(cs2, dtype=float)
        sharp = SHARPNESS / (1 + 2 * spread) ** 2
        if not self.memory2_s2.any():
            return Carried(self.long_ca2, own2, spread, sharp)
        last = own2 / np.maximum(own2 + EARLIER * self.memory2_s2, 1e-300)
        return Carried(
            self.long_ca2,
            self.memory2_s2 + own2,
            self.even_ca2 + last * (spread - self.even_ca2),
            self.sharp + last * (sharp - self.sharp),
        )

    def scaled(self, factor: npt.ArrayLike, more: npt.ArrayLike = 0.0) -> "Carried":
        """Of a stream that is thinned (kept with probability p: p, 1 − p), or of which each tuple makes m (m, 0)."""
        by, added = np.asarray(factor, dtype=float), np.asarray(more, dtype=float)
        return Carried(self.long_ca2 * by + added, self.memory2_s2, self.even_ca2 * by + added, self.sharp)

    def ca2(self, utilisation: npt.ArrayLike, memory_s: npt.ArrayLike) -> Floats:
        """What a station of that utilisation (at most 1) and memory feels, for Kraemer and Langenbach-Belz's wait.

        Over long spans all, near saturation; what services before let through, where their memories are longer.
        """
        ratio = np.sqrt(self.memory2_s2) / np.maximum(np.asarray(memory_s, dtype=float), 1e-12)
        hidden = np.asarray(utilisation, dtype=float) * ratio * (1 + self.sharp * ratio)
        return np.asarray((self.long_ca2 + hidden * self.even_ca2) / (1 + hidden))

    def ca2_in_line(self, utilisation: npt.ArrayLike, memory_s: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
        """ca2 where one instance feeds one alone: behind constant services at least as long, constant services never
        wait, whatever came (Friedman 1965).
        """
        felt = self.ca2(utilisation, memory_s)
        longer = self.memory2_s2 >= (np.asarray(memory_s, dtype=float) * (1 - 1e-9)) ** 2
        constant = 1 / (1 + ((self.even_ca2 + np.asarray(cs2)) / _CONSTANT) ** 4)
        return np.where(longer & (self.memory2_s2 > 0), felt * (1 - constant), felt)

    def together(self, other: "Carried", part: npt.ArrayLike) -> "Carried":
        """With another stream, of which `part` of all tuples are (over long spans variations are weighed by rate)."""
        its = np.asarray(part, dtype=float)
        return Carried(*(one + its * (two - one) for one, two in zip(self, other, strict=True)))
