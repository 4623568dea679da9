"""What can be wrong with the local Flink. Each message names the place, the value and the remedy."""


class LocalFlinkError(RuntimeError):
    """Flink cannot be fetched, started or given its job on this machine."""
