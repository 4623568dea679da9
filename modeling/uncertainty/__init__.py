"""Errors of profiles and paths of the load, carried into intervals and probabilities."""
