"""Arrivals of the last days, the forecast, and the p95 of the peak until each moment."""

from datetime import datetime, timedelta

import numpy as np
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.scoring import COVERAGE_QUANTILE
from forecasting.span_peaks import peaks_until_per_s
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAME,
    FORECAST,
    PEAK,
    KeyEntry,
    ReportFigure,
    base_layout,
    look,
    plotly_times,
    vertical_line,
)
from forescale.report.kit.traces import (
    MISSING_KEY,
    Part,
    arrivals,
    band,
    gap_shading,
    key,
    line,
    missing_spans,
    stepped,
    traces,
)
from forescale.report.kit.wording import duration, moment, quantile_name, rate

SHOWN_HISTORY = timedelta(days=3)
PHONE_HISTORY = timedelta(hours=24)
_LOW, _HIGH = 0.05, 0.95


def forecast_figure(forecast: Forecast, history: ArrivalSeries | None) -> ReportFigure:
    """The figure of one source; without a known history, only the forecast."""
    issued = forecast.issued_at
    before, since = _around(forecast, history)
    gaps = [] if before is None else missing_spans(before)
    if before is None or (issued - before.end).total_seconds() >= forecast.step_s:
        gaps.append((before.end if before else issued - SHOWN_HISTORY, issued))
    parts: list[Part] = []
    if before is not None:
        parts.append((arrivals(before, "arrived", ARRIVED), KeyEntry("arrived", "line", ARRIVED)))
    if gaps:
        parts.append((None, MISSING_KEY))
    parts += [*_band(forecast), (_steps(forecast), KeyEntry("p95 of the peak until then", "line", PEAK))]
    if since is not None:
        parts.append((arrivals(since, "came", CAME, "dot"), KeyEntry("came since", "dot", CAME)))

    start = before.start if before is not None else issued - PHONE_HISTORY
    end = max(forecast.end, since.end) if since is not None else forecast.end
    top = max([_top(before), _top(since), *(float(peak.max()) for peak in forecast.peak_per_s.values())])
    plot = go.Figure(traces(parts), base_layout(start, end, "events per second"))
    shape, note = vertical_line(issued, "issued")
    plot.update_layout(shapes=[*(gap_shading(*gap) for gap in gaps), shape], annotations=[note])
    if top == 0:
        # Room for a line at zero, which the axis would cover.
        plot.update_yaxes(range=[-0.03, 1], zeroline=True, zerolinecolor="#bbbbbb")
    on_a_phone = plotly_times([max(start, issued - PHONE_HISTORY), end])
    return ReportFigure(
        title="The last days and the next",
        description=(
            f"Arrivals and forecast of {forecast.source}, {moment(start)} to {moment(end)} UTC: {_in_words(forecast)}."
        ),
        plot=plot,
        key=key(parts),
        wide=look(380, 60, 10, top=26) | {"xaxis.range": plotly_times([start, end])},
        narrow=look(300, 48, 4, right=8, top=26) | {"xaxis.range": on_a_phone, "yaxis.title.text": ""},
    )


def _in_words(forecast: Forecast) -> str:
    peaks = (
        f"{rate(forecast.peak_quantile_per_s(horizon_s, COVERAGE_QUANTILE))} within {duration(horizon_s)}"
        for horizon_s in sorted(forecast.peak_per_s)
    )
    return f"p95 of the peak {', '.join(peaks)}"


def _around(forecast: Forecast, history: ArrivalSeries | None) -> tuple[ArrivalSeries | None, ArrivalSeries | None]:
    """The known history before the forecast, and during it."""
    if history is None:
        return None, None
    series = stepped(history, forecast.step_s)
    return (
        _between(series, forecast.start - SHOWN_HISTORY, forecast.start),
        _between(series, forecast.start, forecast.end),
    )


def _between(series: ArrivalSeries, start: datetime, end: datetime) -> ArrivalSeries | None:
    try:
        part = series.between(start, end)
    except HistoryError:
        return None
    return None if np.isnan(part.counts).all() else part


def _band(forecast: Forecast) -> list[Part]:
    """Band edges from the sample paths, which also give the lower one; without paths, from the stored quantiles."""
    if forecast.paths_per_s.shape[0]:
        low, high = np.quantile(forecast.paths_per_s, [_LOW, _HIGH], axis=0)
    else:
        low, high = forecast.rate_per_s[:, 0], forecast.rate_per_s[:, forecast.quantiles.index(COVERAGE_QUANTILE)]
    middle = forecast.rate_per_s[:, forecast.quantiles.index(0.5)]
    lower, upper, drawn = band(forecast, (low, _low_name(forecast)), (high, "p95"), (middle, "p50"))
    return [
        (lower, None),
        (upper, None),
        (drawn, KeyEntry("forecast, middle (p50)", "line", FORECAST)),
        (None, KeyEntry(f"forecast, {_low_name(forecast)} to p95 of each step", "band", BAND)),
    ]


def _low_name(forecast: Forecast) -> str:
    return quantile_name(_LOW if forecast.paths_per_s.shape[0] else forecast.quantiles[0])


def _steps(forecast: Forecast) -> go.Scatter:
    """The p95 of the peak until each moment; without paths, that of the shortest horizon that reaches it."""
    if forecast.paths_per_s.shape[0]:
        until = peaks_until_per_s(forecast, COVERAGE_QUANTILE).tolist()
        ends = [*forecast.step_starts()[1:], forecast.end]
        said = [f"with 95 % at most {rate(p95)} until {moment(end)} UTC" for end, p95 in zip(ends, until, strict=True)]
        return line(
            plotly_times([forecast.start, *ends]),
            [until[0], *until],
            "p95 of the peak",
            PEAK,
            2.5,
            text=[said[0], *said],
            hovertemplate="%{text}",
        )
    x: list[str] = []
    y: list[float] = []
    text: list[str] = []
    begin = forecast.start
    for horizon_s in sorted(forecast.peak_per_s):
        end = forecast.start + timedelta(seconds=horizon_s)
        p95 = forecast.peak_quantile_per_s(horizon_s, COVERAGE_QUANTILE)
        # Points between the corners: hovering works only at a line's points.
        moments = [begin + (end - begin) * part / 12 for part in range(13)]
        x += plotly_times(moments)
        y += [p95] * len(moments)
        text += [f"{rate(p95)} within {duration(horizon_s)}"] * len(moments)
        begin = end
    return line(x, y, "p95 of the peak", PEAK, 2.5, text=text, hovertemplate="%{text}")


def _top(series: ArrivalSeries | None) -> float:
    return 0.0 if series is None else float(np.nanmax(series.rate_per_s()))
