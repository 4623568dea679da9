"""The history used by a replay's forecasts, with the moments at which they were made."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil

import numpy as np
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forescale.report.kit.figure import (
    ARRIVED,
    FORECAST,
    KeyEntry,
    ReportFigure,
    base_layout,
    look,
    plotly_time,
    plotly_times,
)
from forescale.report.kit.traces import MISSING_KEY, gap_shading, line, marks, runs
from forescale.report.kit.wording import duration, moment
from modeling.wording import count_of

MAX_BINS = 1500
PHONE_HISTORY = timedelta(days=14)
_Y_TITLE = "events per second"


def origins_figure(series: ArrivalSeries, origins: Sequence[datetime]) -> ReportFigure:
    """Arrivals, thinned to the largest window of each bin, and a mark on the axis for every origin."""
    windows = max(1, ceil(series.counts.size / MAX_BINS))
    bins = ceil(series.counts.size / windows)
    padded = np.full(bins * windows, np.nan)
    padded[: series.counts.size] = series.rate_per_s()
    rates = np.fmax.reduce(padded.reshape(bins, windows), axis=1)
    width_s = windows * series.window_s
    top = 1.08 * max(float(np.nanmax(rates, initial=0.0)), 1.0 / series.window_s)

    came = line(None, rates, "came", ARRIVED, 1.2, x0=plotly_time(series.start), dx=1000 * width_s, connectgaps=False)
    made = marks(plotly_times(origins), np.zeros(len(origins)), "origin", FORECAST, "triangle-up", 8, hoverinfo="skip")
    key = [
        KeyEntry(f"came{_largest(series.window_s, windows)}", "line", ARRIVED),
        KeyEntry(f"origins: forecasts were made here ({len(origins)})", "mark", FORECAST),
    ]
    gaps = runs(np.isnan(rates))
    if gaps:
        key.append(MISSING_KEY)
    plot = go.Figure([came, made], base_layout(series.start, series.end, _Y_TITLE))
    width = timedelta(seconds=width_s)
    plot.update_layout(
        shapes=[
            gap_shading(series.start + first * width, min(series.end, series.start + end * width))
            for first, end in gaps
        ],
        # Room for the marks below zero.
        yaxis={"range": [-0.04 * top, top], "rangemode": "normal"},
    )
    everything = plotly_times([series.start, series.end])
    phone = plotly_times([max(series.start, min(origins[0], series.end - PHONE_HISTORY)), series.end])
    return ReportFigure(
        title="Arrivals, and when forecasts were made",
        description=(
            f"Arrivals from {moment(series.start)} to {moment(series.end)} UTC, with "
            f"{count_of(len(origins), 'origin')} from {moment(origins[0])} on."
        ),
        plot=plot,
        key=tuple(key),
        wide=look(250, 60, 10) | {"yaxis.title.text": _Y_TITLE, "xaxis.range": everything},
        narrow=look(220, 48, 4) | {"yaxis.title.text": "", "xaxis.range": phone},
    )


def _largest(window_s: int, windows: int) -> str:
    return f": largest {duration(window_s)} in each {duration(windows * window_s)}" if windows > 1 else ""
