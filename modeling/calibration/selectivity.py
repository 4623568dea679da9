"""Selectivity of an operator with several inputs: tuples out on a stream per tuple in on each of the others.

The ratio of all that goes out to all that comes in holds for one mix of the inputs only. Here what goes out is
regressed on what comes in by each stream, over instances and spans together, with no ratio below zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from modeling.errors import ModelError

Floats = npt.NDArray[np.float64]

MOST_COLLINEAR = 30.0
"""Condition number of the scaled inputs beyond which what each of them brings about cannot be told (Belsley 1980)."""


@dataclass(frozen=True)
class FittedSelectivity:
    """ratio, error: per input stream, with its standard error; a ratio that came out at its bound of 0 has the error of
    a least-squares fit without that bound.
    """

    ratio: Mapping[str, float]
    error: Mapping[str, float]


def fitted_selectivity(counts_in: Mapping[str, Sequence[float]], counts_out: Sequence[float]) -> FittedSelectivity:
    """Non-negative least squares of tuples out on tuples in, per input stream; one number a sample in each.

    Samples are weighed by the inverse root of what comes in, as the noise of counts grows with their root. Raises
    ModelError for numbers that are negative or not finite, for fewer samples than inputs and one more, and where inputs
    go up and down together so that nobody can tell them apart.

    >>> fit = fitted_selectivity({"a": [10, 20, 30, 10], "b": [10, 10, 10, 40]}, [30, 40, 50, 90])
    >>> {stream: round(ratio, 6) for stream, ratio in fit.ratio.items()}  # 30 = 1 x 10 + 2 x 10, 90 = 1 x 10 + 2 x 40
    {'a': 1.0, 'b': 2.0}
    """
    names = list(counts_in)
    design = np.column_stack([np.asarray(counts_in[name], dtype=np.float64) for name in names])
    out = np.asarray(counts_out, dtype=np.float64)
    for name, values in [*((f"input {name}", design[:, at]) for at, name in enumerate(names)), ("output", out)]:
        wrong = ~np.isfinite(values) | (values < 0)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise ModelError(f"selectivity: {name} of sample {at} is {values[at]}; drop the sample, or correct it")
    if out.size < len(names) + 1:
        raise ModelError(
            f"selectivity: {out.size} samples for {len(names)} inputs; measure at least {len(names) + 1} instances or "
            "spans"
        )
    weight = 1 / np.sqrt(np.maximum(design.sum(axis=1), 1.0))
    design, out = design * weight[:, None], out * weight
    scale = np.linalg.norm(design, axis=0)
    if (scale == 0).any():
        silent = names[int(np.flatnonzero(scale == 0)[0])]
        raise ModelError(f"selectivity: nothing came in by {silent}; measure while it does, or leave it out")
    condition = float(np.linalg.cond(design / scale))
    if condition > MOST_COLLINEAR:
        raise ModelError(
            f"selectivity: the inputs {', '.join(names)} go up and down together (condition number {condition:.0f}, at "
            f"most {MOST_COLLINEAR:.0f} can be told apart); measure while their mix changes, or declare the ratios"
        )
    scaled, _ = nnls(design / scale, out)
    left = out - design / scale @ scaled
    variance = float(left @ left) / max(1, out.size - len(names))
    covariance = variance * np.linalg.inv((design / scale).T @ (design / scale))
    errors = np.sqrt(np.diag(covariance)) / scale
    return FittedSelectivity(
        dict(zip(names, (scaled / scale).tolist(), strict=True)), dict(zip(names, errors.tolist(), strict=True))
    )
