"""Forecast and real peaks within one horizon, over the forecasts' times of issue."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
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
    look,
    plotly_times,
)
from forescale.report.kit.traces import Part, key, marks, rounded, traces
from forescale.report.kit.wording import duration, number
from modeling.arrays import Floats
from modeling.wording import count_of

LIGHTER_BAND = "rgba(0, 114, 178, 0.10)"
MANY = 60
"""Number of bars from which on they are so narrow that an outline would hide them."""
_ALONE_S = 3600
"""Width of a single bar."""


def track_figure(record: TrackRecord, horizon: int) -> ReportFigure:
    """The figure of one horizon, by its number in the record. A span with an unknown peak has only a bar."""
    high = p95_per_s(record, horizon)
    low = record.peak_per_s[:, horizon, record.quantiles.index(0.5)] if 0.5 in record.quantiles else high
    came = np.where(completed_windows(record, horizon), record.actual_per_s[:, horizon], np.nan)
    return peak_figure(record.issued, np.column_stack([low, high]), came, record.horizons_s[horizon])


def peak_figure(issued: Sequence[datetime], said_per_s: Floats, came_per_s: Floats, horizon_s: int) -> ReportFigure:
    """A bar from p50 over p95 to p99 for each forecast, and a mark for the real peak.

    said_per_s: p50, p95 and, if drawn, p99, shape (forecasts, 2 or 3), NaN without a forecast; at least one row is
    finite. came_per_s: shape (forecasts,), NaN if too little is known.
    """
    said = np.flatnonzero(np.isfinite(said_per_s).all(axis=1))
    low, high, *highest = said_per_s[said].T
    exceeded = np.flatnonzero(came_per_s > said_per_s[:, 1])
    held = np.flatnonzero(came_per_s <= said_per_s[:, 1])
    moments = [issued[row] for row in said.tolist()]
    width_s = _bar_width_s(moments)

    def at(rows: npt.NDArray[np.intp]) -> list[str]:
        return plotly_times([issued[row] for row in rows.tolist()])

    def bar(base: Floats, top: Floats, name: str, colour: str, outline: float, hover: str) -> go.Bar:
        return go.Bar(
            x=at(said),
            base=rounded(base),
            y=rounded(top - base),
            customdata=[[number(value) for value in row] for row in said_per_s[said].tolist()],
            width=1000 * width_s,
            name=name,
            marker={"color": colour, "line": {"color": FORECAST, "width": outline}},
            hovertemplate=hover,
        )

    parts: list[Part] = [
        *((bar(high, top, "p99", LIGHTER_BAND, 0, "%{customdata[2]}/s"), None) for top in highest),
        (
            bar(low, high, "p50 to p95", BAND, 0.5 * (said.size <= MANY), "%{customdata[0]} to %{customdata[1]}/s"),
            KeyEntry("forecast of the peak: p50 to p95", "band", BAND),
        ),
    ]
    if highest:
        # A bar of almost no height would be invisible.
        p95 = marks(at(said), high, "p95", FORECAST, "line-ew-open", 7, marker_line_width=2, hoverinfo="skip")
        parts += [(p95, KeyEntry("p95", "line", FORECAST)), (None, KeyEntry("p95 to p99", "band", LIGHTER_BAND))]
    parts.append(
        (
            marks(at(held), came_per_s[held], "came", ARRIVED, "circle", 5),
            KeyEntry(f"real peak, at or below the p95 ({held.size})", "point", ARRIVED),
        )
    )
    above = KeyEntry(f"real peak, above the p95 ({exceeded.size})", "mark", CAPACITY) if exceeded.size else None
    above_marks = marks(at(exceeded), came_per_s[exceeded], "real peak, above the p95", CAPACITY, "triangle-up", 9)
    parts.append((above_marks, above))

    edge = timedelta(seconds=max(width_s, 0.02 * (moments[-1] - moments[0]).total_seconds()))
    y_title = "events per second"
    plot = go.Figure(traces(parts), base_layout(moments[0] - edge, moments[-1] + edge, y_title))
    top = float(np.nanmax([*said_per_s[said].max(axis=1), *came_per_s], initial=0.0))
    plot.update_layout(barmode="overlay", yaxis={"range": [0, 1.06 * top] if top else [-0.05, 1]})
    return ReportFigure(
        title=f"Peak within {duration(horizon_s)}, by when it was forecast",
        description=(
            f"{count_of(said.size, 'forecast')} of the peak within {duration(horizon_s)}; of "
            f"{count_of(held.size + exceeded.size, 'peak')} known afterwards, {exceeded.size} exceeded the p95."
        ),
        plot=plot,
        key=key(parts),
        wide=look(250, 60, 10) | {"yaxis.title.text": y_title},
        narrow=look(220, 48, 4) | {"yaxis.title.text": ""},
    )


def _bar_width_s(moments: Sequence[datetime]) -> float:
    """Most of the usual interval between two forecasts."""
    apart_s = np.diff([at.timestamp() for at in moments])
    apart_s = apart_s[apart_s > 0]
    return 0.8 * float(np.median(apart_s)) if apart_s.size else _ALONE_S
