"""What a replay said of the peaks beside what came, and the history that it was said from."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forescale.report.decision.load_figure import gap_shading
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAPACITY,
    FORECAST,
    MISSING,
    KeyEntry,
    ReportFigure,
    base_layout,
    plotly_time,
    plotly_times,
)
from forescale.report.kit.wording import count_of, duration, moment, number

Floats = npt.NDArray[np.float64]

LIGHTER_BAND = "rgba(0, 114, 178, 0.10)"
MAX_BINS = 1500
PHONE_HISTORY = timedelta(days=14)
_Y_TITLE = "events per second"
_ALONE_S = 3600
"""Width of the only bar there is."""


def peak_figure(origins: Sequence[datetime], said_per_s: Floats, came_per_s: Floats, horizon_s: int) -> ReportFigure:
    """The peak within one horizon: a bar from p50 over p95 to p99 at each origin, and a mark for what came.

    said_per_s: p50, p95 and p99, shape (origins, 3), NaN where nothing was said. came_per_s: shape (origins,), NaN
    where too little is known of it.
    """
    told = np.flatnonzero(np.isfinite(said_per_s).all(axis=1))
    low, high, highest = said_per_s[told].T
    exceeded = np.flatnonzero(came_per_s > said_per_s[:, 1])
    held = np.flatnonzero(came_per_s <= said_per_s[:, 1])
    width_s = _bar_width_s(origins)
    words = [[number(value) for value in row] for row in said_per_s[told].tolist()]

    def bar(base: Floats, top: Floats, name: str, colour: str, hover: str) -> go.Bar:
        return go.Bar(
            x=_moments(origins, told),
            base=_rounded(base),
            y=_rounded(top - base),
            customdata=words,
            width=1000 * width_s,
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=hover,
        )

    traces: list[go.Bar | go.Scatter] = [
        bar(high, highest, "p99", LIGHTER_BAND, "%{customdata[2]}/s"),
        bar(low, high, "p50 to p95", BAND, "%{customdata[0]} to %{customdata[1]}/s"),
        # A bar that is a hair's breadth high would not be seen.
        _marks(_moments(origins, told), high, "p95", FORECAST, "line-ew-open", 7, "skip"),
        _marks(_moments(origins, held), came_per_s[held], "came", ARRIVED, "circle", 5),
        _marks(_moments(origins, exceeded), came_per_s[exceeded], "came, above the p95", CAPACITY, "triangle-up", 9),
    ]
    key = [
        KeyEntry("said of the peak: p50 to p95", "band", BAND),
        KeyEntry("p95", "line", FORECAST),
        KeyEntry("p95 to p99", "band", LIGHTER_BAND),
        KeyEntry(f"came, at or below the p95 ({held.size})", "point", ARRIVED),
    ]
    if exceeded.size:
        key.append(KeyEntry(f"came, above the p95 ({exceeded.size})", "mark", CAPACITY))
    edge = timedelta(seconds=width_s)
    plot = go.Figure(traces, base_layout(origins[0] - edge, origins[-1] + edge, _Y_TITLE))
    top = float(np.nanmax([*highest, *came_per_s], initial=0.0))
    plot.update_layout(barmode="overlay", yaxis={"range": [0, 1.06 * top] if top else [-0.05, 1]})
    known = held.size + exceeded.size
    return ReportFigure(
        title=f"Peak within {duration(horizon_s)}, by when it was forecast",
        description=(
            f"{count_of(int(told.size), 'forecast')} of the peak within {duration(horizon_s)}; of "
            f"{count_of(known, 'peak')} that came, {exceeded.size} exceeded the p95."
        ),
        plot=plot,
        key=tuple(key),
        wide=_look(250, 60, 10, _Y_TITLE),
        narrow=_look(220, 48, 4, ""),
    )


def origins_figure(series: ArrivalSeries, origins: Sequence[datetime]) -> ReportFigure:
    """What came, thinned to the largest window of each bin, and a mark on the axis for every origin."""
    windows = max(1, ceil(series.counts.size / MAX_BINS))
    bins = ceil(series.counts.size / windows)
    padded = np.full(bins * windows, np.nan)
    padded[: series.counts.size] = series.rate_per_s()
    table = padded.reshape(bins, windows)
    known = np.isfinite(table)
    rates = np.where(known.any(axis=1), np.where(known, table, -np.inf).max(axis=1), np.nan)
    width_s = windows * series.window_s
    top = 1.08 * max(float(np.nanmax(rates, initial=0.0)), 1.0 / series.window_s)

    traces = [
        go.Scatter(
            x0=plotly_time(series.start),
            dx=1000 * width_s,
            y=[None if np.isnan(rate) else float(f"{rate:.6g}") for rate in rates.tolist()],
            name="came",
            mode="lines",
            line={"color": ARRIVED, "width": 1.2},
            connectgaps=False,
            hovertemplate="%{y:,.3~r}/s",
        ),
        _marks(plotly_times(origins), np.zeros(len(origins)), "origin", FORECAST, "triangle-up", 8, "skip"),
    ]
    key = [
        KeyEntry(f"came{_largest(series.window_s, windows)}", "line", ARRIVED),
        KeyEntry(f"origins: forecasts were made here ({len(origins)})", "mark", FORECAST),
    ]
    gaps = _runs(np.isnan(rates))
    if gaps:
        key.append(KeyEntry("no data (not zero)", "band", MISSING))
    plot = go.Figure(traces, base_layout(series.start, series.end, _Y_TITLE))
    plot.update_layout(
        shapes=[
            gap_shading(
                series.start + timedelta(seconds=first * width_s),
                min(series.end, series.start + timedelta(seconds=last * width_s)),
            )
            for first, last in gaps
        ],
        # Below zero there is room for the marks.
        yaxis={"range": [-0.04 * top, top], "rangemode": "normal"},
    )
    everything = plotly_times([series.start, series.end])
    phone = plotly_times([max(series.start, min(origins[0], series.end - PHONE_HISTORY)), series.end])
    return ReportFigure(
        title="What came, and when forecasts were made",
        description=(
            f"Arrivals from {moment(series.start)} to {moment(series.end)} UTC, with "
            f"{count_of(len(origins), 'origin')} from {moment(origins[0])} on."
        ),
        plot=plot,
        key=tuple(key),
        wide=_look(250, 60, 10, _Y_TITLE) | {"xaxis.range": everything},
        narrow=_look(220, 48, 4, "") | {"xaxis.range": phone},
    )


def _look(height: int, left: int, ticks: int, y_title: str) -> dict[str, object]:
    margin = {"l": left, "r": 12, "t": 10, "b": 44}
    return {"height": height, "margin": margin, "xaxis.nticks": ticks, "yaxis.title.text": y_title}


def _largest(window_s: int, windows: int) -> str:
    return f": largest {duration(window_s)} in each {duration(windows * window_s)}" if windows > 1 else ""


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    padded = np.concatenate([[False], flags, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _bar_width_s(origins: Sequence[datetime]) -> float:
    """Most of what lies between two origins."""
    apart_s = np.diff([at.timestamp() for at in origins])
    return 0.7 * float(np.median(apart_s)) if apart_s.size else _ALONE_S


def _moments(origins: Sequence[datetime], rows: npt.NDArray[np.intp]) -> list[str]:
    return plotly_times([origins[row] for row in rows.tolist()])


def _marks(
    x: list[str], per_s: Floats, name: str, colour: str, symbol: str, size: int, hoverinfo: str | None = None
) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=_rounded(per_s),
        name=name,
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": size, "line": {"color": colour, "width": 2}}
        if symbol.endswith("open")
        else {"color": colour, "symbol": symbol, "size": size},
        cliponaxis=False,
        **({"hoverinfo": hoverinfo} if hoverinfo else {"hovertemplate": "%{y:,.3~r}/s"}),
    )


def _rounded(per_s: Floats) -> list[float]:
    return [float(f"{value:.6g}") for value in per_s.tolist()]
