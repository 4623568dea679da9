"""What can be wrong with those who are told."""


class PushError(RuntimeError):
    """A Pushgateway that did not take the metrics."""


class NotifyError(RuntimeError):
    """Settings by which nobody can be told."""
