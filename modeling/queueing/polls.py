"""Waits at an instance that polls for its tuples at intervals, and then works them off one by one."""

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats


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
