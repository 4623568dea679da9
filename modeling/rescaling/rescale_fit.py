"""The downtime of rescales, learnt from those that were measured, leaning on what was declared while they are few."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats
from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.rescale_model import DECLARED_WEIGHT, RescaleModel

ROUNDS = 30
"""Noise and weights settle to three digits within them; each is a solution of a few equations."""
LEAST = 1e-3
"""The least noise, and the least downtime beside the largest number, so that nothing weighs without end."""
NEXT_TO_NOTHING = 1e4
"""By what the declared covariance is widened where measurements are to speak for themselves."""


@dataclass(frozen=True)
class MeasuredRescale:
    """One rescale as it went. restored_gib: state read again. saved_gib: written by a savepoint, 0 without one."""

    downtime_s: float
    restored_gib: float = 0.0
    saved_gib: float = 0.0

    def __post_init__(self) -> None:
        for name in ("downtime_s", "restored_gib", "saved_gib"):
            remedy = "leave this rescale out, or give a finite number, not below 0"
            check_numbers("measured rescale", name, getattr(self, name), remedy)


def fitted_rescale(measured: Sequence[MeasuredRescale], declared: RescaleModel) -> RescaleModel:
    """The declared model drawn to the measurements: non-negative least squares with a Gaussian prior.

    Iteratively reweighted least squares over θ ≥ 0 (Lawson & Hanson 1974), each measurement weighed by what is told of
    it, find noise and weights, with the noise by expectation maximisation, in which the declared one counts like
    DECLARED_WEIGHT measurements. With these, once, Σ (y − x·θ)²/(σ·scale)² + (θ − θ₀)ᵀ C₀⁻¹ (θ − θ₀) is minimised. A
    declaration that is further from what was measured than it claims is taken for as wrong as it is: C₀ is widened by
    the square of how many of its own errors it is off. A number declared without error stays as declared. The
    covariance is that of the unconstrained solution: too wide for a number that was held at 0. What measurements do not
    tell apart (all with savepoints of the state that is restored) the declared ratio does. Assumes that rescales are
    alike and independent, and that one varies in proportion to how long it takes.
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
    # A rescale of no length at all weighs as a short one.
    shortest_s = max(float(downtimes_s.max()), float(start.max()), 1e-9) * LEAST
    scale_s = np.maximum(downtimes_s, shortest_s)
    for _ in range(ROUNDS):
        solve(NEXT_TO_NOTHING * prior, max(noise2**0.5, LEAST) * scale_s)
        told_s = terms @ values
        residuals = (downtimes_s - told_s) / scale_s
        spread = float(residuals @ residuals) + float(np.einsum("ki,ij,kj,k->", terms, covariance, terms, scale_s**-2))
        noise2 = (DECLARED_WEIGHT * declared.noise**2 + spread) / (DECLARED_WEIGHT + len(measured))
        # Half of the way, by ratio: the whole of it may go to and fro for ever.
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
