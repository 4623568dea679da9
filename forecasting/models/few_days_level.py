"""The level of a load of which only days are known, with all that they leave open.

The logarithm of the load is a Gaussian process: an unknown mean, a shape of the day that repeats, a smaller shape of
the week, and a level that wanders for hours and for days. How much of the variation repeats each day, and how fast the
rest fades, few days do not show: a dozen answers are weighed by how well they explain what was seen, and each draws its
share of the paths. A time of day that was seen once, or never, is thereby as uncertain as it is (Rasmussen and Williams
2006, Gaussian Processes for Machine Learning, ch. 2 and 5).
"""

from dataclasses import dataclass

import numpy as np
import scipy  # which imports its modules when they are used

from forecasting.arrays import Floats

DAY_H, WEEK_H = 24.0, 168.0
MEAN_VARIANCE = 2.0
"""Of the unknown mean, in variances of everything else."""
DAY_LENGTH, WEEK_LENGTH = 0.35, 0.1
"""Of the shapes' kernels, relative to their circle: values an hour apart correlate by .76, a day apart in the week by
.01."""
WEEK_SHARE = 0.1
"""Of the variance that repeats. It widens weekdays that were not seen yet."""
SLOW_H, SLOW_SHARE = 72.0, 0.25
"""The part of the wandering that lasts for days."""
HYPOTHESES = tuple((repeats, fades_h) for repeats in (0.02, 0.4, 0.75, 0.93) for fades_h in (0.7, 3.0, 12.0))
"""Share of the variance that repeats each day, and hours in which the fast part of the wandering falls to 1/e."""
PRIOR_VARIANCE, PRIOR_COUNT = 0.25, 8.0
"""Of the log load: a prior of as many values. A day often differs from the next by a factor of e^.5."""
MIN_VARIANCE = 1e-4
DEGREES, WIDENING = 4.0, 1.15
"""Real errors have heavier tails than normal ones: each path has its own size, whose errors follow Student's t, a
little wider than the process says. With less of it the p95 of a day covers 90 % instead of 94 %."""


@dataclass(frozen=True)
class LogLoad:
    """Logarithms of mean loads. hours: middle of each span, before now; noise: variance of each mean around the level.

    All of shape (spans,).
    """

    hours: Floats
    values: Floats
    noise: Floats


def chances(known: LogLoad) -> Floats:
    """How probable each of HYPOTHESES is after these values, all alike before; shape (hypotheses,), sum 1."""
    evidence = np.array([_Posterior(known, *each).log_evidence for each in HYPOTHESES])
    shares = np.exp(evidence - evidence.max())
    return np.asarray(shares / shares.sum())


def log_levels(known: LogLoad, weights: Floats, hours: Floats, paths: int, rng: np.random.Generator) -> Floats:
    """Joint draws of the log level at these hours after now, shape (paths, hours).

    weights: of HYPOTHESES, sum 1; in this proportion they draw the paths.
    """
    ends = np.round(np.cumsum(weights) * paths).astype(np.int64)
    # Weights add up to 1 only approximately.
    ends[-1] = paths
    drawn = [
        _Posterior(known, *hypothesis).drawn(hours, int(end - begin), rng)
        for hypothesis, begin, end in zip(HYPOTHESES, [0, *ends[:-1]], ends, strict=True)
        if end > begin
    ]
    return np.concatenate(drawn)[rng.permutation(paths)]


class _Posterior:
    """The process after the known values, under one hypothesis. The scale of all variances is inferred as well."""

    def __init__(self, known: LogLoad, repeats: float, fades_h: float) -> None:
        self.known, self.repeats, self.fades_h = known, repeats, fades_h
        self.mean = float(known.values.mean())
        off = known.values - self.mean
        # Noise is relative to the sample's variance, so that one scale is left to infer.
        noise = known.noise / max(float(off.var()), MIN_VARIANCE)
        self.lower = np.linalg.cholesky(self._covariance(known.hours, known.hours) + np.diag(noise))
        self.whitened = scipy.linalg.solve_triangular(self.lower, off, lower=True)
        count = PRIOR_COUNT + off.size
        total = PRIOR_COUNT * PRIOR_VARIANCE + float(self.whitened @ self.whitened)
        self.variance = total / count
        self.log_evidence = -float(np.log(np.diag(self.lower)).sum()) - count / 2 * float(np.log(total))

    def drawn(self, hours: Floats, paths: int, rng: np.random.Generator) -> Floats:
        """Joint draws at these hours, shape (paths, hours)."""
        gain = scipy.linalg.solve_triangular(self.lower, self._covariance(self.known.hours, hours), lower=True)
        left = self._covariance(hours, hours) - gain.T @ gain + 1e-6 * np.eye(hours.size)
        normal = rng.standard_normal((paths, hours.size)) @ np.linalg.cholesky(left).T
        # Student's t of the same variance: normal errors over a size of their own for each path.
        sizes = np.sqrt((DEGREES - 2) / rng.chisquare(DEGREES, (paths, 1)))
        return np.asarray(self.mean + self.whitened @ gain + WIDENING * np.sqrt(self.variance) * sizes * normal)

    def _covariance(self, one: Floats, other: Floats) -> Floats:
        apart_h = np.abs(one[:, None] - other[None, :])
        day = np.exp(-2 * (np.sin(np.pi * apart_h / DAY_H) / DAY_LENGTH) ** 2)
        week = day * np.exp(-2 * (np.sin(np.pi * apart_h / WEEK_H) / WEEK_LENGTH) ** 2)
        wandering = (1 - SLOW_SHARE) * np.exp(-apart_h / self.fades_h) + SLOW_SHARE * np.exp(-apart_h / SLOW_H)
        repeating = (1 - WEEK_SHARE) * day + WEEK_SHARE * week
        return np.asarray(MEAN_VARIANCE + self.repeats * repeating + (1 - self.repeats) * wandering)
