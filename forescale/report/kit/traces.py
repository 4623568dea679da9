"""Traces common to figures: lines and marks of rates, the arrivals of a source with their gaps, the band of a forecast.

A part of a figure is a trace with its entry in the key; None if it has only one of the two.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.report.kit.figure import BAND, FORECAST, MISSING, KeyEntry, plotly_time, plotly_times

Part = tuple[go.Scatter | go.Bar | None, KeyEntry | None]
Named = tuple[npt.ArrayLike, str]
"""Rates of the steps of a forecast, and their name."""

RATE = "%{y:,.3~r}/s"
MISSING_KEY = KeyEntry("no data (not zero)", "band", MISSING)


def rounded(values: npt.ArrayLike) -> list[float | None]:
    """Rounded below screen resolution; None, which breaks a line, for unknown values."""
    return [
        None if np.isnan(value) else float(f"{value:.6g}") if abs(value) < 1 else round(value, 6)
        for value in np.asarray(values, float).tolist()
    ]


def line(
    x: Sequence[object] | None,
    y: npt.ArrayLike,
    name: str,
    colour: str,
    width: float = 1.5,
    dash: str = "solid",
    **look: object,
) -> go.Scatter:
    """A line of rates. look: further properties of the trace, such as x0 and dx in place of x."""
    drawn = {"color": colour, "width": width, "dash": dash}
    return go.Scatter(x=x, y=rounded(y), name=name, mode="lines", line=drawn, **{"hovertemplate": RATE, **look})


def marks(
    x: Sequence[object],
    y: npt.ArrayLike,
    name: str | None,
    colour: str | Sequence[str],
    symbol: str,
    size: float,
    **look: object,
) -> go.Scatter:
    """Marks at rates. look: further properties of the trace."""
    drawn = {"color": colour, "symbol": symbol, "size": size}
    shared = {"hovertemplate": RATE, "cliponaxis": False}
    return go.Scatter(x=x, y=rounded(y), name=name, mode="markers", marker=drawn, **{**shared, **look})


def traces(parts: Sequence[Part]) -> list[go.Scatter | go.Bar]:
    return [trace for trace, _ in parts if trace is not None]


def key(parts: Sequence[Part]) -> tuple[KeyEntry, ...]:
    return tuple(entry for _, entry in parts if entry is not None)


def stepped(series: ArrivalSeries, step_s: int) -> ArrivalSeries:
    """The series in windows of step_s seconds if possible: shorter ones are noisier and not comparable."""
    try:
        return series.resampled(step_s)
    except HistoryError:
        return series


def arrivals(series: ArrivalSeries, name: str, colour: str, dash: str = "solid") -> go.Scatter:
    starts = np.datetime_as_string(series.window_starts()).tolist()
    return line(starts, series.rate_per_s(), name, colour, dash=dash, connectgaps=False)


def missing_spans(series: ArrivalSeries) -> list[tuple[datetime, datetime]]:
    """Runs of missing windows as [start, end)."""
    width = timedelta(seconds=series.window_s)
    return [(series.start + first * width, series.start + end * width) for first, end in runs(np.isnan(series.counts))]


def runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Unbroken runs of true flags, as [first, end)."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).tolist()
    return list(pairwise(edges))[::2]


def gap_shading(start: datetime, end: datetime) -> dict[str, object]:
    span = {"x0": plotly_time(start), "x1": plotly_time(end), "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "rect", **span, "fillcolor": MISSING, "line": {"width": 0}, "layer": "below"}


def band(forecast: Forecast, low: Named, high: Named, middle: Named) -> list[go.Scatter]:
    """A shading from low to high, and a line for the middle."""
    starts = plotly_times(forecast.step_starts())
    return [
        line(starts, *low, BAND, 0.5),
        line(starts, *high, BAND, 0.5, fill="tonexty", fillcolor=BAND),
        line(starts, *middle, FORECAST, 2),
    ]
