"""The variation of service times of single tuples within a stream, from one operator's samples.

Differences between streams and parallelisms are excluded: the model adds them for each plan's mix (law of total
variance: E[s²] = (1 + cv²) · Σ w m², for streams with shares w and means m). The variance of means over a minute does
not serve: a mean over n tuples varies n times less than a tuple.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Flags, Floats
from modeling.calibration.measured import LEVEL, measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.operator_profile import OperatorProfile

MIN_SPANS = 2
"""Minimum number of samples whose spread gives the error of a second moment."""


@dataclass(frozen=True)
class ServiceSpread:
    """cv2: value to use. low, high: 95 % interval; low is 0 if only an upper bound is known."""

    cv2: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True)
class _Spans:
    """Per sample, at one parallelism: busy seconds, and the sums of its tuples' mean service times and of their squares
    (up to a common factor). mixed: whether it reports input by stream.
    """

    busy_s: Floats
    means_s: Floats
    squares_s2: Floats
    mixed: Flags


def service_spread(
    samples: Sequence[OperatorSample],
    tuples: Floats,
    to_anchor: Floats,
    known: OperatorProfile,
    inputs: Sequence[str],
) -> ServiceSpread | None:
    """From second moments if samples report them, else bounded by the spread of their means; None without either.

    known: with the service times measured now and the earlier spread. The variance of means times their tuples is that
    of a tuple if tuples are independent and instances equal. Otherwise it is too large, so it is an upper bound: the
    earlier spread stays if it is below. The second moment of streams that differ is also an upper bound, if samples do
    not report input by stream.
    """
    spans = _spans(samples, tuples, to_anchor, known, inputs)
    note = ""
    reporting = np.array([sample.service_second_moment_s2 is not None for sample in samples]) & (tuples > 0)
    bound: ServiceSpread | None = None
    if tuples[reporting].sum() >= 2:
        moments = np.array([sample.service_second_moment_s2 or 0.0 for sample in samples]) * tuples * to_anchor**2
        chosen = reporting & spans.mixed
        separate = bool(chosen.any())
        bound = _from_moments(spans, moments, tuples, chosen if separate else reporting)
        if bound is not None and separate:
            return bound
        note = (
            "second moments are not used: they are below the square of the mean service time; check the units of both"
            if bound is None
            else "samples do not report input by stream: service_cv2 is bounded by that of all streams together"
        )
    bound = bound or _from_means(samples, tuples, spans)
    if bound is None:
        return ServiceSpread(known.service_cv2, 0.0, np.inf, note) if note else None
    return ServiceSpread(known.service_cv2 if known.service_cv2 <= bound.high else bound.cv2, 0.0, bound.high, note)


def _spans(
    samples: Sequence[OperatorSample],
    tuples: Floats,
    to_anchor: Floats,
    known: OperatorProfile,
    inputs: Sequence[str],
) -> _Spans:
    busy_s = np.array([sample.busy_s for sample in samples]) * to_anchor
    if len(inputs) < 2 or not known.stream_service_s:
        return _Spans(busy_s, tuples, tuples, np.ones(len(samples), dtype=np.bool_))
    each_s = np.array([known.stream_service_s.get(name, known.service_s) for name in inputs])
    counts = np.array([[sample.records_in_by.get(name, 0.0) for name in inputs] for sample in samples])
    mixed = counts @ each_s > 0
    service_s = np.where(mixed, counts @ each_s, tuples * known.service_s)
    return _Spans(busy_s, service_s, np.where(mixed, counts @ each_s**2, tuples * known.service_s**2), mixed)


def _from_moments(spans: _Spans, moments: Floats, tuples: Floats, chosen: Flags) -> ServiceSpread | None:
    """None for impossible second moments. The interval is the wider of two: that of gamma values, and that from the
    spread between samples. A single sample has no spread: its interval is that of log-normal values, whose tails are
    heavy.

    For n values and w = 1 + cv², the relative variance of cv² to first order is 2 w / n for gamma values (twice that of
    normal ones for exponential services), and w² (2 + 4 cv² + cv⁴) / n for log-normal ones, since the variance of
    E[s²]/E[s]² is (w⁴ - 4 w² + 4 w - 1) / n = (2 cv⁴ + 4 cv⁶ + cv⁸) / n.
    """
    busy_s, means_s, squares_s2 = spans.busy_s[chosen], spans.means_s[chosen], spans.squares_s2[chosen]
    moments, count = moments[chosen], float(tuples[chosen].sum())
    square = float(moments.sum())
    if busy_s.sum() <= 0 or square * count < (1 - 1e-9) * busy_s.sum() ** 2:
        return None
    w = square / float(squares_s2.sum()) * float(means_s.sum() / busy_s.sum()) ** 2
    cv2, lone = max(0.0, w - 1), busy_s.size < MIN_SPANS
    less = (1 + cv2) ** 2 * (1 + 2 * cv2 + cv2**2 / 2) if lone else 1 + cv2
    low, high = _interval(cv2, max(1.0, (count - 1) / less))
    if not lone:
        # Contribution of each sample to w, to first order.
        influence = w * (
            moments / square - 2 * busy_s / busy_s.sum() + 2 * means_s / means_s.sum() - squares_s2 / squares_s2.sum()
        )
        n = busy_s.size
        spread = measured(cv2, float(np.sqrt((influence**2).sum() * n / (n - 1))), n - 1)
        low, high = min(low, spread.low), max(high, spread.high)
    return ServiceSpread(cv2, low, high)


def _from_means(samples: Sequence[OperatorSample], tuples: Floats, spans: _Spans) -> ServiceSpread | None:
    """Compares spans of the same instance, so that slow and fast instances do not count as spread; if no instance has
    two spans, all spans.
    """
    of_instance: dict[int, list[int]] = defaultdict(list)
    for at, sample in enumerate(samples):
        if sample.busy_s > 0 and tuples[at] >= 1:
            of_instance[sample.index].append(at)
    every = [at for group in of_instance.values() for at in group]
    groups = [group for group in of_instance.values() if len(group) > 1] or [every]
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < 1:
        return None
    variance = 0.0
    for group in groups:
        busy_s, means_s, squares_s2 = spans.busy_s[group], spans.means_s[group], spans.squares_s2[group]
        # This instance's slowness relative to all; the variance of busy seconds is proportional to the sum of squares.
        slower = (busy_s * means_s / squares_s2).sum() / (means_s**2 / squares_s2).sum()
        variance += float(((busy_s - slower * means_s) ** 2 / squares_s2).sum())
    cv2 = variance / freedom / float(spans.busy_s[every].sum() / spans.means_s[every].sum()) ** 2
    return ServiceSpread(cv2, *_interval(cv2, freedom))


def _interval(cv2: float, freedom: float) -> tuple[float, float]:
    """Interval of a variance with this many degrees of freedom."""
    tail = (1 - LEVEL) / 2
    return float(cv2 * freedom / scipy.special.chdtri(freedom, tail)), float(
        cv2 * freedom / scipy.special.chdtri(freedom, 1 - tail)
    )
