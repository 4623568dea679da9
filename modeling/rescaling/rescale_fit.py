"""The downtime of rescales, learnt from measured ones, with the declared model as prior."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats
from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.rescale_model import DECLARED_WEIGHT, RescaleModel

ROUNDS = 30
"""Iterations: noise and weights converge to three digits; each solves a few equations."""
LEAST = 1e-3
"""Minimum noise, and minimum downtime relative to the largest one, so that no weight is unbounded."""
NEXT_TO_NOTHING = 1e4
"""Factor that widens the declared covariance so that only measurements count."""


@dataclass(frozen=True)
class MeasuredRescale:
    """One measured rescale. restored_gib: state read. saved_gib: written by a savepoint, 0 without one."""

    downtime_s: float
    restored_gib: float = 0.0
    saved_gib: float = 0.0

    def __post_init__(self) -> None:
        for name in ("downtime_s", "restored_gib", "saved_gib"):
            remedy = "leave this rescale out, or give a finite number, not below 0"
            check_numbers("measured rescale", name, getattr(self, name), remedy)


def fitted_rescale(measured: Sequence[MeasuredRescale], declared: RescaleModel) -> RescaleModel:
    """The declared model updated with measurements: non-negative least squares with a Gaussian prior.

    Iteratively reweighted least squares over θ ≥ 0 (Lawson & Hanson 1974), each measurement weighted by its expected
    downtime, find noise and weights. The noise is estimated by expectation maximisation, in which the declared one
    counts like DECLARED_WEIGHT measurements. Then Σ (y − x·θ)²/(σ·scale)² + (θ − θ₀)ᵀ C₀⁻¹ (θ − θ₀) is minimised once.
    If the declaration deviates from the measurements by more than its own error, C₀ is widened by the square of that
    ratio. A number declared without error stays as declared. The covariance is that of the unconstrained solution: too
    wide for a number held at 0. If measurements cannot separate the terms (all with savepoints of the restored state),
    the declared ratio does. Assumes that rescales are equal and independent, and that their deviation is proportional
    to their duration.
    """
    if not measured:
        return declared
    terms = np.array([[1.0, one.saved_gib, one.restored_gib] for one in measured])
    downtimes_s = np.array([one.downtime_s for one in measured])
    start = np.array([declared.restart_s, declared.save_s_per_gib, declared.restore_s_per_gib])
    free = np.diagonal(declared.covariance) > 0
    prior = declared.covariance[np.ix_(free, free)]
    remaining_s = downtimes_s - terms[:, ~free] @ start[~free]
    values, covariance = start.copy(), np.zeros((3, 3))

    def solve(prior: Floats, deviation_s: Floats) -> None:
        if free.any():
            values[free], covariance[np.ix_(free, free)] = _posterior(
                terms[:, free], remaining_s, start[free], prior, deviation_s
            )

    noise2 = declared.noise**2
    # A rescale of zero length is weighted like a short one.
    shortest_s = max(float(downtimes_s.max()), float(start.max()), 1e-9) * LEAST
    scale_s = np.maximum(downtimes_s, shortest_s)
    for _ in range(ROUNDS):
        solve(NEXT_TO_NOTHING * prior, max(noise2**0.5, LEAST) * scale_s)
        told_s = terms @ values
        residuals = (downtimes_s - told_s) / scale_s
        spread = float(residuals @ residuals) + float(np.einsum("ki,ij,kj,k->", terms, covariance, terms, scale_s**-2))
        noise2 = (DECLARED_WEIGHT * declared.noise**2 + spread) / (DECLARED_WEIGHT + len(measured))
        # Take half the step, geometrically: the full step may oscillate for ever.
        scale_s = np.sqrt(scale_s * np.maximum(told_s, shortest_s))
    if free.any():
        off = (values - start)[free]
        prior = prior * max(1.0, float(off @ np.linalg.solve(prior, off)))
    solve(prior, max(noise2**0.5, LEAST) * scale_s)
    restart_s, save_s_per_gib, restore_s_per_gib = values.tolist()
    return RescaleModel(
        restart_s, save_s_per_gib, restore_s_per_gib, covariance, noise2**0.5, declared.measured + len(measured)
    )


def _posterior(
    terms: Floats, downtimes_s: Floats, mean: Floats, prior: Floats, deviation_s: Floats
) -> tuple[Floats, Floats]:
    whitened = np.linalg.cholesky(np.linalg.inv(prior)).T
    stacked = np.vstack([terms / deviation_s[:, None], whitened])
    values, _ = scipy.optimize.nnls(stacked, np.concatenate([downtimes_s / deviation_s, whitened @ mean]))
    covariance = np.linalg.inv(stacked.T @ stacked)
    return np.asarray(values, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
