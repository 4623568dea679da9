"""Variation of arrivals within the steps of a forecast, estimated from the days before it, as in the planning job."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from modeling.queueing.bursts import Arrivals
from modeling.queueing.dispersion import dispersion_of_history


@dataclass(frozen=True)
class Variation:
    """series: by source. span: length of history to use. given: a value to use instead."""

    series: Mapping[str, ArrivalSeries]
    span: timedelta
    given: float | None = None

    @property
    def digest(self) -> str:
        """Over everything that the estimate depends on."""
        counts = " ".join(f"{source} {each.digest()}" for source, each in self.series.items())
        return hashlib.sha256(f"{self.span} {self.given} {counts}".encode()).hexdigest()

    def at(self, until: datetime) -> float | Arrivals:
        """From the history before `until`; Poisson for sources with too little of it."""
        if self.given is not None:
            return self.given
        found = {source: _found(each, until - self.span, until) for source, each in self.series.items()}
        return Arrivals(by_source={source: arrivals for source, arrivals in found.items() if arrivals is not None})


POISSON = Variation({}, timedelta(), 1.0)


def _found(series: ArrivalSeries, start: datetime, until: datetime) -> Arrivals | None:
    try:
        known = series.between(max(series.start, start), min(series.end, until))
    except HistoryError:
        return None
    return dispersion_of_history(known.counts, known.window_s)
