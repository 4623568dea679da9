"""Quantiles of times from mean, variance and skewness, for millions of times at once.

A shifted gamma distribution with all three (Pearson's type III); exact for a constant plus a gamma, hence for
exponential and Erlang times. Its quantiles and survival, in standard deviations from the mean, depend only on the
skewness and are tabulated. For cv² above 1, as with few highly variable services, a two-phase hyper-exponential with
the three moments (Whitt 1982) takes over, completely from VARIED on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from modeling.arrays import Flags, Floats

POINTS = 2048
"""Points of the table of quantiles, over all skewness from minus to plus infinity."""

SKEWS, LOWEST, HIGHEST, STEP = 256, -6.0, 24.0, 0.02
"""Table of survival: points over skewness; lowest, highest and step of deviations from the mean."""

VARIED = 1.5
"""Squared coefficient of variation from which only the hyper-exponential counts."""

TINY, LARGE = 1e-90, 1e4
"""Limits for small times, and for large cv² and skewness, so that cubes stay finite."""

_STEPS = 8
"""Steps of regula falsi, to about a thousandth of the initial interval."""

_NEWTON = 5

_WIDEST = 0.98


@dataclass(frozen=True)
class ThreeMoments:
    """Times with three known moments; arrays that broadcast."""

    mean_s: Floats
    deviation_s: Floats
    skewness: Floats

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.mean_s, self.deviation_s, self.skewness

    def quantile_s(self, share: float) -> Floats:
        """Quantile `share` (0 < share < 1), never below 0.

        >>> one = ThreeMoments(np.array(2.0), np.array(2.0), np.array(2.0))  # exponential: 2 ln 20
        >>> round(float(one.quantile_s(0.95)), 3)
        5.991
        """
        at, table = _quantiles(share)
        deviations = np.interp(_place(self.skewness), at, table)
        times_s = np.asarray(np.maximum(self.mean_s + self.deviation_s * deviations, 0.0))
        varied = self._varied()
        if not varied.any():
            return times_s
        times_s = np.array(np.broadcast_to(times_s, varied.shape))
        part, phases = varied[varied > 0], self._phases(varied > 0)
        times_s[varied > 0] = times_s[varied > 0] * (1 - part) + phases.quantile_s(share) * part
        return times_s

    def survival(self, time_s: Floats) -> Floats:
        """P(T > time), to some thousandths."""
        shares = self._gamma_survival(time_s)
        varied = self._varied()
        if not varied.any():
            return shares
        at = np.broadcast_to(varied > 0, shares.shape)
        part = np.broadcast_to(varied, shares.shape)[at]
        shares[at] = (
            shares[at] * (1 - part) + self._phases(at).survival(np.broadcast_to(time_s, shares.shape)[at]) * part
        )
        return shares

    def _gamma_survival(self, time_s: Floats) -> Floats:
        table = _survivals()
        column = (_place(self.skewness) + _WIDEST) * ((SKEWS - 1) / (2 * _WIDEST))
        deviations = (time_s - self.mean_s) / np.maximum(self.deviation_s, TINY)
        row = np.clip((deviations - LOWEST) * (1 / STEP), 0.0, table.shape[1] - 1.001)
        column = np.clip(column, 0.0, SKEWS - 1.001)
        left, low = column.astype(np.int64), row.astype(np.int64)
        right, high = column - left, row - low
        flat = left * table.shape[1] + low
        values = table.ravel()
        below = values[flat] * (1 - high) + values[flat + 1] * high
        flat += table.shape[1]
        above = values[flat] * (1 - high) + values[flat + 1] * high
        return np.asarray(below * (1 - right) + above * right)

    def _varied(self) -> Floats:
        """Weight of the hyper-exponential, 0 to 1; 0 if none has these moments."""
        mean, deviation, skewness = np.broadcast_arrays(self.mean_s, self.deviation_s, self.skewness)
        cv = np.minimum(deviation / np.maximum(mean, TINY), LARGE)
        # x and y of _phases, over powers of the mean.
        third = np.minimum(skewness, LARGE) * cv**3 + 3 * cv**2 + 1
        possible = (third > 1.5 * (1 + cv**2) ** 2 * (1 + 1e-9)) & (cv > 1 + 1e-6)
        return np.where(possible, np.clip((cv**2 - 1) / (VARIED - 1), 0.0, 1.0), 0.0)

    def _phases(self, at: Flags) -> "_Phases":
        mean, deviation, skewness = (
            np.broadcast_to(each, at.shape)[at] for each in (self.mean_s, self.deviation_s, self.skewness)
        )
        cv2 = np.minimum(deviation / mean, LARGE) ** 2
        third = np.minimum(skewness, LARGE) * cv2**1.5 + 3 * cv2 + 1
        x, y = third - 1.5 * (1 + cv2) ** 2, cv2 - 1
        middle, root = x + 1.5 * y**2 + 3 * y, np.sqrt((x + 1.5 * y**2 - 3 * y) ** 2 + 18 * y**3)
        slow, fast = (middle + root) / (6 * y), np.maximum((middle - root) / (6 * y), 0.0)
        return _Phases((1 - fast) / (slow - fast), slow * mean, fast * mean)


@dataclass(frozen=True)
class EvenTimes(ThreeMoments):
    """Times that are spread evenly between two ends, like waits for the end of a pause: uniform without skewness, and
    as other times from a skewness of 1 on.

    >>> one = EvenTimes(np.array(2.0), np.array(3**-0.5), np.array(0.0))  # between 1 and 3
    >>> float(one.quantile_s(0.75).round(3)), float(one.survival(np.array(2.5)).round(3))
    (2.5, 0.25)
    """

    def quantile_s(self, share: float) -> Floats:
        even_s = self.mean_s + self.deviation_s * (2 * share - 1) * 3**0.5
        return np.asarray(super().quantile_s(share) * (1 - self._even) + np.maximum(even_s, 0.0) * self._even)

    def survival(self, time_s: Floats) -> Floats:
        deviations = (time_s - self.mean_s) / np.maximum(self.deviation_s, TINY)
        even = np.clip((1 - deviations / 3**0.5) / 2, 0.0, 1.0)
        return np.asarray(super().survival(time_s) * (1 - self._even) + even * self._even)

    @property
    def _even(self) -> Floats:
        return np.asarray(np.maximum(1 - np.abs(self.skewness), 0.0))


@dataclass(frozen=True)
class _Phases:
    """With probability `seldom` an exponential time of mean slow_s, else one of mean fast_s."""

    seldom: Floats
    slow_s: Floats
    fast_s: Floats

    def survival(self, time_s: Floats) -> Floats:
        with np.errstate(under="ignore"):
            fast = np.exp(-time_s / np.maximum(self.fast_s, 1e-300))
            return np.asarray(self.seldom * np.exp(-time_s / self.slow_s) + (1 - self.seldom) * fast)

    def quantile_s(self, share: float) -> Floats:
        """Newton's method on the logarithm of the survival, which is convex: starting where the slow phase alone falls
        to 1 − share, it converges from below.
        """
        log_late = np.log1p(-share)
        time_s = np.maximum(np.log(np.maximum(self.seldom, 1e-300)) - log_late, 0.0) * self.slow_s
        fast_per_s, slow_per_s = 1 / np.maximum(self.fast_s, 1e-300), 1 / self.slow_s
        with np.errstate(under="ignore"):
            for _ in range(_NEWTON):
                slow = self.seldom * np.exp(-time_s * slow_per_s)
                fast = (1 - self.seldom) * np.exp(-np.minimum(time_s * fast_per_s, 700.0))
                above = np.log(slow + fast) - log_late
                time_s += np.maximum(above, 0.0) * (slow + fast) / (slow * slow_per_s + fast * fast_per_s)
        return np.asarray(time_s)


def mixture_quantile_s(share: float, parts: Sequence[tuple[Floats, ThreeMoments]]) -> Floats:
    """Quantile of a mixture of the parts by weight (weights sum to 1); between the quantiles of the parts.

    >>> exponential = ThreeMoments(np.array(2.0), np.array(2.0), np.array(2.0))
    >>> at_once = ThreeMoments(np.array(0.01), np.array(0.01), np.array(2.0))
    >>> half = np.array(0.5)
    >>> mixed_s = mixture_quantile_s(0.95, [(half, exponential), (half, at_once)])  # half is beyond: 2 ln 10
    >>> round(float(mixed_s), 2), round(2 * float(np.log(10)), 2)
    (4.61, 4.61)
    """
    if len(parts) == 1:
        return parts[0][1].quantile_s(share)
    own = np.stack(np.broadcast_arrays(*(part.quantile_s(share) for _, part in parts)))
    low, high = own.min(axis=0), own.max(axis=0)

    def survival(time_s: Floats) -> Floats:
        return np.asarray(sum(weight * part.survival(time_s) for weight, part in parts))

    return _crossing(share, survival, low, high)


def _crossing(share: float, survival: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Time at which survival falls to 1 − share, between low and high: by regula falsi on logarithms, where tails are
    nearly straight.
    """

    def excess(time_s: Floats) -> Floats:
        return np.asarray(np.log(np.maximum(survival(time_s), 1e-12) / (1 - share)))

    above, below = np.maximum(excess(low), 0.0), np.minimum(excess(high), 0.0)
    side = np.zeros(low.shape, dtype=np.int8)
    for _ in range(_STEPS):
        middle = low + (high - low) * above / np.maximum(above - below, 1e-12)
        found = excess(middle)
        up = found > 0
        # Illinois variant: an end that stays twice counts half.
        below = np.where(up, np.where(side == 1, below / 2, below), found)
        above = np.where(up, found, np.where(side == -1, above / 2, above))
        low, high = np.where(up, middle, low), np.where(up, high, middle)
        side = np.where(up, 1, -1).astype(np.int8)
    return np.asarray(low + (high - low) * above / np.maximum(above - below, 1e-12))


