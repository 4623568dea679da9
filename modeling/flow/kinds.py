"""Groups instances with similar input, so that waits are computed per kind instead of per instance."""

from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats, Ints

ALIKE = 0.01
"""Instances that differ by at most this share of the busiest one's input form one kind with their mean, if about as
busy; by up to eleven times that if they get less. With the busiest at a utilisation of .9, the time in M/M/1, 1/(1 −
ρ), is then off by at most a thousandth everywhere, since its curvature falls with (1 − ρ)³. Saturation is computed from
the busiest instance itself, not from its kind."""

EXACTLY = 1e-6
"""Instances that differ only by rounding."""

_MIN_PART = 1e-9
_PRIME = 67108879


@dataclass(frozen=True)
class Kinds:
    """The distinct instances of an operator; shorter rows are padded with empty kinds.

    number: instances of each kind, shape (rows, kinds). shares: one instance's share of each term, shape (rows, terms,
    kinds). service_factor: of their nodes, shape (rows, kinds), None if all are 1. of: the kind of each instance, shape
    (rows, instances), -1 for absent ones.
    """

    number: Ints
    shares: Floats
    service_factor: Floats | None
    of: Ints

    def mean(self, values: Floats) -> Floats:
        """Mean over the instances of each kind, shape (rows, kinds, scenarios). values: of each instance, shape (rows,
        instances, scenarios).
        """
        belongs = self.of[:, None] == np.arange(self.number.shape[1])[:, None]
        return np.asarray(belongs @ values / np.maximum(self.number, 1)[:, :, None])

    def per_instance(self, term_per_s: Floats) -> Floats:
        """Sum for one instance of each kind, shape (rows, kinds, scenarios), from terms (rows, terms, scenarios)."""
        if self.shares.shape[1] == 1:
            return np.asarray(self.shares[:, 0, :, None] * term_per_s)
        return np.asarray(self.shares.transpose(0, 2, 1) @ term_per_s)


def kinds_of(
    shares: Floats, service_factor: Floats | None, parallelism: Ints, alike: float, stretch: Floats | None = None
) -> Kinds:
    """shares: shape (rows, terms, instances); service_factor: (rows, instances); parallelism: (rows,). stretch: of
    service times by shared cores, shape (rows, instances), None if all are 1.
    """
    rows, terms, most = shares.shape
    there = np.arange(most) < parallelism[:, None]
    key = np.zeros((rows, most), dtype=np.int64)
    for at in range(terms):
        part = np.maximum(shares[:, at] / np.maximum(shares[:, at].max(axis=1, keepdims=True), 1e-300), _MIN_PART)
        # Steps of 11 · alike · (1.1 − part).
        steps = np.log(part) / alike if alike == EXACTLY else -np.log(1.1 - part) / (11 * alike)
        key = key * _PRIME + np.round(steps).astype(np.int64)
    for factor in (service_factor, stretch):
        if factor is not None:
            key = key * _PRIME + np.round(np.log(factor) / alike).astype(np.int64)
    key[~there] = np.iinfo(np.int64).max
    order = np.argsort(key, axis=1, kind="stable")
    ordered = np.take_along_axis(key, order, 1)
    kind = np.zeros((rows, most), dtype=np.int64)
    kind[:, 1:] = np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1)
    present = np.take_along_axis(there, order, 1)
    count = int(kind[present].max()) + 1
    place = (np.arange(rows)[:, None] * count + kind)[present]

    def summed(values: Floats) -> Floats:
        weights = np.take_along_axis(values, order, 1)[present]
        return np.asarray(np.bincount(place, weights, rows * count), dtype=np.float64).reshape(rows, count)

    number = np.bincount(place, minlength=rows * count).reshape(rows, count)
    of = np.empty((rows, most), dtype=np.int64)
    np.put_along_axis(of, order, np.where(present, kind, -1), 1)
    some = np.maximum(number, 1)
    return Kinds(
        number,
        np.stack([summed(shares[:, at]) / some for at in range(terms)], axis=1),
        None if service_factor is None else np.where(number > 0, summed(service_factor) / some, 1.0),
        of,
    )
