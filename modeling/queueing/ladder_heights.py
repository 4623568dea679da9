"""Ladder heights: the increments to a new maximum, of which waits are sums.

The wait in G/G/1 is the sum of a geometric number of ladder heights (Feller 1971, XII), possibly none. So the share of
tuples that wait and the mean wait also give the second and third moment, if the relative moments of a height are known.
"""

from functools import cache

import numpy as np

from modeling.arrays import Floats
from modeling.queueing.service_shape import ServiceShape
from modeling.queueing.two_moments import third_moment

UTILISATIONS, VARIATIONS = 49, 25
"""Points of the table for even arrivals, over utilisation and over 1 / cs2."""

_ROUNDS = 200


def poisson_heights(cs2: Floats, shape: ServiceShape | None = None) -> tuple[Floats, Floats]:
    """E[H²]/E[H]² and E[H³]/E[H]³ for Poisson arrivals: H is the residual service time at an arrival.

    cs2: of services, which have this shape, else gamma up to 1 and hyper-exponential with balanced means above
    (modeling/queueing/two_moments.py).
    """
    second = 1 + cs2
    if shape is not None:
        third, fourth = shape.moments(cs2)
    else:
        third = third_moment(cs2)
        fourth = np.where(cs2 > 1, 12 * second**2 * (cs2 - 0.5), second * (1 + 2 * cs2) * (1 + 3 * cs2))
    return third / 3 / (second / 2) ** 2, fourth / 4 / (second / 2) ** 3


def even_heights(utilisation: Floats, cs2: Floats) -> tuple[Floats, Floats]:
    """The same for constant interarrival times and cs2 > 1; equal to poisson_heights below.

    Only long services outlast a long interarrival time, so heights vary less than with Poisson arrivals.
    """
    table = _even_table()
    at = [
        np.clip(value, 0.0, 1.0) * (size - 1) * (1 - 1e-9)
        for value, size in ((utilisation, UTILISATIONS), (1 / np.maximum(cs2, 1.0), VARIATIONS))
    ]
    (row, down), (column, right) = (((low := each.astype(np.int64)), each - low) for each in at)
    found = (table[:, row, column] * (1 - down) + table[:, row + 1, column] * down) * (1 - right) + (
        table[:, row, column + 1] * (1 - down) + table[:, row + 1, column + 1] * down
    ) * right
    poisson = poisson_heights(cs2)
    return np.where(cs2 > 1, found[0], poisson[0]), np.where(cs2 > 1, found[1], poisson[1])


@cache
def _even_table() -> Floats:
    """The table of even_heights, shape (2, utilisations, variations).

    Services have two exponential phases, so heights have, too; their probabilities a are the smallest solution of a = p
    exp((T + t a) gap), with p, T and t of the services (Asmussen 1992, for GI/PH/1).
    """
    utilisation = np.linspace(0, 1, UTILISATIONS)[:, None]
    cs2 = 1 / np.maximum(np.linspace(0, 1, VARIATIONS)[None], 1e-3)
    gap = 1 / np.maximum(utilisation, 0.02)
    fast = (1 + np.sqrt((cs2 - 1) / (cs2 + 1))) / 2
    p = np.stack(np.broadcast_arrays(fast, 1 - fast, gap))[:2]
    rate = 2 * p
    a = np.zeros_like(p)
    for _ in range(_ROUNDS):
        # exp of the 2 x 2 matrix M = −diag(rate) + rate · a, by its eigenvalues.
        m = [[rate[i] * (a[j] - (i == j)) for j in range(2)] for i in range(2)]
        middle, spread = (m[0][0] + m[1][1]) / 2, (m[0][0] - m[1][1]) / 2
        root = np.maximum(np.sqrt(np.maximum(spread**2 + m[0][1] * m[1][0], 0.0)), 1e-12)
        with np.errstate(under="ignore"):
            high, low = np.exp((middle + root) * gap), np.exp((middle - root) * gap)
        even, odd = (high + low) / 2, (high - low) / 2 / root
        a = np.stack(
            [
                p[0] * (even + odd * spread) + p[1] * odd * m[1][0],
                p[1] * (even - odd * spread) + p[0] * odd * m[0][1],
            ]
        )
    share = a / np.maximum(a.sum(axis=0), 1e-300)
    mean, second, third = ((share / rate**power).sum(axis=0) for power in (1, 2, 3))
    return np.stack([2 * second / mean**2, 6 * third / mean**3])
