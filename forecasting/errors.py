"""What can be wrong with a history or a forecast. Each message names the place, the value and the remedy."""


class HistoryError(ValueError):
    """The arrival history, or the events it is made from, cannot be used as it is."""


class HistoryStoreError(HistoryError):
    """The object store that holds the arrival history does not answer, or refuses."""


class ForecastError(ValueError):
    """A forecast cannot be made, recorded or read back."""


class TrackingError(RuntimeError):
    """The tracking server (MLflow) does not answer or refuses what it is given."""


class CalendarError(ForecastError):
    """A calendar of events cannot be used as it is."""
