"""What came to one source over a span of its history: zero drawn as zero, gaps shaded, doubtful windows marked."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, THROTTLED, Floats
from forescale.history.binned_windows import BinnedWindows
from forescale.history.span import HistorySpan
from forescale.report.kit.figure import ARRIVED, FORECAST, KeyEntry, ReportFigure, base_layout, plotly_time
from forescale.report.kit.wording import count_of, duration, moment, number

# Okabe and Ito's, as the other figures.
THROTTLED_COLOUR, PARTIAL_COLOUR = "#b0568a", "#d55e00"
GONE, GONE_IN_PART = "rgba(130, 130, 130, 0.28)", "rgba(90, 90, 90, 0.75)"
_TICK = 0.035
"""Height, as a share of the figure's, of the marks of bins that miss some of their windows."""

_Y_TITLE = "events per second"


def history_figure(bins: BinnedWindows, span: HistorySpan) -> ReportFigure:
    """The largest rate in each bin; where a bin has several windows, their mean too."""
    observed, throttled, partial = (bins.peak_per_s(status) for status in (OBSERVED, THROTTLED, PARTIAL))
    rates = np.concatenate([observed, throttled, partial])
    top = 1.08 * max(float(np.nanmax(rates)) if not np.isnan(rates).all() else 0.0, 1.0 / bins.window_s)
    asked, gone = bins.with_windows(), bins.count_of(MISSING)
    wholly = asked & (gone == bins.windows.sum(axis=0))
    thinned = int(bins.edges_us[1] - bins.edges_us[0]) > bins.window_s * SECOND_US

    traces: list[go.Scatter] = []
    key: list[KeyEntry] = []
    if wholly.any():
        traces.append(_shading(bins, wholly, 0.0, top, GONE, span))
        key.append(KeyEntry("missing (not zero)", "band", GONE))
    if (in_part := (gone > 0) & ~wholly).any():
        traces.append(_shading(bins, in_part, top * (1 - _TICK), top, GONE_IN_PART, span))
        key.append(KeyEntry("some windows missing", "band", GONE_IN_PART))
    if thinned and not np.isnan(bins.mean_per_s()).all():
        traces += _line(bins, bins.mean_per_s(), "mean", FORECAST, 1.0)
        key.append(KeyEntry("mean of the observed windows", "line", FORECAST))
    if not np.isnan(throttled).all():
        traces += _line(bins, throttled, "throttled, at least", THROTTLED_COLOUR, 1.2)
        key.append(KeyEntry("throttled: at least this came", "line", THROTTLED_COLOUR))
    if not np.isnan(observed).all():
        traces += _line(bins, observed, "observed", ARRIVED, 1.3)
        key.append(KeyEntry(f"observed{_largest(bins, thinned)}", "line", ARRIVED))
    if not np.isnan(partial).all():
        traces.append(_crosses(bins, partial))
        key.append(KeyEntry("partial: at least this came", "mark", PARTIAL_COLOUR))

    plot = go.Figure(traces, base_layout(span.start, span.end, _Y_TITLE))
    # Below zero there is room for the line of zeros, or the axis would hide it.
    plot.update_layout(
        dragmode="zoom",
        xaxis={"fixedrange": False, "showline": False, "tickformatstops": _TICKS, "hoverformat": "%a %-d %b %Y %H:%M"},
        yaxis={"range": [-0.03 * top, top], "zeroline": True, "zerolinecolor": "#bbbbbb", "zerolinewidth": 1},
    )
    return ReportFigure(
        title=bins.source,
        description=_in_words(bins, span),
        plot=plot,
        key=tuple(key),
        wide={
            "height": 260,
            "margin": {"l": 60, "r": 12, "t": 10, "b": 44},
            "xaxis.nticks": 10,
            "yaxis.title.text": _Y_TITLE,
        },
        # No room for the title beside long numbers; the page says what is counted.
        narrow={
            "height": 220,
            "margin": {"l": 48, "r": 8, "t": 10, "b": 44},
            "xaxis.nticks": 4,
            "yaxis.title.text": "",
        },
    )


