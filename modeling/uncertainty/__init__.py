"""Propagates errors of profiles and paths of the load into intervals and probabilities."""
