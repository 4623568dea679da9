"""Variability of arrivals within the steps of forecasts, measured from the days of history before them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.settings import Settings
from modeling.queueing.bursts import Arrivals
from modeling.queueing.dispersion import SHORTEST, dispersion_of_history
from modeling.wording import count_of

SPAN = timedelta(days=7)


@dataclass(frozen=True)
class MeasuredArrivals:
    """arrival_cv2: as `evaluate` takes it. notes: the measured values, or why a source is taken as Poisson."""

    arrival_cv2: float | Arrivals
    notes: tuple[str, ...] = ()


def measured_arrivals(
    settings: Settings, topology: str, forecasts: Mapping[str, Forecast], given: float | None = None
) -> MeasuredArrivals:
    """Measured at the sources of these forecasts, from their training data; given: overrides the measurement."""
    if given is not None or not forecasts:
        return MeasuredArrivals(1.0 if given is None else given)
    until = max(forecast.trained_to for forecast in forecasts.values())
    try:
        series = read_history(settings.history_dir, topology, start=until - SPAN, end=until).series
    except HistoryError as error:
        return MeasuredArrivals(1.0, (f"arrivals are taken as Poisson: {error}",))
    found = {
        source: dispersion_of_history(series[source].counts, series[source].window_s) if source in series else None
        for source in forecasts
    }
    notes = (_note(source, arrivals, series.get(source)) for source, arrivals in found.items())
    by_source = {source: arrivals for source, arrivals in found.items() if arrivals is not None}
    return MeasuredArrivals(Arrivals(by_source=by_source), tuple(note for note in notes if note))


def _note(source: str, arrivals: Arrivals | None, series: ArrivalSeries | None) -> str:
    if arrivals is None or series is None:
        told = "no window" if series is None else f"{count_of(series.counts.size, 'window')} of {series.window_s} s"
        return f"arrivals at {source} are taken as Poisson: {told} within {SPAN.days} days do not show how they vary"
    bursts = arrivals.bursts
    if bursts is None:
        return ""
    assumed = " (assumed: shorter than a window)" if bursts.memory_s <= SHORTEST * series.window_s else ""
    return (
        f"arrivals at {source} rise to {bursts.factor:.3g} times their rate for {bursts.mean_s:.3g} s{assumed}, "
        f"{bursts.share:.0%} of the time: measured in windows of {series.window_s} s"
    )
