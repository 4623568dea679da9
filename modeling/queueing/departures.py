"""Variability after stations: departures are over short spans as even as the services, over long spans as variable as
the arrivals.

A queue responds to the spans over which it fills and drains, so a stream's effect depends on the queue's memory
relative to the stations passed before (Suresh and Whitt 1990; Whitt and You 2022). The formulas were fitted to
simulated pairs of stations and validated on simulated chains (benchmarks/results/queueing.md).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats

SHARPNESS = 2.4
"""Exponent by which a longer upstream memory hides arrivals from a shorter one, if upstream services hardly vary."""

EARLIER = 0.3
"""Weight of the services of stations before the last one, at equal memories."""

_CONSTANT = 0.05
"""Sum of two stations' cs2 at which half of the effect of constant services on the second wait remains."""


def memory_s(exponential_wait_s: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
    """The span over which a station smooths arrivals: twice the wait in M/G/1.

    exponential_wait_s: the wait in M/M/1 at that utilisation, ρ s/(1 − ρ).
    """
    return np.asarray(np.asarray(exponential_wait_s, dtype=float) * (1 + np.asarray(cs2, dtype=float)))


class Carried(NamedTuple):
    """Variability of a stream; arrays that broadcast.

    long_ca2: over long spans. memory2_s2: sum of squared memories of the stations passed; 0 before the first. even_ca2:
    over short spans, from the services passed. sharp: how sharply these stations hide the arrivals.
    """

    long_ca2: Floats
    memory2_s2: Floats
    even_ca2: Floats
    sharp: Floats

    @classmethod
    def arriving(cls, ca2: npt.ArrayLike) -> "Carried":
        """External arrivals, equal over all spans."""
        given = np.asarray(ca2, dtype=float)
        return cls(given, np.zeros_like(given), np.zeros_like(given), np.zeros_like(given))

    def past(self, memory_s: npt.ArrayLike, cs2: npt.ArrayLike) -> "Carried":
        """Departures of a station with this memory and these arrivals."""
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
        """A thinned stream (kept with probability p: p, 1 − p), or one with m tuples per tuple (m, 0)."""
        by, added = np.asarray(factor, dtype=float), np.asarray(more, dtype=float)
        return Carried(self.long_ca2 * by + added, self.memory2_s2, self.even_ca2 * by + added, self.sharp)

    def varying(self, factor: npt.ArrayLike) -> "Carried":
        """A stream that is so many times as variable over long spans, as one of several that vary together."""
        return self._replace(long_ca2=self.long_ca2 * np.asarray(factor, dtype=float))

    def ca2(self, utilisation: npt.ArrayLike, memory_s: npt.ArrayLike) -> Floats:
        """Effective ca2 at a station with this utilisation (at most 1) and memory, for Kraemer and Langenbach-Belz's
        wait.

        Near saturation it is that of long spans; with longer upstream memories, that of the upstream services.
        """
        hidden = self.hidden(utilisation, memory_s)
        return np.asarray((self.long_ca2 + hidden * self.even_ca2) / (1 + hidden))

    def hidden(self, utilisation: npt.ArrayLike, memory_s: npt.ArrayLike) -> Floats:
        """Weight of short spans beside 1 of long ones at a station with this utilisation and memory."""
        ratio = np.sqrt(self.memory2_s2) / np.maximum(np.asarray(memory_s, dtype=float), 1e-12)
        return np.asarray(np.asarray(utilisation, dtype=float) * ratio * (1 + self.sharp * ratio))

    def ca2_in_line(self, utilisation: npt.ArrayLike, memory_s: npt.ArrayLike, cs2: npt.ArrayLike) -> Floats:
        """ca2 if one instance feeds exactly one: after constant services at least as long, constant services never
        wait, whatever the arrivals (Friedman 1965).
        """
        felt = self.ca2(utilisation, memory_s)
        longer = self.memory2_s2 >= (np.asarray(memory_s, dtype=float) * (1 - 1e-9)) ** 2
        constant = 1 / (1 + ((self.even_ca2 + np.asarray(cs2)) / _CONSTANT) ** 4)
        return np.where(longer & (self.memory2_s2 > 0), felt * (1 - constant), felt)

    def together(self, other: "Carried", part: npt.ArrayLike) -> "Carried":
        """Superposition with another stream that has the share `part` of all tuples (long-span values are weighted by
        rate).
        """
        its = np.asarray(part, dtype=float)
        return Carried(*(one + its * (two - one) for one, two in zip(self, other, strict=True)))
