"""Variability of arrivals within the steps of forecasts, measured from the days of history before them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.within_steps import hidden_burst
from forescale.history.silence import told_silent_s
from forescale.report.kit.decision_words import arrival_words
from forescale.situation.decision_grounds import VARIATION_SPAN
from forescale.situation.situation import Situation
from modeling.queueing.bursts import Arrivals
from modeling.queueing.dispersion import SHORTEST, dispersion_of_history
from planner.decision_basis import ArrivalFacts, HiddenBurst


@dataclass(frozen=True)
class MeasuredArrivals:
    """arrival_cv2: as `evaluate` takes it. facts: the measured values, or why a source is taken as Poisson."""

    arrival_cv2: float | Arrivals
    facts: tuple[ArrivalFacts, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(map(arrival_words, self.facts))


def measured_arrivals(
    situation: Situation, forecasts: Mapping[str, Forecast], given: float | None = None, others: Iterable[str] = ()
) -> MeasuredArrivals:
    """Measured at the sources of these forecasts, from their training data; given: overrides the measurement.

    others: sources whose rate is not forecast: measured in the same days, without forecasts in the last ones, and
    taken as Poisson without a word where there are none.
    """
    if given is not None:
        return MeasuredArrivals(given)
    until = max((forecast.trained_to for forecast in forecasts.values()), default=situation.past.at)
    issued_at = max((forecast.issued_at for forecast in forecasts.values()), default=until)
    try:
        newest = situation.history.between(until - VARIATION_SPAN, max(until, issued_at)).series
        series = situation.history.between(until - VARIATION_SPAN, until).series
    except HistoryError as error:
        return MeasuredArrivals(1.0, (ArrivalFacts("", detail=str(error)),) if forecasts else ())
    found = {
        source: dispersion_of_history(series[source].counts, series[source].window_s) if source in series else None
        for source in (*forecasts, *(each for each in others if each in series and each not in forecasts))
    }
    facts = [_facts(source, arrivals, series.get(source)) for source, arrivals in found.items()]
    facts += [_hidden(series[source], situation.config.forecast.step_s) for source in forecasts if source in series]
    facts += [_silent(newest[source], issued_at) for source in forecasts if source in newest]
    by_source = {source: arrivals for source, arrivals in found.items() if arrivals is not None}
    return MeasuredArrivals(Arrivals(by_source=by_source), tuple(each for each in facts if each is not None))


def _facts(source: str, arrivals: Arrivals | None, series: ArrivalSeries | None) -> ArrivalFacts | None:
    """None for arrivals without bursts."""
    if series is None:
        return ArrivalFacts(source)
    measured = ArrivalFacts(source, windows=series.counts.size, window_s=float(series.window_s))
    if arrivals is None:
        return measured
    bursts = arrivals.bursts
    if bursts is None:
        return None
    assumed = bursts.memory_s <= SHORTEST * series.window_s
    return replace(measured, factor=bursts.factor, mean_s=bursts.mean_s, share=bursts.share, assumed=assumed)


def _hidden(series: ArrivalSeries, step_s: int) -> ArrivalFacts | None:
    found = hidden_burst(series, step_s)
    if found is None:
        return None
    burst = HiddenBurst(*found, step_s)
    return ArrivalFacts(series.source, windows=series.counts.size, window_s=float(series.window_s), hidden=burst)


def _silent(series: ArrivalSeries, at: datetime) -> ArrivalFacts | None:
    for_s = told_silent_s(series, at)
    return ArrivalFacts(series.source, silent_s=for_s) if for_s else None
