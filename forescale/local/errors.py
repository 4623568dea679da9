"""Errors of local services. Each message names the service, its answer and its log."""


class ServiceError(RuntimeError):
    """A service does not start, does not answer, or has ended by itself."""


class AirflowError(ServiceError):
    """Airflow does not answer, refuses a request, or a run failed; the message says which and why."""


class LocalFlinkError(ServiceError):
    """Flink cannot be fetched, started or given its job on this machine; the message names place, value and remedy."""
