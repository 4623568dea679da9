"""Errors in the inputs of the performance model. Each message names the place, the value and the remedy."""


class ModelError(ValueError):
    """A topology, plan, profile or load that the performance model cannot use."""
