"""Calibrations as model versions in MLflow."""
