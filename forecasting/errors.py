"""Errors of histories and forecasts. Each message names the place, the value and the remedy."""


class HistoryError(ValueError):
    """The arrival history, or the events that it is made from, cannot be used."""


class HistoryStoreError(HistoryError):
    """The object store of the arrival history does not answer or refuses."""


class ForecastError(ValueError):
    """A forecast cannot be made, recorded or read back."""


class TrackingError(RuntimeError):
    """The tracking server (MLflow) does not answer or refuses a request."""


class CalendarError(ForecastError):
    """A calendar of events cannot be used."""
