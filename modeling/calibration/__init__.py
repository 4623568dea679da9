"""Calibration: operator profiles from counters measured on instances, each parameter with its interval.

`calibrated` estimates, `drifts` compares with the previous calibration.
"""

from modeling.calibration.calibrated import Calibrated, CalibratedOperator, calibrated, calibrated_profiles
from modeling.calibration.drift import Drift, drifts
from modeling.calibration.service_time import MIN_TUPLES
from modeling.calibration.sifting import WARM_S, Marked

__all__ = [
    "MIN_TUPLES",
    "WARM_S",
    "Calibrated",
    "CalibratedOperator",
    "Drift",
    "Marked",
    "calibrated",
    "calibrated_profiles",
    "drifts",
]
