"""What past deployments teach of the next one: its downtime, and how long more instances take to come.

Robust, as deployments are few and one of them may have gone wrong: a median in which the declared number counts like
DECLARED_WEIGHT deployments. Where the job's state was of different sizes, the downtime follows it (`fitted_rescale`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.rescaling.recovery import check_numbers
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import DECLARED_WEIGHT, RescaleModel, declared_rescale

MIN_DEPLOYMENTS = 2
"""With fewer the declared number holds."""
MIN_FITTED = 5
"""With fewer, one that went wrong could tilt a line through them."""
MIN_SPREAD = 1.5
"""Largest state over smallest, below which downtimes tell nothing of it."""
MAX_MISFIT = 3.0
"""In robust standard deviations: what lies further from the line is left out of the fit."""

_MAD_TO_DEVIATION = 1.4826  # of a normal distribution


@dataclass(frozen=True)
class MeasuredDeployment:
    """What is known of one deployment. lead_s: None where nothing was added. state_gib: keyed state that
    was read again, of all instances, or of the one that read most where they do so at once.
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
class LearnedNumber:
    """Seconds to plan with. deployments: how many it was learnt from; 0 where it is as declared. known: of how many
    it was measured.
    """

    seconds: float
    declared_s: float
    deployments: int
    known: int


@dataclass(frozen=True)
class LearnedRescale:
    """downtime: without the state that is read again at a declared speed. model: how it follows the state, where past
    sizes tell; downtime is of the newest one then, all told.
    """

    downtime: LearnedNumber
    lead: LearnedNumber
    model: RescaleModel | None = None


def learned_rescale(
    newest_first: Sequence[MeasuredDeployment], downtime_s: float, lead_s: float, restore_s_per_gib: float | None = None
) -> LearnedRescale:
    """Of deployments that held. downtime_s, lead_s, restore_s_per_gib: declared; the downtime without the state that is
    read again where that has a speed, None where nobody declares one.

    A downtime of 0 s is left out: it is that of a plan that ran already.
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
    """The median of the measured numbers and of the declared one, that counts like DECLARED_WEIGHT of them.

    One that is measured wrong moves it no further than the next one to it.

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
    """None where too few deployments tell their state, or it was about the same in all. Those far from the line of
    repeated medians (Siegel 1982), which stands while fewer than half are wrong, are left out.
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
