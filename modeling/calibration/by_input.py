"""Effects of each input stream of an operator: busy seconds, or tuples on an output stream.

The ratio of total output to total input holds for one mix of inputs only. Inputs are separated by non-negative least
squares over instances and spans, and only if data show that they differ: otherwise one common ratio is the better
estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats
from modeling.calibration.measured import LONE_ERROR, Measured, measured, measured_ratio

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
    counts_in: Mapping[str, Floats], amounts: Floats, known: Mapping[str, float] | None = None
) -> ByInput:
    """Amount per tuple of each stream. counts_in (per stream) and amounts: one number per sample. known: earlier
    ratios; unless data show otherwise, streams keep their relative differences, scaled by a common factor. A stream
    that comes alone is measured by itself if any ratio was known: known ratios take precedence over one ratio for all.

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
    lone_error = float(1 / np.sqrt(np.sum(list(active.values()))))
    if len(active) == 1:
        ((name, counts),) = active.items()
        return ByInput({name: measured_ratio(amounts, counts, lone_error)})
    shape = {name: known[name] for name in active} if known and all(known.get(name) for name in active) else {}
    weight = 1 / np.sqrt(np.sum(list(active.values()), axis=0))
    together = weight * np.sum([shape.get(name, 1.0) * counts for name, counts in active.items()], axis=0)
    factor = float(together @ (weight * amounts) / (together @ together))
    left_together = float(((weight * amounts - factor * together) ** 2).sum())
    as_known = _scaled(shape, factor, left_together, together, lone_error)
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
    left = float(((weight * amounts - design / scale @ scaled) ** 2).sum())
    # A ratio at its bound of 0 gets the error of the unbounded fit.
    covariance = left / freedom * np.linalg.inv((design / scale).T @ (design / scale))
    errors = np.sqrt(np.diag(covariance)) / scale
    apart = {
        name: measured(ratio, error, freedom)
        for name, ratio, error in zip(active, (scaled / scale).tolist(), errors.tolist(), strict=True)
    }
    nothing = 1e-18 * float(((weight * amounts) ** 2).sum())
    gained = (left_together - left) / (len(active) - 1)
    if left_together <= nothing or (
        left > nothing
        and scipy.special.fdtrc(len(active) - 1, freedom, max(gained, 0.0) / (left / freedom)) > SIGNIFICANT
    ):
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
    shape: Mapping[str, float], factor: float, left: float, together: Floats, lone_error: float
) -> dict[str, Measured]:
    """Known ratios of each stream, scaled by the factor that fits now."""
    if together.size < 2:
        lone_error = max(lone_error, LONE_ERROR)
        return {name: measured(factor * ratio, factor * ratio * lone_error) for name, ratio in shape.items()}
    error = float(np.sqrt(left / (together.size - 1) / (together @ together)))
    return {name: measured(factor * ratio, error * ratio, together.size - 1) for name, ratio in shape.items()}
