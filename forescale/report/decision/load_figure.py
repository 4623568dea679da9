"""The main figure: what arrived, what is forecast, and the capacity that the schedule puts over it."""

from datetime import datetime, timedelta
from math import inf, isfinite

import numpy as np
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.report.decision.capacity_traces import capacity_label, capacity_line, deploy_marks
from forescale.report.decision.decision import Decision
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAME,
    CAPACITY,
    FORECAST,
    MISSING,
    KeyEntry,
    ReportFigure,
    base_layout,
    plotly_time,
    plotly_times,
    vertical_line,
)
from forescale.report.kit.wording import moment, percent, quantile_name

SHOWN_HISTORY = timedelta(days=2)
PHONE_HISTORY = timedelta(hours=12)
UNFORECAST_STEP_S = 300
LINE = "%{y:,.3~r}/s"


def load_figure(decision: Decision, source: str) -> ReportFigure:
    """One source. Without a forecast, or without capacity, the figure shows the rest."""
    now = decision.schedule.made_at
    forecast = decision.forecasts.get(source)
    series = _recent(decision.history.series.get(source), forecast, now)
    end = max(decision.schedule.end, forecast.end if forecast else decision.schedule.end)
    capacity = [step for step in decision.capacity if isfinite(step.usable_per_s.get(source, inf))]

    traces: list[go.Scatter] = []
    key: list[KeyEntry] = []
    shapes: list[dict[str, object]] = []
    if series is not None:
        traces.append(arrivals_line(series, "arrived", ARRIVED))
        key.append(KeyEntry("arrived", "line", ARRIVED))
        stale = [(series.end, now)] if (now - series.end).total_seconds() >= series.window_s else []
        if gaps := missing_spans(series) + stale:
            shapes += [gap_shading(start, stop) for start, stop in gaps]
            key.append(KeyEntry("no data (not zero)", "band", MISSING))
    if forecast is not None:
        traces += _band(forecast)
        key += _band_key(forecast)
    if capacity:
        traces.append(capacity_line(capacity, source))
        key.append(
            KeyEntry(f"usable capacity ({percent(decision.max_utilisation)} of what saturates)", "line", CAPACITY)
        )
    if marks := deploy_marks(decision, capacity, source):
        traces.append(marks)
        key.append(KeyEntry("deploy, by step number", "mark", CAPACITY))
    if decision.outcome and source in decision.outcome.arrivals.series:
        traces.append(arrivals_line(stepped(decision.outcome.arrivals.series[source], forecast), "came", CAME, "dot"))
        key.append(KeyEntry("what came", "dot", CAME))

    start = max(now - SHOWN_HISTORY, series.start) if series is not None else now
    plot = go.Figure(traces, base_layout(start, end, "events per second"))
    shape, note = vertical_line(now, "decided")
    notes = [note, capacity_label(capacity, source, start, end)] if capacity else [note]
    plot.update_layout(shapes=[*shapes, shape], annotations=notes)
    return ReportFigure(
        title=f"Load and capacity of {source}",
        description=f"Arrivals, forecast and usable capacity of {source}, {moment(start)} to {moment(end)} UTC.",
        plot=plot,
        key=tuple(key),
        wide={
            "height": 380,
            "margin": {"l": 56, "r": 12, "t": 26, "b": 44},
            "xaxis.nticks": 10,
            "xaxis.range": plotly_times([start, end]),
            "annotations": notes,
        },
        narrow={
            "height": 300,
            "margin": {"l": 44, "r": 8, "t": 26, "b": 44},
            "xaxis.nticks": 5,
            "xaxis.range": plotly_times([max(start, now - PHONE_HISTORY), end]),
            "annotations": [note],  # no room for labels on lines; the key below has them
        },
    )


def _recent(series: ArrivalSeries | None, forecast: Forecast | None, now: datetime) -> ArrivalSeries | None:
    if series is None:
        return None
    try:
        return stepped(series, forecast).between(now - SHOWN_HISTORY, now)
    except HistoryError:
        return None


def stepped(series: ArrivalSeries, forecast: Forecast | None) -> ArrivalSeries:
    """At the forecast's own resolution where that is possible: shorter windows are noisier and cannot be compared."""
    try:
        return series.resampled(forecast.step_s if forecast else max(UNFORECAST_STEP_S, series.window_s))
    except HistoryError:
        return series


def arrivals_line(series: ArrivalSeries, name: str, colour: str, dash: str = "solid") -> go.Scatter:
    starts = [f"{at}" for at in series.window_starts()]
    rates = [None if np.isnan(value) else round(float(value), 6) for value in series.rate_per_s()]
    return go.Scatter(
        x=starts,
        y=rates,
        name=name,
        mode="lines",
        line={"color": colour, "width": 1.5, "dash": dash},
        connectgaps=False,
        hovertemplate=LINE,
    )


def missing_spans(series: ArrivalSeries) -> list[tuple[datetime, datetime]]:
    """Runs of missing windows as [start, end)."""
    missing = np.concatenate([[False], np.isnan(series.counts), [False]])
    edges = np.flatnonzero(missing[1:] != missing[:-1])
    at = [series.start + timedelta(seconds=series.window_s * int(edge)) for edge in edges]
    return list(zip(at[::2], at[1::2], strict=True))


def gap_shading(start: datetime, end: datetime) -> dict[str, object]:
    return {
        "type": "rect",
        "x0": plotly_time(start),
        "x1": plotly_time(end),
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "fillcolor": MISSING,
        "line": {"width": 0},
        "layer": "below",
    }


def _band_quantiles(forecast: Forecast) -> tuple[float, float, float]:
    """The middle, and the lower and upper edge of the shading: p50, p90 and p99 where the forecast has them."""
    middle = min(forecast.quantiles, key=lambda q: abs(q - 0.5))
    upper = [q for q in forecast.quantiles if q >= 0.9] or [max(forecast.quantiles)]
    return middle, min(upper), max(upper)


def _band(forecast: Forecast) -> list[go.Scatter]:
    starts = plotly_times(forecast.step_starts())
    middle, lower, upper = _band_quantiles(forecast)

    def line(quantile: float, colour: str, **look: object) -> go.Scatter:
        rates = forecast.rate_per_s[:, forecast.quantiles.index(quantile)]
        return go.Scatter(
            x=starts,
            y=[round(float(value), 6) for value in rates],
            name=quantile_name(quantile),
            mode="lines",
            line={"color": colour, "width": 0.5 if colour == BAND else 2},
            hovertemplate=LINE,
            **look,
        )

    return [
        line(lower, BAND),
        line(upper, BAND, fill="tonexty", fillcolor=BAND),
        line(middle, FORECAST),
    ]


def _band_key(forecast: Forecast) -> list[KeyEntry]:
    middle, lower, upper = _band_quantiles(forecast)
    return [
        KeyEntry(f"forecast {quantile_name(middle)}", "line", FORECAST),
        KeyEntry(f"forecast {quantile_name(lower)} to {quantile_name(upper)}", "band", BAND),
    ]
