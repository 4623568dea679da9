"""Batch arrivals: the wait of a tuple for members of its own batch that are served before it.

With whole batches as customers, a tuple waits like its batch and then for the members before it. Their number is j with
probability P(X > j)/E[X] (Burke 1975; Chaudhry and Templeton 1983), so E[X²]/E[X] determines its mean, exactly for
Poisson batches and any services.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError

Transform = npt.NDArray[np.complex128]

_EQUAL = 1e-9
"""Batches whose sizes vary by less, relative to their mean, count as equal in size."""


@dataclass(frozen=True)
class Batches:
    """Sizes X >= 1 of batches: their mean, and the mean over tuples, E[X²]/E[X]; arrays that broadcast.

    Sizes are one plus a binomial, Poisson or negative binomial number; even ones vary as little as integers can.
    """

    mean: Floats
    of_tuple: Floats

    @classmethod
    def sized(cls, mean: npt.ArrayLike, cv2: npt.ArrayLike = 0.0) -> "Batches":
        """Batches of this mean size (at least 1) and squared coefficient of variation cv2.

        cv2: of the number made from one tuple; 0 of them make no batch. Raises ModelError for negative values.
        """
        size, spread = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(cv2, dtype=float))
        if not ((size >= 0).all() and (spread >= 0).all()):
            raise ModelError(f"batches of {size.min()} tuples, cv² {spread.min()}: none may be negative or NaN")
        return cls.between(size, np.maximum(size * (1 + spread), 1.0))

    @classmethod
    def between(cls, mean: Floats, of_tuple: Floats) -> "Batches":
        """Batches of this mean, limited to between even and geometric ones: if the number made per tuple varies more,
        some tuples make none.
        """
        return cls(np.clip(mean, (1 + of_tuple) / 2, of_tuple), np.asarray(of_tuple))

    def thinned(self, share: npt.ArrayLike, alike: npt.ArrayLike = 0.0) -> "Batches":
        """Non-empty parts of batches at one receiver that gets each tuple with probability `share`, and with it as many
        others as are `alike`.
        """
        kept, along = np.asarray(share, dtype=float), np.asarray(alike, dtype=float)
        with np.errstate(divide="ignore", under="ignore"):
            some = -np.expm1(self.mean / (1 + along) * np.log1p(-np.minimum(kept, 1.0)))
        of_tuple = 1 + along + kept * (self.of_tuple - 1 - along)
        return Batches.between(kept * self.mean / np.maximum(some, 1e-300), of_tuple)

    def routed(self, ways: npt.ArrayLike, others: npt.ArrayLike = 0.0) -> "Batches":
        """Parts of batches at one of `ways` receivers served in turn. others: of a tuple's batch, how many have turns
        of their own.
        """
        each, beside = np.asarray(ways, dtype=float), np.asarray(others, dtype=float)
        own, met = np.maximum((self.of_tuple - beside) / each, 1.0), beside / each
        return Batches(np.maximum((self.mean - beside) / each, 1.0) + met / 2, own + met)

    def beyond(self, besides: float) -> "tuple[Floats, Batches]":
        """Share of the tuples with at least so many members of their batch before them, and sizes of batches without
        these; of even and geometric sizes, others lie between.

        >>> share, sizes = Batches.sized(20.0).beyond(9.0)
        >>> float(share), float(sizes.mean)
        (0.55, 11.0)
        """
        if besides <= 0:
            return np.ones_like(self.of_tuple), self
        mean, of_tuple = np.maximum(self.mean, 1.0), np.maximum(self.of_tuple, 1.0)
        varied = np.clip((of_tuple - mean) / np.maximum(mean - 1, _EQUAL), 0.0, 1.0)
        even = (1 - varied) * np.maximum(1 - besides / of_tuple, 0.0)
        varied = varied * (1 - 1 / mean) ** besides
        share = even + varied
        weight = even / np.maximum(share, 1e-300)
        fewer = (1 - weight) * mean + weight * np.maximum(mean - besides, 1.0)
        return share, Batches.between(fewer, (1 - weight) * of_tuple + weight * np.maximum(of_tuple - besides, 1.0))

    def before(self) -> tuple[Floats, Floats, Floats]:
        """E[J], E[J²], E[J³] of the number J of members before a tuple; third and fourth moments of sizes as for a
        gamma.

        >>> [float(each) for each in Batches.sized(3.0).before()]  # 0, 1 or 2 equally likely: 1, 5/3, 3
        [1.0, 1.6666666666666667, 3.0]
        """
        second = self.of_tuple
        third = second * (2 * second - self.mean)
        fourth = third * (3 * second - 2 * self.mean)
        return (second - 1) / 2, (2 * third - 3 * second + 1) / 6, (fourth - 2 * third + second) / 4

    def waited(
        self, service_s: npt.ArrayLike, second: npt.ArrayLike, third: npt.ArrayLike
    ) -> tuple[Floats, Floats, Floats]:
        """E[T], E[T²], E[T³] of the wait for the members before a tuple. second, third: E[S²] and E[S³] relative to
        powers of the mean service time.
        """
        s, s2, s3 = (np.asarray(each, dtype=float) for each in (service_s, second, third))
        variance, skewed = s2 - 1, s3 - 3 * s2 + 2
        one, two, three = self.before()
        return (
            np.asarray(one * s),
            np.asarray((two + one * variance) * s**2),
            np.asarray((three + 3 * two * variance + one * skewed) * s**3),
        )

    def transform(self, service: Transform) -> Transform:
        """Transform of the same wait from that of a service. For scalar sizes only, not arrays.

        For one size m, (1 − z^m)/(m (1 − z)); between integers, a mixture of both neighbours with the same mean.
        """
        mean, of_tuple = float(self.mean), float(self.of_tuple)
        if of_tuple <= 1 + _EQUAL:
            return np.ones_like(service)
        if of_tuple <= mean * (1 + _EQUAL):
            whole = int(of_tuple)
            part = of_tuple - whole
            return (1 - part) * _uniform(service, whole) + part * _uniform(service, whole + 1)
        more = mean - 1
        if more <= _EQUAL:
            return np.ones_like(service)
        scatter = mean * (of_tuple - mean) / more
        if scatter < 1 - _EQUAL:
            trials = np.ceil(more / (1 - scatter))
            sizes = service * (1 - more / trials * (1 - service)) ** trials
        elif scatter < 1 + _EQUAL:
            sizes = service * np.exp(-more * (1 - service))
        else:
            sizes = service * (1 + (scatter - 1) * (1 - service)) ** (-more / (scatter - 1))
        return _tail(service, sizes, mean)


def _uniform(service: Transform, size: int) -> Transform:
    return _tail(service, service**size, float(size))


def _tail(service: Transform, sizes: Transform, mean: float) -> Transform:
    """(1 − G(z)) / (E[X] (1 − z)) for sizes with generating function G; 1 at z = 1."""
    gone = 1 - service
    there = np.abs(gone) > 1e-12
    return np.where(there, (1 - sizes) / np.where(there, mean * gone, 1.0), 1.0)


def as_customers(
    of_tuple: npt.ArrayLike, service_s: npt.ArrayLike, ca2: npt.ArrayLike, cs2: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Service time, ca2 and cs2 of whole batches from those of tuples; utilisation is the same.

    of_tuple: E[X²]/E[X], used as the size of all batches, since the mean wait in M^X/G/1 depends only on it. ca2: of
    tuples over long spans, which is of_tuple for Poisson batches.
    """
    size = np.asarray(of_tuple, dtype=float)
    return np.asarray(size * np.asarray(service_s)), np.asarray(ca2) / size, np.asarray(cs2) / size


