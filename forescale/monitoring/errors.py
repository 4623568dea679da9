"""Errors of the receivers of metrics and messages."""


class PushError(RuntimeError):
    """A Pushgateway that did not take the metrics."""


class NotifyError(RuntimeError):
    """Settings with which no message can be sent."""
