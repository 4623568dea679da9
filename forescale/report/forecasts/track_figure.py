"""What past forecasts said of the peak within one horizon, over when they were issued, beside the peak that came."""

from datetime import datetime, timedelta

import numpy as np
import plotly.graph_objects as go

from forecasting.track_record import TrackRecord
from forecasting.track_scores import completed_windows, p95_per_s
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAPACITY,
    FORECAST,
    KeyEntry,
    ReportFigure,
    base_layout,
    plotly_times,
)
from forescale.report.kit.wording import count_of, duration, number

_ALONE_S = 3600
"""Width of the only bar there is."""


def track_figure(record: TrackRecord, horizon: int) -> ReportFigure:
    """One horizon, by its number in the record: a bar from p50 to p95 for each forecast, a dot for what came.

    A span whose peak is not known yet, or never will be, has a bar and no dot.
    """
    horizon_s = record.horizons_s[horizon]
    high = p95_per_s(record, horizon)
    low = record.peak_per_s[:, horizon, record.quantiles.index(0.5)] if 0.5 in record.quantiles else high
    said = np.flatnonzero(np.isfinite(high) & np.isfinite(low))
    known = completed_windows(record, horizon)
    actual = record.actual_per_s[:, horizon]
    exceeded = np.flatnonzero(known & (actual > high))
    held = np.flatnonzero(known & ~(actual > high))
    width_s = _bar_width_s([record.issued[row] for row in said.tolist()])

    traces: list[go.Bar | go.Scatter] = [
        go.Bar(
            x=_moments(record, said),
            base=_rounded(low[said]),
            y=_rounded(high[said] - low[said]),
            customdata=[[number(low[row]), number(high[row])] for row in said.tolist()],
            width=1000 * width_s,
            name="said",
            marker={"color": BAND, "line": {"color": FORECAST, "width": 0 if said.size > 60 else 0.5}},
            hovertemplate="%{customdata[0]} to %{customdata[1]}/s",
        ),
        _dots(_moments(record, held), actual[held], "came", ARRIVED, "circle", 5),
        _dots(_moments(record, exceeded), actual[exceeded], "came, above the p95", CAPACITY, "triangle-up", 9),
    ]
    start, end = record.issued[int(said[0])], record.issued[int(said[-1])]
    edge = timedelta(seconds=max(width_s, 0.02 * (end - start).total_seconds()))
    plot = go.Figure(traces, base_layout(start - edge, end + edge, "events per second"))
    if not max(float(high[said].max()), float(np.nanmax(actual, initial=0.0))):
        plot.update_yaxes(range=[-0.05, 1])
    key = [
        KeyEntry("said: p50 to p95 of the peak", "band", BAND),
        KeyEntry(f"came, at or below the p95 ({held.size})", "point", ARRIVED),
    ]
    if exceeded.size:
        key.append(KeyEntry(f"came, above the p95 ({exceeded.size})", "mark", CAPACITY))
    return ReportFigure(
        title=f"Peak within {duration(horizon_s)}, by when it was forecast",
        description=(
            f"{count_of(int(said.size), 'forecast')} of the peak within {duration(horizon_s)}; of "
            f"{int(known.sum())} that are over, {exceeded.size} exceeded the p95."
        ),
        plot=plot,
        key=tuple(key),
        wide={
            "height": 240,
            "margin": {"l": 60, "r": 12, "t": 10, "b": 44},
            "xaxis.nticks": 10,
            "yaxis.title.text": "events per second",
        },
        narrow={
            "height": 210,
            "margin": {"l": 48, "r": 8, "t": 10, "b": 44},
            "xaxis.nticks": 4,
            "yaxis.title.text": "",
        },
    )


def _bar_width_s(issued: list[datetime]) -> float:
    """Most of what lies between two forecasts, as a rule."""
    apart_s = np.diff([at.timestamp() for at in issued])
    apart_s = apart_s[apart_s > 0]
    return 0.85 * float(np.median(apart_s)) if apart_s.size else _ALONE_S


def _moments(record: TrackRecord, rows: np.ndarray) -> list[str]:
    return plotly_times([record.issued[row] for row in rows.tolist()])


def _dots(x: list[str], per_s: np.ndarray, name: str, colour: str, symbol: str, size: int) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=_rounded(per_s),
        name=name,
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": size},
        hovertemplate="%{y:,.3~r}/s",
        cliponaxis=False,
    )


def _rounded(per_s: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in per_s.tolist()]
