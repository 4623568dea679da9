"""What can go wrong with a service. Each message names the service, what it said and where its log is."""


class ServiceError(RuntimeError):
    """A service does not start, does not answer, or has ended by itself."""


class AirflowError(ServiceError):
    """Airflow does not answer, refuses a request, or a run has failed; the message says which and why."""


class LocalFlinkError(ServiceError):
    """Flink cannot be fetched, started or given its job on this machine; the message names place, value and remedy."""
