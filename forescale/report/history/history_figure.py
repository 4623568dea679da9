"""Arrivals of one source over a span of its history: zero drawn as zero, gaps shaded, doubtful windows marked."""

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from forecasting.arrays import Floats
from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, THROTTLED
from forescale.history.binned_windows import BinnedWindows
from forescale.history.span import HistorySpan
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
from forescale.report.kit.traces import Part, key, line, marks, runs, traces
from forescale.report.kit.wording import duration, moment, number
from modeling.wording import count_of

# Okabe and Ito's palette, as in the other figures.
THROTTLED_COLOUR, PARTIAL_COLOUR = "#b0568a", "#d55e00"
GONE, GONE_IN_PART = "rgba(130, 130, 130, 0.28)", "rgba(90, 90, 90, 0.75)"
_TICK = 0.035
"""Height, as a share of the figure's, of the marks of bins with some missing windows."""

_Y_TITLE = "events per second"


def history_figure(bins: BinnedWindows, span: HistorySpan) -> ReportFigure:
    """The largest rate in each bin; if bins have several windows, also their mean."""
    observed, throttled, partial = (bins.peak_per_s(status) for status in (OBSERVED, THROTTLED, PARTIAL))
    rates = np.concatenate([observed, throttled, partial])
    top = 1.08 * max(float(np.nanmax(rates, initial=0.0)), 1.0 / bins.window_s)
    asked, gone = bins.with_windows(), bins.count_of(MISSING)
    wholly = asked & (gone == bins.windows.sum(axis=0))
    thinned = int(bins.edges_us[1] - bins.edges_us[0]) > bins.window_s * SECOND_US

    parts: list[Part] = []
    if wholly.any():
        parts.append((_shading(bins, wholly, 0.0, top, GONE, span), KeyEntry("missing (not zero)", "band", GONE)))
    if (in_part := (gone > 0) & ~wholly).any():
        ticks = _shading(bins, in_part, top * (1 - _TICK), top, GONE_IN_PART, span)
        parts.append((ticks, KeyEntry("some windows missing", "band", GONE_IN_PART)))
    if thinned:
        parts += _line(bins, bins.mean_per_s(), "mean", "mean of the observed windows", FORECAST, 1.0)
    least = "throttled: at least this many arrived"
    parts += _line(bins, throttled, "throttled, at least", least, THROTTLED_COLOUR, 1.2)
    parts += _line(bins, observed, "observed", f"observed{_largest(bins, thinned)}", ARRIVED, 1.3)
    if not np.isnan(partial).all():
        crosses = _marks(bins, ~np.isnan(partial), partial, "partial, at least", PARTIAL_COLOUR, "triangle-up", 6)
        parts.append((crosses, KeyEntry("partial: at least this many arrived", "mark", PARTIAL_COLOUR)))

    plot = go.Figure(traces(parts), base_layout(span.start, span.end, _Y_TITLE))
    # Room below zero, or the axis would cover a line at zero.
    plot.update_layout(
        dragmode="zoom",
        xaxis={"fixedrange": False, "showline": False, "tickformatstops": _TICKS, "hoverformat": "%a %-d %b %Y %H:%M"},
        yaxis={"range": [-0.03 * top, top], "zeroline": True, "zerolinecolor": "#bbbbbb", "zerolinewidth": 1},
    )
    return ReportFigure(
        title=bins.source,
        description=_in_words(bins, span),
        plot=plot,
        key=key(parts),
        wide=look(260, 60, 6) | {"yaxis.title.text": _Y_TITLE},
        # No room for the axis title beside long numbers; the page says what is counted.
        narrow=look(220, 48, 4, right=8) | {"yaxis.title.text": ""},
    )


_TICKS = [
    {"dtickrange": [None, 86399999], "value": "%H:%M\n%a %-d %b"},
    {"dtickrange": [86400000, "M1"], "value": "%a %-d %b"},
    {"dtickrange": ["M1", None], "value": "%b %Y"},
]


def _in_words(bins: BinnedWindows, span: HistorySpan) -> str:
    peak = bins.peak_per_s(OBSERVED, THROTTLED, PARTIAL)
    told = (
        "nothing is known"
        if np.isnan(peak).all()
        else f"{count_of(bins.arrivals(), 'event')}, peak {number(np.nanmax(peak))}/s"
    )
    missing = int(bins.count_of(MISSING).sum())
    return (
        f"Arrivals of {bins.source}, {moment(span.start)} to {moment(span.end)} UTC: {told}; "
        f"{count_of(missing, 'window')} missing."
    )


def _largest(bins: BinnedWindows, thinned: bool) -> str:
    width_s = int(bins.edges_us[1] - bins.edges_us[0]) // SECOND_US
    return f": largest {duration(bins.window_s)} in each {duration(width_s)}" if thinned else ""


def _line(bins: BinnedWindows, per_s: Floats, name: str, words: str, colour: str, width: float) -> list[Part]:
    """A line that breaks at every gap, and dots for single bins between gaps, where a line has no length.

    Bins are regular in time, so only start and step are written. Empty if no rate is known.
    """
    known = ~np.isnan(per_s)
    if not known.any():
        return []
    first_us, step_us = int(bins.edges_us[0]), int(bins.edges_us[1] - bins.edges_us[0])
    start = plotly_time(from_us(first_us))
    drawn = line(None, per_s, name, colour, width, x0=start, dx=step_us // 1000, connectgaps=False)
    padded = np.concatenate([[False], known, [False]])
    alone = known & ~padded[:-2] & ~padded[2:]
    dots = _marks(bins, alone, per_s, None, colour, "circle", 3.5, hoverinfo="skip") if alone.any() else None
    return [(drawn, KeyEntry(words, "line", colour)), (dots, None)]


def _marks(
    bins: BinnedWindows,
    marked: npt.NDArray[np.bool_],
    per_s: Floats,
    name: str | None,
    colour: str,
    symbol: str,
    size: float,
    **look: object,
) -> go.Scatter:
    moments = plotly_times([from_us(us) for us in bins.edges_us[:-1][marked].tolist()])
    return marks(moments, per_s[marked], name, colour, symbol, size, **look)


def _shading(
    bins: BinnedWindows, shaded: npt.NDArray[np.bool_], low: float, high: float, colour: str, span: HistorySpan
) -> go.Scatter:
    """Rectangles over runs of bins, all in one trace; an outline keeps the narrowest visible."""
    x: list[str | None] = []
    y: list[float | None] = []
    for first, last in runs(shaded):
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
