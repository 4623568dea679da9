"""What each stream that enters an operator brings about: busy seconds, or tuples that go out on a stream.

Told apart by non-negative least squares over instances and spans, and only where data show that the streams differ:
else one ratio for all is the better estimate of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import f

from modeling.calibration.measured import Measured, measured
from modeling.errors import ModelError
from modeling.selectivity import fitted_selectivity

Floats = npt.NDArray[np.float64]

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class ByInput:
    """ratio: per stream, empty where one ratio is to serve all. alike: whether data show no difference between streams
    that can be told apart. why: what keeps them from being told apart.
    """

    ratio: Mapping[str, Measured]
    alike: bool = False
    why: str = ""


def told_apart(counts_in: Mapping[str, Floats], amounts: Floats) -> ByInput:
    """Amount per tuple of each stream. counts_in: per stream, and amounts, one number a sample."""
    active = {name: counts for name, counts in counts_in.items() if counts.sum() > 0}
    if len(active) < 2:
        return ByInput({})
    together = np.sum(list(active.values()), axis=0)
    telling = together > 0
    active = {name: counts[telling] for name, counts in active.items()}
    amounts, together = amounts[telling], together[telling]
    freedom = amounts.size - len(active)
    try:
        # One sample more than the fit itself asks for: its residuals must tell their own size.
        if freedom < 2:
            raise ModelError(f"{amounts.size} samples for {len(active)} inputs; measure {len(active) + 2}")
        fit = fitted_selectivity(
            {name: counts.tolist() for name, counts in active.items()}, np.maximum(amounts, 0.0).tolist()
        )
    except ModelError as error:
        return ByInput({}, why=str(error).removeprefix("selectivity: "))
    weight = 1 / np.sqrt(np.maximum(together, 1.0))
    apart = weight * (amounts - np.sum([fit.ratio[name] * active[name] for name in active], axis=0))
    pooled_ratio = float((weight**2 * together * amounts).sum() / (weight**2 * together**2).sum())
    pooled = weight * (amounts - pooled_ratio * together)
    left, left_pooled = float(apart @ apart), float(pooled @ pooled)
    size = float((weight * amounts) @ (weight * amounts))
    if left_pooled <= 1e-18 * size:
        return ByInput({}, alike=True)
    gained = (left_pooled - left) / (len(active) - 1)
    if left > 1e-18 * size and f.sf(gained / (left / freedom), len(active) - 1, freedom) > SIGNIFICANT:
        return ByInput({}, alike=True)
    return ByInput({name: measured(fit.ratio[name], fit.error[name], freedom) for name in active})
