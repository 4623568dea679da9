"""Effects of each input stream of an operator: busy seconds, or tuples on an output stream.

The ratio of total output to total input holds for one mix of inputs only. Inputs are separated by non-negative least
squares over instances and spans, and only if data show that they differ: otherwise one common ratio is the better
estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats, Ints, numbered
from modeling.calibration.measured import LONE_ERROR, Measured, measured, measured_ratio
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sittings import widened_by_pace

SIGNIFICANT = 0.05
MAX_COLLINEAR = 30.0
"""Condition number of the scaled inputs above which their effects cannot be separated (Belsley 1980)."""

UNSURE = 2.0
"""Ratio of the upper bound of one stream to what is common to all from which these are not called alike."""


@dataclass(frozen=True)
class ByInput:
    """ratio: per stream; empty if one ratio serves all. alike: whether separable streams show no difference, and none
    was known before. why: why streams cannot be separated.
    """

    ratio: Mapping[str, Measured]
    alike: bool = False
    why: str = ""


def ratios_by_input(
    counts_in: Mapping[str, Floats],
    amounts: Floats,
    known: Mapping[str, float] | None = None,
    span: Ints | None = None,
) -> ByInput:
    """Amount per tuple of each stream. counts_in (per stream) and amounts: one number per sample. known: earlier
    ratios; unless data show otherwise, streams keep their relative differences, scaled by a common factor. A stream
    that comes alone is measured by itself if any ratio was known: known ratios take precedence over one ratio for all.
    span: of each sample, where amounts are of time: what a span's samples share, the pace of machines, tells no inputs
    apart.

    Samples are weighted by the inverse root of the input count, since the noise of counts grows with their root.

    >>> of_a, of_b = np.array([10.0, 20.0, 30.0, 10.0]), np.array([10.0, 10.0, 10.0, 40.0])
    >>> apart = ratios_by_input({"a": of_a, "b": of_b}, np.array([30.0, 40.0, 50.0, 90.0]))
    >>> {stream: round(ratio.value, 6) for stream, ratio in apart.ratio.items()}  # 30 = 10 + 2 · 10, 90 = 10 + 2 · 40
    {'a': 1.0, 'b': 2.0}
    """
    active = {name: counts for name, counts in counts_in.items() if counts.sum() > 0}
    if not active or (len(active) == 1 and not known):
        return ByInput({})
    informative = np.sum(list(active.values()), axis=0) > 0
    active = {name: counts[informative] for name, counts in active.items()}
    amounts = np.maximum(amounts[informative], 0.0)
    span = np.arange(amounts.size) if span is None else numbered(span[informative].tolist())
    lone_error = float(1 / np.sqrt(np.sum(list(active.values()))))
    if len(active) == 1:
        ((name, counts),) = active.items()
        return ByInput({name: measured_ratio(amounts, counts, lone_error)})
    shape = {name: known[name] for name in active} if known and all(known.get(name) for name in active) else {}
    weight = 1 / np.sqrt(np.sum(list(active.values()), axis=0))
    together = weight * np.sum([shape.get(name, 1.0) * counts for name, counts in active.items()], axis=0)
    factor = float(together @ (weight * amounts) / (together @ together))
    residuals_together = weight * amounts - factor * together
    left_together = float((residuals_together**2).sum())
    as_known = _scaled(shape, factor, residuals_together, together, span, lone_error)
    freedom = amounts.size - len(active)
    # One sample more than the fit needs, so that the size of residuals can be estimated.
    if freedom < 2:
        return ByInput(as_known, why=f"{amounts.size} samples for {len(active)} inputs; measure {len(active) + 2}")
    design = np.column_stack([weight * counts for counts in active.values()])
    scale = np.linalg.norm(design, axis=0)
    condition = float(np.linalg.cond(design / scale))
    if condition > MAX_COLLINEAR:
        return ByInput(
            as_known,
            why=f"the inputs {', '.join(active)} go up and down together (condition number {condition:.0f}, at most "
            f"{MAX_COLLINEAR:.0f} can be separated); measure while their mix changes, or declare the ratios",
        )
    scaled, _ = scipy.optimize.nnls(design / scale, weight * amounts)
    residuals = weight * amounts - design / scale @ scaled
    nothing = 1e-18 * float(((weight * amounts) ** 2).sum())
    left = max(float((residuals**2).sum()), nothing)
    # A ratio at its bound of 0 gets the error of the unbounded fit.
    covariance = left / freedom * np.linalg.inv((design / scale).T @ (design / scale))
    errors = np.sqrt(np.diag(covariance)) / scale

    def widened(contrast: Floats, effect: Floats) -> tuple[float, float]:
        return widened_by_pace(design / scale, residuals, effect, span, contrast, freedom)

    each = [widened(one[None, :], design / scale @ scaled) for one in np.eye(len(active))]
    apart = {
        name: measured(ratio, error * factor**0.5, free)
        for name, ratio, error, (factor, free) in zip(
            active, (scaled / scale).tolist(), errors.tolist(), each, strict=True
        )
    }
    gained = (left_together - left) / (len(active) - 1)
    # Differences of ratios, relative to what is known of them, as pace makes them where there are none.
    relative = np.array([shape.get(name, 1.0) for name in active]) * scale
    differences = np.column_stack([np.full(len(active) - 1, -1 / relative[0]), np.diag(1 / relative[1:])])
    widening, free = widened(differences, factor * together)
    ratio_of_variances = max(gained, 0.0) / max(left / freedom * widening, 1e-300)
    if left_together <= nothing or scipy.special.fdtrc(len(active) - 1, free, ratio_of_variances) > SIGNIFICANT:
        unsure = {name: ratio.high / factor for name, ratio in apart.items() if ratio.high > UNSURE * factor}
        if unsure and not shape:
            name = max(unsure, key=lambda each: unsure[each])
            return ByInput(
                {},
                why=f"a tuple of {name} may count for up to {unsure[name]:.2g} times the mean, by so few "
                "samples; measure for longer, or while their mix changes",
            )
        return ByInput(as_known, alike=not shape)
    return ByInput(apart)


def counts_by(samples: Sequence[OperatorSample], at: Sequence[int], inputs: Sequence[str]) -> dict[str, Floats]:
    """Input tuples by stream, one number for each sample at these indices."""
    return {name: np.array([samples[number].records_in_by.get(name, 0.0) for number in at]) for name in inputs}


def in_proportion(known: Mapping[str, float], inputs: Sequence[str], was: float, now: Measured) -> dict[str, Measured]:
    """Earlier ratios of each stream, scaled by the change of the overall ratio: for samples without input counts by
    stream.

    was, now: overall ratio. A declared overall ratio may be inconsistent with the streams' ratios.
    """
    of_inputs = [known.get(name, was) for name in inputs]
    together = min(max(was, min(of_inputs)), max(of_inputs))
    if not known or together <= 0:
        return {}
    return {
        name: Measured(*(ratio / together * number for number in (now.value, now.error, now.low, now.high)))
        for name, ratio in known.items()
        if name in inputs
    }


def _scaled(
    shape: Mapping[str, float], factor: float, left: Floats, together: Floats, span: Ints, lone_error: float
) -> dict[str, Measured]:
    """Known ratios of each stream, scaled by the factor that fits now."""
    if together.size < 2:
        lone_error = max(lone_error, LONE_ERROR)
        return {name: measured(factor * ratio, factor * ratio * lone_error) for name, ratio in shape.items()}
    freedom = together.size - 1.0
    widening, free = widened_by_pace(together[:, None], left, factor * together, span, np.eye(1), freedom)
    error = float(np.sqrt(left @ left / freedom / (together @ together) * widening))
    return {name: measured(factor * ratio, error * ratio, free) for name, ratio in shape.items()}
