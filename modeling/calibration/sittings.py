"""Ratios over samples with what changes between their spans, and between one sitting and the next.

Instances that are read together share the machine's minute: their agreement says nothing about the next one. So the
interval is the wider of that over samples and that over spans. What all spans of a sitting share (code that is still
being compiled, a busy neighbour) none of them shows: it is assumed.
"""

from collections.abc import Sequence

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.calibration.measured import LONE_ERROR, Measured, measured_ratio
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.spans import spans

SITTING_S = 900.0
"""Spans within a quarter of an hour share the state of their machines."""


def ratio_over_spans(
    numerators: Floats, denominators: Floats, samples: Sequence[OperatorSample], lone_error: float
) -> Measured:
    """As measured_ratio, and no surer than over spans. samples: one per number."""
    by_sample = measured_ratio(numerators, denominators, lone_error)
    groups = spans(samples)
    if not 1 < len(groups) < len(samples):
        return by_sample
    above, below = (np.array([values[at].sum() for at in groups]) for values in (numerators, denominators))
    by_span = measured_ratio(above, below, lone_error)
    return Measured(
        by_sample.value,
        max(by_sample.error, by_span.error),
        min(by_sample.low, by_span.low),
        max(by_sample.high, by_span.high),
    )


def widened_by_pace(
    design: Floats, left: Floats, effect: Floats, span: Ints, contrast: Floats, freedom: float
) -> tuple[float, float]:
    """By what factor the variance of a fitted contrast is larger than over samples, as those of one span share the
    pace of their machines; and its degrees of freedom (Welch 1947, Satterthwaite 1946). Both as over samples if no two
    of several spans' samples are of one.

    design, left: equations of the least squares, shape (samples, coefficients), and their residuals. effect: what a
    machine slower by a factor adds to each. contrast: of coefficients, shape (contrasts, coefficients). freedom: over
    samples. Pace is estimated from what spans leave of their sums; as many spans as coefficients leave nothing, and it
    is LONE_ERROR then, with one degree of freedom.
    """
    spans_there, (count, coefficients) = int(span.max()) + 1, design.shape
    if not 1 < spans_there < count:
        return 1.0, freedom
    inverse = np.linalg.inv(design.T @ design)
    together = np.stack([np.bincount(span, effect * column) for column in design.T], axis=1)
    own = (
        max(float(left @ left), 1e-18 * float(effect @ effect))
        / freedom
        * float(np.trace(contrast @ inverse @ contrast.T))
    )
    beyond = spans_there - coefficients
    relative = np.bincount(span, effect * left) / np.maximum(np.bincount(span, effect**2), 1e-300)
    pace2 = float(relative @ relative) / beyond if beyond > 0 else LONE_ERROR**2
    shared = pace2 * float(((together @ inverse @ contrast.T) ** 2).sum())
    return 1 + shared / own, (own + shared) ** 2 / (own**2 / freedom + shared**2 / max(1, beyond))


def with_sittings(found: Measured, samples: Sequence[OperatorSample]) -> Measured:
    """Of a quantity that depends on the speed of machines: widened by LONE_ERROR of each sitting. A single sample has
    that already.
    """
    if len(samples) < 2:
        return found
    return found.with_error(found.value * LONE_ERROR / float(np.sqrt(sittings(samples))))


def sittings(samples: Sequence[OperatorSample]) -> int:
    """Number of sittings that the samples are from; 1 if any has no start."""
    began_s = sorted(-np.inf if sample.began_s is None else sample.began_s for sample in samples)
    count, first_s = 0, None
    for at_s in began_s:
        if first_s is None or at_s - first_s >= SITTING_S:
            count, first_s = count + 1, at_s
    return 1 if np.isneginf(began_s[0]) else count
