"""What gets through a line of stations that is always full, where little room between them makes stations wait."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def full_line_throughput(stations: npt.ArrayLike, cs2: npt.ArrayLike, buffered: npt.ArrayLike) -> Floats:
    """Throughput of so many stations of equal mean service times, over that of one alone (Blumenfeld 1990).

    buffered: tuples that fit between two of them. Within 2 % of simulations and of M/M/1/K in series.

    >>> round(float(full_line_throughput(2, 1.0, 16)), 3), round(18 / 19, 3)  # two exponential ones: (B + 2)/(B + 3)
    (0.947, 0.947)
    """
    n, cv = np.asarray(stations, dtype=float), np.sqrt(np.asarray(cs2, dtype=float))
    room = np.asarray(buffered, dtype=float) / np.maximum(2 * cv, 1e-12)
    return np.asarray(1 / (1 + 1.67 * (n - 1) * cv / (1 + n + 0.31 * cv + 1.67 * n * room)))
