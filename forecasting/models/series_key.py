"""A series as the key of what was worked out from it."""

from forecasting.arrivals.history import ArrivalSeries


class SeriesKey:
    """Equal for series in which a forecaster would see no difference."""

    def __init__(self, series: ArrivalSeries) -> None:
        self.series = series
        self.digest = series.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeriesKey) and self.digest == other.digest
