"""How much the service times of single tuples vary, of one operator's samples."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.calibration.measured import measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.service_variance import ServiceVariance, variance_from_moments, variance_from_spread
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile

Floats = npt.NDArray[np.float64]

FEWEST_SPANS = 2
"""Samples from which on their spread says how well a second moment is known."""


@dataclass(frozen=True)
class ServiceSpread:
    """cv2: what to reckon with; low, high: where it lies. bounded: it is known by an upper bound only."""

    cv2: float
    low: float
    high: float
    bounded: bool
    note: str = ""


def service_spread(
    samples: Sequence[OperatorSample], tuples: Floats, to_anchor: Floats, known: OperatorProfile
) -> ServiceSpread | None:
    """From second moments where samples tell them, else bounded by the spread of their means; None where neither is.

    The variance of means times their tuples is that of a tuple if tuples are independent of each other and instances
    alike. Where they are not it is too much, so it is an upper bound: what was known stands as far as it is below.
    """
    note = ""
    told = [at for at, sample in enumerate(samples) if sample.service_second_moment_s2 is not None and tuples[at] > 0]
    if told and sum(tuples[at] for at in told) >= 2:
        try:
            return _from_moments([samples[at] for at in told], tuples[told])
        except ModelError as error:
            note = f"second moments are not used: {error}"
    bound = _from_means(samples, tuples, to_anchor)
    if bound is None:
        return ServiceSpread(known.service_cv2, 0.0, np.inf, True, note) if note else None
    cv2 = known.service_cv2 if known.service_cv2 <= bound.high else bound.cv2
    return ServiceSpread(cv2, 0.0, bound.high, True, note)


def _from_moments(samples: Sequence[OperatorSample], tuples: Floats) -> ServiceSpread:
    """The interval is the wider of two: as of gamma values, and by the spread of what the samples say. A lone sample
    tells no spread: its interval is as of log-normal values, whose tails are heavy.

    Of n values with w = 1 + cv², cv² has to first order a relative variance of 2 w / n where they are gamma (twice that
    of normal ones for exponential services), and of w² (2 + 4 cv² + cv⁴) / n where they are log-normal: that of
    E[s²]/E[s]² is w⁴ - 4 w² + 4 w - 1 = 2 cv⁴ + 4 cv⁶ + cv⁸, over n.
    """
    busy_s = np.array([sample.busy_s for sample in samples])
    squares = np.array([sample.service_second_moment_s2 or 0.0 for sample in samples]) * tuples
    mean_s, square_s2 = float(busy_s.sum() / tuples.sum()), float(squares.sum() / tuples.sum())
    found = variance_from_moments(mean_s, square_s2, float(tuples.sum()))
    lone, w = len(samples) < FEWEST_SPANS, 1 + found.cv2
    less = w**2 * (1 + 2 * found.cv2 + found.cv2**2 / 2) if lone else w
    found = variance_from_spread(found.cv2, max(1.0, (float(tuples.sum()) - 1) / less))
    low, high = found.low, found.high
    if not lone:
        # What each sample adds to E[s²]/E[s]², to first order.
        influence = (squares - square_s2 * tuples) / mean_s**2 - 2 * square_s2 / mean_s**3 * (busy_s - mean_s * tuples)
        n = len(samples)
        error = float(np.sqrt((influence**2).sum() * n / (n - 1)) / tuples.sum())
        spread = measured(found.cv2, error, n - 1)
        low, high = min(low, spread.low), max(high, spread.high)
    return ServiceSpread(found.cv2, low, high, bounded=False)


def _from_means(samples: Sequence[OperatorSample], tuples: Floats, to_anchor: Floats) -> ServiceVariance | None:
    """Of spans of one instance each, so that slow and fast instances do not count as spread; where no instance has two
    spans, of all.
    """
    spans: dict[int, list[int]] = defaultdict(list)
    for at, sample in enumerate(samples):
        if sample.busy_s > 0 and tuples[at] >= 1:
            spans[sample.index].append(at)
    every = [at for group in spans.values() for at in group]
    groups = [group for group in spans.values() if len(group) > 1] or [every]
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < 1:
        return None
    squares = 0.0
    for group in groups:
        counts = tuples[group]
        means = np.array([samples[at].busy_s * to_anchor[at] for at in group]) / counts
        squares += float((counts * (means - np.average(means, weights=counts)) ** 2).sum())
    busy_s = sum(samples[at].busy_s * to_anchor[at] for at in every)
    return variance_from_spread(squares / freedom / (busy_s / tuples[every].sum()) ** 2, freedom)