def _place(skewness: Floats) -> Floats:
    """Table coordinate of a skewness, from −1 to 1."""
    return np.asarray(skewness / (2 + np.abs(skewness)))


def _shapes(points: int) -> tuple[Floats, Floats, Floats]:
    """Table coordinates, their skewness, and the gamma's shape, 4/skewness²."""
    at = np.linspace(-_WIDEST, _WIDEST, points)
    skewness = 2 * at / (1 - np.abs(at))
    return at, skewness, 4 / np.maximum(skewness**2, 1e-6)


@cache
def _quantiles(share: float) -> tuple[Floats, Floats]:
    """Table coordinates and quantiles in standard deviations from the mean."""
    at, skewness, shape = _shapes(POINTS)
    below = np.where(skewness < 0, 1 - share, share)
    deviations = (scipy.special.gammaincinv(shape, below) - shape) / np.sqrt(shape)
    return at, np.where(skewness < 0, -deviations, deviations)


@cache
def _survivals() -> Floats:
    """The table of survival, shape (skewness, deviations)."""
    _, skewness, shape = (each[:, None] for each in _shapes(SKEWS))
    deviations = np.arange(LOWEST, HIGHEST + STEP, STEP)
    with np.errstate(under="ignore"):
        right = scipy.special.gammaincc(shape, np.maximum(shape + deviations * np.sqrt(shape), 0.0))
        left = scipy.special.gammainc(shape, np.maximum(shape - deviations * np.sqrt(shape), 0.0))
    return np.where(skewness < 0, left, right)
