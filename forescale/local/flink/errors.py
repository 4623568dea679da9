"""What can be wrong with the local Flink. Each message names the place, the value and the remedy."""

from forescale.local.errors import ServiceError


class LocalFlinkError(ServiceError):
    """Flink cannot be fetched, started or given its job on this machine."""
