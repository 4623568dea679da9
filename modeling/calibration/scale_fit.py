"""The change of service time with parallelism, fitted if data show it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats, Ints, numbered
from modeling.calibration.line import Line, fitted_line
from modeling.calibration.measured import Measured, measured
from modeling.calibration.sittings import widened_by_pace
from modeling.inputs.scale_efficiency import ScaleEfficiency

SIGNIFICANT = 0.01
"""Significance level. A wrong exponent would be extrapolated to unmeasured parallelisms, so only 1 % are adopted by
mistake.
"""
MIN_SAMPLES = 4
CLEARLY_BETTER = 2.0
"""Required difference of the information criterion in favour of the second shape."""
MIN_EXPONENT, MAX_EXPONENT = 0.01, 2.0


@dataclass(frozen=True)
class ScaleFit:
    """parameter: the fitted one (`efficiency.exponent` or `efficiency.coordination_s`). found: its value. anchor_error:
    relative error of the service time at measured_at due to the shape.
    """

    efficiency: ScaleEfficiency
    parameter: str
    found: Measured
    anchor_error: float
    p: float


def fitted_scale(
    busy_s: Floats, expected_s: Floats, tuples: Floats, parallelism: Ints, span: Ints, shape: Callable[[int], float]
) -> ScaleFit | None:
    """A shape that fits better than the current `shape`; None if data do not show one.

    busy_s: of each sample. expected_s: what it would be at one common parallelism. shape: relative service time at a
    parallelism, as known so far (1 everywhere: linear scaling). span: of each sample.

    Log service time is regressed on log parallelism (slope 1 − exponent), and service time on parallelism
    (coordination_s), weighted by tuples; adopted by an F-test against `shape`, the second shape only if Akaike's
    criterion clearly favours it (Burnham & Anderson 2002). Spans are assumed independent: a cluster-wide slowdown
    during all those of one parallelism is taken for scale.
    """
    informative = (busy_s > 0) & (expected_s > 0) & (tuples > 0)
    busy_s, expected_s, tuples = busy_s[informative], expected_s[informative], tuples[informative]
    parallelism, span = parallelism[informative], numbered(span[informative].tolist())
    if busy_s.size < MIN_SAMPLES or np.unique(parallelism).size < 2:
        return None
    relative = busy_s / expected_s
    weights = tuples / tuples.mean()
    anchor = anchor_of(tuples, parallelism)
    known = np.array([shape(int(p)) for p in parallelism])
    flat = np.log(relative) - np.log(known)
    left_flat = float((weights * (flat - np.average(flat, weights=weights)) ** 2).sum())
    if left_flat <= 1e-18 * busy_s.size:
        return None
    mean_s = float(expected_s.sum() / tuples.sum())
    # log s = a + slope · log p.
    power = fitted_line(np.log(parallelism.astype(np.float64)), np.log(relative), weights)
    added, left_added = _added(relative, parallelism, weights)
    line, left, x, log_fitted = power, power.left, np.log(parallelism), power.at(np.log(parallelism))
    # Both have two parameters, so penalties cancel and the criteria differ by n · log of the residuals.
    if busy_s.size * np.log(max(left_added, 1e-300) / max(power.left, 1e-300)) < -CLEARLY_BETTER:
        line, left, x = added, left_added, parallelism.astype(np.float64)
        log_fitted = np.log(added.at(x))
    root = np.sqrt(weights)
    design, residuals = np.column_stack([root, root * (x - line.mean_x)]), root * (np.log(relative) - log_fitted)
    widening, freedom = widened_by_pace(design, residuals, root, span, np.array([[0.0, 1.0]]), busy_s.size - 2.0)
    spread = left / (busy_s.size - 2) * widening
    p = float(scipy.special.fdtrc(1, freedom, max(left_flat - left, 0.0) / spread)) if spread > 1e-24 else 0.0
    if p > SIGNIFICANT or left_flat <= left:
        return None
    slope, error = line.slope, line.slope_error * widening**0.5
    if line is power:
        exponent = float(np.clip(1 - slope, MIN_EXPONENT, MAX_EXPONENT))
        found = measured(exponent, error, freedom)
        efficiency = ScaleEfficiency(exponent, 0.0, anchor, error, 0.0)
        return ScaleFit(efficiency, "efficiency.exponent", found, error * abs(np.log(anchor) - line.mean_x), p)
    found = measured(slope * mean_s, error * mean_s, freedom)
    efficiency = ScaleEfficiency(1.0, found.value, anchor, 0.0, found.error)
    return ScaleFit(efficiency, "efficiency.coordination_s", found, error * abs(anchor - line.mean_x), p)


def anchor_of(tuples: Floats, parallelism: Ints) -> int:
    """The parallelism with most measured tuples (the larger of equals), for which the service time is given."""
    counts = {int(p): float(tuples[parallelism == p].sum()) for p in np.unique(parallelism)}
    return max(counts, key=lambda p: (counts[p], p))


def _added(relative: Floats, parallelism: Ints, weights: Floats) -> tuple[Line, float]:
    """s = a + slope · p, weighted so that residuals count relative to s, and the sum of squared residuals of log s;
    infinite if s would fall with p.
    """
    x = parallelism.astype(np.float64)
    line = fitted_line(x, relative, weights / relative**2)
    fitted = line.at(x)
    if line.slope <= 0 or (fitted <= 0).any():
        return line, np.inf
    return line, float((weights * (np.log(relative) - np.log(fitted)) ** 2).sum())
