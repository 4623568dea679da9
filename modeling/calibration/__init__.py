"""Calibration: operator profiles from counters measured on instances, each parameter with its interval.

`calibrated.calibrated` estimates, `drift.drifts` compares with the previous calibration. This module imports nothing:
whoever reads samples loads no estimators.
"""
