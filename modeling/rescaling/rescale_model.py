"""The downtime of a rescale: restart, saving state, restoring state.

downtime = restart + saved · save_s_per_gib + restored · restore_s_per_gib; the last two are the inverse of the
effective bandwidth. A model declared by a person and a fitted one (`modeling.rescaling.rescale_fit`) have the same
type.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.inputs.topology import Engine
from modeling.rescaling.recovery import check_numbers

DECLARED_WEIGHT = 2.0
"""Weight of the declared noise in measurements: it stabilises a fit to one or two of them, and fades after ten."""

DECLARED_NOISE = 0.25
"""Assumed standard deviation of one rescale, as a fraction of its downtime."""


@dataclass(frozen=True)
class RescaleModel:
    """Downtime of a rescale, linear in the state.

    restart_s: without any state (cancel, deploy, warm up; Storm's wait, Heron's polls). save_s_per_gib: seconds per GiB
    written before the job stops; only for a stop with a savepoint. restore_s_per_gib: seconds per GiB read before it
    starts. covariance: of the three in this order, shape (3, 3). noise: standard deviation of one rescale around the
    model, as a fraction of the expected downtime: longer ones vary more. measured: number of measured rescales; 0 if
    declared.
    """

    restart_s: float
    save_s_per_gib: float
    restore_s_per_gib: float
    covariance: Floats
    noise: float
    measured: int = 0

    def __post_init__(self) -> None:
        for name in ("restart_s", "save_s_per_gib", "restore_s_per_gib", "noise"):
            check_numbers("rescale model", name, getattr(self, name))
        if self.covariance.shape != (3, 3) or not np.isfinite(self.covariance).all():
            raise ModelError(f"rescale model: covariance of shape {self.covariance.shape}; give 3 × 3 finite numbers")

    @property
    def errors(self) -> tuple[float, float, float]:
        """Standard errors of restart_s, save_s_per_gib and restore_s_per_gib."""
        restart, save, restore = np.sqrt(np.diagonal(self.covariance)).tolist()
        return restart, save, restore

    def downtime_s(self, restored_gib: npt.ArrayLike = 0.0, saved_gib: npt.ArrayLike = 0.0) -> Floats:
        """Expected downtime, broadcast over plans. saved_gib: 0 if the last checkpoint is restored."""
        return self._terms(restored_gib, saved_gib) @ self._values

    def downtime_error_s(self, restored_gib: npt.ArrayLike = 0.0, saved_gib: npt.ArrayLike = 0.0) -> Floats:
        """Standard deviation of the next rescale's downtime around downtime_s: from the fit and from one rescale's
        noise.
        """
        terms = self._terms(restored_gib, saved_gib)
        of_fit = np.einsum("...i,ij,...j->...", terms, self.covariance, terms)
        return np.asarray(np.sqrt(of_fit + (self.noise * (terms @ self._values)) ** 2), dtype=np.float64)

    def downtime_quantile_s(
        self, level: float, restored_gib: npt.ArrayLike = 0.0, saved_gib: npt.ArrayLike = 0.0
    ) -> Floats:
        """Quantile `level` of the next rescale's downtime (Student's t), never below 0."""
        if not 0 < level < 1:
            raise ModelError(f"level {level} of a downtime is not between 0 and 1")
        width = float(scipy.special.stdtrit(DECLARED_WEIGHT + self.measured, level))
        quantile = self.downtime_s(restored_gib, saved_gib) + width * self.downtime_error_s(restored_gib, saved_gib)
        return np.maximum(0.0, quantile)

    @property
    def _values(self) -> Floats:
        return np.array([self.restart_s, self.save_s_per_gib, self.restore_s_per_gib])

    @staticmethod
    def _terms(restored_gib: npt.ArrayLike, saved_gib: npt.ArrayLike) -> Floats:
        restored, saved = np.broadcast_arrays(
            np.asarray(restored_gib, dtype=np.float64), np.asarray(saved_gib, dtype=np.float64)
        )
        for name, gib in (("restored_gib", restored), ("saved_gib", saved)):
            check_numbers("rescale", name, gib, "give the size of the state in GiB, finite, not below 0")
        return np.stack([np.ones_like(restored), saved, restored], axis=-1)


def declared_rescale(
    restart_s: float,
    *,
    save_s_per_gib: float = 10.0,
    restore_s_per_gib: float = 10.0,
    relative_error: float = 1.0,
    noise: float = DECLARED_NOISE,
) -> RescaleModel:
    """A declared model, before any measurement; 10 s per GiB is about 100 MiB/s.

    relative_error: standard error of each number, relative to it; one second for a restart of 0 s. noise: of one
    rescale, as a fraction of its downtime.
    """
    values = np.array([restart_s, save_s_per_gib, restore_s_per_gib])
    errors = relative_error * values
    if restart_s == 0 and relative_error > 0:
        errors[0] = 1.0  # no restart is known to take zero time
    covariance = np.diag(errors**2)
    return RescaleModel(restart_s, save_s_per_gib, restore_s_per_gib, covariance, noise)


def declared_for(engine: Engine) -> RescaleModel:
    """Initial model of an engine: from its code or a small cluster, accurate to a factor of two.

    Flink: a job with free slots took 3 to 6 s in place; large jobs take longer. Storm: rebalance waits the message
    timeout (30 s), then starts workers. Heron: `heron update` waits 10 s, then checks every 10 s whether instances are
    ready, which takes up to 20 s.
    """
    match engine:
        case Engine.FLINK:
            return declared_rescale(10.0)
        case Engine.STORM:
            return declared_rescale(40.0, save_s_per_gib=0.0, restore_s_per_gib=0.0)
        case Engine.HERON:
            return declared_rescale(20.0, save_s_per_gib=0.0, restore_s_per_gib=0.0)
