"""Throughput of a closed network of customers that think and visit stations with load-dependent speed.

Solved by convolution (Buzen 1973), exact for product-form networks (Baskett, Chandy, Muntz and Palacios 1975). A whole
network's throughput with 1, 2 … customers can serve as a station of a larger network: its flow equivalent (Chandy,
Herzog and Woo 1975).
"""

from collections.abc import Sequence

import numpy as np

from modeling.arrays import Floats


def closed_throughput_per_s(customers: int, delay_s: float, stations: Sequence[Floats]) -> Floats:
    """Cycles per second with 1 to `customers` customers, shape (customers,).

    delay_s: per cycle, without waiting. stations: for each, cycles per second with 1 to `customers` customers present,
    above 0, shape (customers,). Without delay and stations the throughput is infinite.
    """
    counts = np.arange(1, customers + 1)
    # Use logarithms: Z^n/n! for hundreds of customers exceeds the range of floats.
    with np.errstate(divide="ignore"):
        log_g = np.concatenate(([0.0], np.cumsum(np.log(delay_s) - np.log(counts))))
    for rates_per_s in stations:
        log_g = _convolved(log_g, np.concatenate(([0.0], -np.cumsum(np.log(rates_per_s)))))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(log_g[:-1] - log_g[1:])) if np.isfinite(log_g[1]) else np.full(customers, np.inf)


def _convolved(left: Floats, right: Floats) -> Floats:
    """log of Σ exp(left[k] + right[n − k]) over k, for each n."""
    return np.array([np.logaddexp.reduce(left[: n + 1] + right[n::-1]) for n in range(left.size)])