_TICKS = [
    {"dtickrange": [None, 86399999], "value": "%H:%M\n%a %-d %b"},
    {"dtickrange": [86400000, "M1"], "value": "%a %-d %b"},
    {"dtickrange": ["M1", None], "value": "%b %Y"},
]


def _in_words(bins: BinnedWindows, span: HistorySpan) -> str:
    peak = bins.peak_per_s(OBSERVED, THROTTLED, PARTIAL)
    told = (
        "nothing is known" if np.isnan(peak).all() else f"{bins.arrivals():,} events, peak {number(np.nanmax(peak))}/s"
    )
    missing = int(bins.count_of(MISSING).sum())
    return (
        f"Arrivals of {bins.source}, {moment(span.start)} to {moment(span.end)} UTC: {told}; "
        f"{count_of(missing, 'window')} missing."
    )


def _largest(bins: BinnedWindows, thinned: bool) -> str:
    width_s = int(bins.edges_us[1] - bins.edges_us[0]) // SECOND_US
    return f": largest {duration(bins.window_s)} in each {duration(width_s)}" if thinned else ""


def _line(bins: BinnedWindows, per_s: Floats, name: str, colour: str, width: float) -> list[go.Scatter]:
    """A line that breaks at every gap, and dots where a bin stands alone: between gaps a line has no length."""
    known = ~np.isnan(per_s)
    padded = np.concatenate([[False], known, [False]])
    alone = known & ~padded[:-2] & ~padded[2:]
    line = _scatter(bins, per_s, name, mode="lines", line={"color": colour, "width": width}, connectgaps=False)
    if not alone.any():
        return [line]
    at = np.flatnonzero(alone)
    dots = go.Scatter(
        x=[plotly_time(from_us(us)) for us in bins.edges_us[:-1][at].tolist()],
        y=_rounded(per_s[at]),
        mode="markers",
        marker={"color": colour, "size": 3.5},
        hoverinfo="skip",
    )
    return [line, dots]


def _crosses(bins: BinnedWindows, per_s: Floats) -> go.Scatter:
    at = np.flatnonzero(~np.isnan(per_s))
    return go.Scatter(
        x=[plotly_time(from_us(us)) for us in bins.edges_us[:-1][at].tolist()],
        y=_rounded(per_s[at]),
        name="partial, at least",
        mode="markers",
        marker={"symbol": "triangle-up", "color": PARTIAL_COLOUR, "size": 6},
        hovertemplate="%{y:,.3~r}/s",
    )


def _scatter(bins: BinnedWindows, per_s: Floats, name: str, **look: object) -> go.Scatter:
    """Regular in time, so only its start and step are written."""
    return go.Scatter(
        x0=plotly_time(from_us(int(bins.edges_us[0]))),
        dx=int(bins.edges_us[1] - bins.edges_us[0]) // 1000,
        y=_rounded(per_s),
        name=name,
        hovertemplate="%{y:,.3~r}/s",
        **look,
    )


def _shading(
    bins: BinnedWindows, shaded: npt.NDArray[np.bool_], low: float, high: float, colour: str, span: HistorySpan
) -> go.Scatter:
    """Rectangles over runs of bins, all in one trace; an outline keeps the narrowest of them visible."""
    padded = np.concatenate([[False], shaded, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    x: list[str | None] = []
    y: list[float | None] = []
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        begin = plotly_time(max(span.start, from_us(int(bins.edges_us[first]))))
        end = plotly_time(min(span.end, from_us(int(bins.edges_us[last]))))
        x += [begin, begin, end, end, begin, None]
        y += [low, high, high, low, low, None]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor=colour,
        line={"color": colour, "width": 1},
        hoverinfo="skip",
    )


def _rounded(per_s: Floats) -> Sequence[float | None]:
    return [None if np.isnan(value) else float(f"{value:.6g}") for value in per_s.tolist()]
