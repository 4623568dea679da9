"""Estimates the next deployment's downtime and lead time from past deployments.

Deployments are few and some go wrong, so the estimate is robust: a median in which the declared number has the weight
of DECLARED_WEIGHT deployments. If the size of the state varied, the downtime is a function of it (`fitted_rescale`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import DECLARED_WEIGHT, RescaleModel, declared_rescale
from planner.decision_basis import LearnedNumber

MIN_DEPLOYMENTS = 2
"""With fewer, the declared number is used."""
MIN_FITTED = 5
"""With fewer, a single bad deployment could tilt the line."""
MIN_SPREAD = 1.5
"""Smallest ratio of largest to smallest state at which downtimes show how they depend on it."""
MAX_MISFIT = 3.0
"""In robust standard deviations; points further from the line are left out of the fit."""

_MAD_TO_DEVIATION = 1.4826  # of a normal distribution


@dataclass(frozen=True)
class MeasuredDeployment:
    """Measurements of one deployment; None where unknown. lead_s: None if no instance was added. state_gib: keyed state
    that was restored, over all instances, or by the one that restored most if they do so in parallel.
    """

    downtime_s: float | None
    lead_s: float | None = None
    state_gib: float | None = None

    def __post_init__(self) -> None:
        for name in ("downtime_s", "lead_s", "state_gib"):
            if (value := getattr(self, name)) is not None:
                remedy = "leave this deployment out, or give a finite number, not below 0"
                check_numbers("measured deployment", name, value, remedy)


@dataclass(frozen=True)
class LearnedRescale:
    """downtime: without the state that is restored at a declared speed. model: the downtime as a function of the state,
    if past sizes show one; `downtime` is then the whole downtime at the newest size.
    """

    downtime: LearnedNumber
    lead: LearnedNumber
    model: RescaleModel | None = None


def learned_rescale(
    newest_first: Sequence[MeasuredDeployment], downtime_s: float, lead_s: float, restore_s_per_gib: float | None = None
) -> LearnedRescale:
    """Learn from deployments that held.

    downtime_s, lead_s, restore_s_per_gib: the declared numbers. downtime_s excludes the restoring of state if
    restore_s_per_gib is not None. A downtime of 0 s is left out: the plan ran already.
    """
    leads = [one.lead_s for one in newest_first if one.lead_s is not None]
    stopped = [one for one in newest_first if one.downtime_s]
    speed = restore_s_per_gib or 0.0
    rests_s = [max(0.0, (one.downtime_s or 0.0) - speed * (one.state_gib or 0.0)) for one in stopped]
    downtime = _learned(rests_s, downtime_s)
    model = _fitted(stopped, downtime_s, restore_s_per_gib)
    if model is not None:
        with_state = [one.state_gib for one in stopped if one.state_gib is not None]
        expected_s = float(model.downtime_s(with_state[0]))
        downtime = LearnedNumber(expected_s, downtime_s, model.measured, len(stopped))
    return LearnedRescale(downtime, _learned(leads, lead_s), model)


def steadied_median(measured: Sequence[float], declared: float) -> float:
    """Median of the measured numbers and the declared one, which counts DECLARED_WEIGHT times.

    A single outlier moves it no further than to the neighbouring number.

    >>> steadied_median([25.0, 25.0], 60.0), steadied_median([25.0, 26.0, 24.0, 600.0], 60.0)
    (42.5, 43.0)
    >>> steadied_median([25.0] * 3, 60.0)
    25.0
    """
    return float(np.median([*measured, *[declared] * int(DECLARED_WEIGHT)]))


def _learned(measured_s: Sequence[float], declared_s: float) -> LearnedNumber:
    if len(measured_s) < MIN_DEPLOYMENTS:
        return LearnedNumber(declared_s, declared_s, 0, len(measured_s))
    return LearnedNumber(steadied_median(measured_s, declared_s), declared_s, len(measured_s), len(measured_s))


def _fitted(
    stopped: Sequence[MeasuredDeployment], declared_s: float, restore_s_per_gib: float | None
) -> RescaleModel | None:
    """None if too few deployments have a known state, or all had about the same. Leaves out points far from the line of
    repeated medians (Siegel 1982), which holds while fewer than half are wrong.
    """
    pairs = [(one.state_gib, one.downtime_s) for one in stopped if one.state_gib is not None and one.downtime_s]
    if len(pairs) < MIN_FITTED:
        return None
    state_gib, downtimes_s = np.array(pairs).T
    if state_gib.max() <= MIN_SPREAD * state_gib.min():
        return None
    slope, intercept = scipy.stats.siegelslopes(downtimes_s, state_gib)
    misfits_s = np.abs(downtimes_s - intercept - slope * state_gib)
    declared = declared_rescale(declared_s, save_s_per_gib=0.0)
    if restore_s_per_gib is not None:
        declared = declared_rescale(declared_s, save_s_per_gib=0.0, restore_s_per_gib=restore_s_per_gib)
    usual_s = max(_MAD_TO_DEVIATION * float(np.median(misfits_s)), declared.noise * float(np.median(downtimes_s)))
    kept = misfits_s <= MAX_MISFIT * usual_s
    measured = [
        MeasuredRescale(float(took_s), restored_gib=float(gib))
        for gib, took_s in zip(state_gib[kept], downtimes_s[kept], strict=True)
    ]
    return fitted_rescale(measured, declared) if len(measured) >= MIN_FITTED else None