def firing_waits(
    size: npt.ArrayLike, service_s: npt.ArrayLike, utilisation: npt.ArrayLike, other_utilisation: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """For batches of `size` at regular times, each finished before the next: the share of other tuples that arrive
    during a batch, and their longest wait; their waits are uniform between 0 and that.

    utilisation: by these batches. other_utilisation: by other tuples, which arrive meanwhile and are served after them.
    """
    longest_s = np.asarray(size, dtype=float) * np.asarray(service_s, dtype=float)
    idle = np.maximum(1 - np.asarray(other_utilisation, dtype=float), 1e-12)
    return np.minimum(np.asarray(utilisation, dtype=float) / idle, 1.0), longest_s


def poll_waits(
    interval_s: float, size: npt.ArrayLike, service_s: npt.ArrayLike, cv2: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Mean and variance of the time from a tuple's arrival until the instance turns to it, if polls find it idle: until
    the next poll, and for those that came before it since the last one. size: tuples a poll, at least 1.

    First come, first served: what comes soon after a poll waits long for the next and short in its batch, so the two
    make up for each other. Without services it is uniform over the interval; of many tuples that take a share of the
    interval together, uniform over the rest.

    >>> mean_s, variance_s2 = poll_waits(1.0, 1, 0.1, 0.0)  # alone: 1/2 and 1/12
    >>> float(mean_s), round(float(variance_s2), 4)
    (0.5, 0.0833)
    >>> mean_s, variance_s2 = poll_waits(1.0, 1000, 0.0008, 0.0)  # between .8 and 1: .9 and .2² / 12
    >>> round(float(mean_s), 3), round(float(variance_s2), 4)
    (0.9, 0.0033)
    """
    count, one_s = np.maximum(np.asarray(size, dtype=np.float64), 1.0), np.asarray(service_s, dtype=np.float64)
    # The tuple with j before it came in the j-th of `count` parts, and waits from its end on for j services.
    part_s = interval_s / count
    mean_s = interval_s / 2 + (count - 1) / 2 * one_s
    places_s2 = part_s**2 / 12 + (one_s - part_s) ** 2 * (count**2 - 1) / 12
    return mean_s, places_s2 + (count - 1) / 2 * one_s**2 * np.asarray(cv2, dtype=np.float64)
