"""What arrived in the last days, what is forecast to come, and the p95 of the peak within each horizon as steps."""

from datetime import datetime, timedelta

import numpy as np
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forecasting.scoring import COVERAGE_QUANTILE
from forescale.report.decision.load_figure import LINE, arrivals_line, gap_shading, missing_spans, stepped
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAME,
    FORECAST,
    MISSING,
    PEAK,
    KeyEntry,
    ReportFigure,
    base_layout,
    plotly_times,
    vertical_line,
)
from forescale.report.kit.wording import duration, moment, quantile_name, rate

SHOWN_HISTORY = timedelta(days=3)
PHONE_HISTORY = timedelta(hours=24)
_LOW, _HIGH = 0.05, 0.95


def forecast_figure(forecast: Forecast, history: ArrivalSeries | None) -> ReportFigure:
    """One source. Where nothing is known of its history, the forecast alone."""
    issued = forecast.issued_at
    before, since = _around(forecast, history)
    traces: list[go.Scatter] = []
    key: list[KeyEntry] = []
    shapes: list[dict[str, object]] = []
    gaps = [] if before is None else missing_spans(before)
    if before is None or (issued - before.end).total_seconds() >= forecast.step_s:
        gaps.append((before.end if before else issued - SHOWN_HISTORY, issued))
    if before is not None:
        traces.append(arrivals_line(before, "arrived", ARRIVED))
        key.append(KeyEntry("arrived", "line", ARRIVED))
    if gaps:
        shapes += [gap_shading(start, end) for start, end in gaps]
        key.append(KeyEntry("no data (not zero)", "band", MISSING))
    traces += [*_band(forecast), _steps(forecast)]
    key += [
        KeyEntry("forecast, middle (p50)", "line", FORECAST),
        KeyEntry(f"forecast, {_low_name(forecast)} to p95 of each step", "band", BAND),
        KeyEntry("p95 of the peak by then", "line", PEAK),
    ]
    if since is not None:
        traces.append(arrivals_line(since, "came", CAME, "dot"))
        key.append(KeyEntry("came since", "dot", CAME))

    start = before.start if before is not None else issued - PHONE_HISTORY
    end = max(forecast.end, since.end) if since is not None else forecast.end
    top = max([_top(before), _top(since), *(float(peak.max()) for peak in forecast.peak_per_s.values())])
    plot = go.Figure(traces, base_layout(start, end, "events per second"))
    shape, note = vertical_line(issued, "issued")
    plot.update_layout(shapes=[*shapes, shape], annotations=[note])
    if top == 0:
        # Room for the line of zeros, which the axis would hide.
        plot.update_yaxes(range=[-0.03, 1], zeroline=True, zerolinecolor="#bbbbbb")
    return ReportFigure(
        title="The last days and the next",
        description=(
            f"Arrivals and forecast of {forecast.source}, {moment(start)} to {moment(end)} UTC: {_in_words(forecast)}."
        ),
        plot=plot,
        key=tuple(key),
        wide={
            "height": 380,
            "margin": {"l": 60, "r": 12, "t": 26, "b": 44},
            "xaxis.nticks": 10,
            "xaxis.range": plotly_times([start, end]),
        },
        narrow={
            "height": 300,
            "margin": {"l": 48, "r": 8, "t": 26, "b": 44},
            "xaxis.nticks": 4,
            "xaxis.range": plotly_times([max(start, issued - PHONE_HISTORY), end]),
            "yaxis.title.text": "",
        },
    )


def _in_words(forecast: Forecast) -> str:
    peaks = (
        f"{rate(forecast.peak_quantile_per_s(horizon_s, COVERAGE_QUANTILE))} within {duration(horizon_s)}"
        for horizon_s in sorted(forecast.peak_per_s)
    )
    return f"p95 of the peak {', '.join(peaks)}"


def _around(forecast: Forecast, history: ArrivalSeries | None) -> tuple[ArrivalSeries | None, ArrivalSeries | None]:
    """What is known of the days before the forecast, and of the time that it is for."""
    if history is None:
        return None, None
    series = stepped(history, forecast)
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


def _band(forecast: Forecast) -> list[go.Scatter]:
    """The edges off the sample paths, which know the lower one too; without paths, off the quantiles there are."""
    if forecast.paths_per_s.shape[0]:
        low, high = np.quantile(forecast.paths_per_s, [_LOW, _HIGH], axis=0)
    else:
        low, high = forecast.rate_per_s[:, 0], forecast.rate_per_s[:, forecast.quantiles.index(COVERAGE_QUANTILE)]
    middle = forecast.rate_per_s[:, forecast.quantiles.index(0.5)]
    starts = plotly_times(forecast.step_starts())

    def line(rates: np.ndarray, name: str, colour: str, **look: object) -> go.Scatter:
        return go.Scatter(
            x=starts,
            y=[round(float(value), 6) for value in rates],
            name=name,
            mode="lines",
            line={"color": colour, "width": 0.5 if colour == BAND else 2},
            hovertemplate=LINE,
            **look,
        )

    return [
        line(low, _low_name(forecast), BAND),
        line(high, "p95", BAND, fill="tonexty", fillcolor=BAND),
        line(middle, "p50", FORECAST),
    ]


def _low_name(forecast: Forecast) -> str:
    return quantile_name(_LOW if forecast.paths_per_s.shape[0] else forecast.quantiles[0])


def _steps(forecast: Forecast) -> go.Scatter:
    """Over each moment the p95 of the peak of the shortest horizon that reaches it."""
    x: list[str] = []
    y: list[float] = []
    text: list[str] = []
    begin = forecast.start
    for horizon_s in sorted(forecast.peak_per_s):
        end = forecast.start + timedelta(seconds=horizon_s)
        p95 = forecast.peak_quantile_per_s(horizon_s, COVERAGE_QUANTILE)
        # Points between the corners: the pointer finds a line only at its points.
        moments = [begin + (end - begin) * part / 12 for part in range(13)]
        x += plotly_times(moments)
        y += [round(p95, 6)] * len(moments)
        text += [f"{rate(p95)} within {duration(horizon_s)}"] * len(moments)
        begin = end
    return go.Scatter(
        x=x,
        y=y,
        text=text,
        name="p95 of the peak",
        mode="lines",
        line={"color": PEAK, "width": 2.5},
        hovertemplate="%{text}",
    )


def _top(series: ArrivalSeries | None) -> float:
    return 0.0 if series is None else float(np.nanmax(series.rate_per_s()))
