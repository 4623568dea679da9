"""Figures of a replay: load, capacity and lag over time, one policy or several; cost against violations."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go

from forescale.report.kit.figure import (
    ARRIVED,
    KeyEntry,
    ReportFigure,
    bare_layout,
    base_layout,
    label,
    look,
    plotly_time,
)
from forescale.report.kit.traces import line, marks
from forescale.report.kit.wording import moment, shortened
from modeling.arrays import Floats
from planner.replay.scores import Score
from planner.replay.timeline import Timeline

MAX_BINS = 2000
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0568a", "#e69f00", "#56b4e9", "#8c6d31", "#5a5a9c")
_DASHES = ("solid", "dash", "dot")
_AROUND = ("top center", "bottom center", "top right", "bottom right")
"""Names of neighbours in cost do not stand on each other."""
_LOAD_FROM = 0.42
"""Share of the height from which on the load is drawn; below it is the lag."""


def look_of(policies: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and dash of each."""
    pairs = [(colour, dash) for dash in _DASHES for colour in _COLOURS]
    return {name: pairs[at % len(pairs)] for at, name in enumerate(policies)}


def timeline_figure(timeline: Timeline, shown: Sequence[str]) -> ReportFigure:
    """The first seed. In bins of several minutes: the largest load and lag, the smallest capacity. shown: policies that
    are drawn at first; the others are in the legend, to be switched on there.
    """
    firsts = {name: timeline.of(name)[0] for name in timeline.policies}
    some = next(iter(firsts.values()))
    width = ceil(some.minute.size / MAX_BINS)
    start, step_ms = _at(float(some.minute[0])), 60_000 * width
    end = _at(float(some.minute[-1]) + 60)
    across: dict[str, Any] = {"x0": plotly_time(start), "dx": step_ms}
    plot = go.Figure(layout=base_layout(start, end, "events per second"))
    load = _binned(some.arrivals_per_s, width, np.maximum)
    plot.add_trace(line(None, load, "load", ARRIVED, 1.6, legendgroup="load", **across))
    for name, (colour, dash) in look_of(timeline.policies).items():
        track = firsts[name]
        switched: dict[str, Any] = {"legendgroup": name, "visible": True if name in shown else "legendonly"}
        told = label(name)
        capacity = _binned(np.where(track.in_downtime >= 60, 0.0, track.capacity_per_s), width, np.minimum)
        plot.add_trace(line(None, capacity, told, colour, 1.3, dash, line_shape="hv", **across, **switched))
        lag = _binned(track.lag_s, width, np.maximum)
        hover: dict[str, Any] = {"hovertemplate": "%{y:,.0f} s", "yaxis": "y2", "showlegend": False}
        plot.add_trace(line(None, lag, told, colour, 1.3, dash, **across, **switched, **hover))
    target = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y2",
        "line": {"color": "#555555", "dash": "dot"},
    }
    plot.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": -0.12, "yanchor": "top"},
        shapes=[target | {"y0": timeline.max_lag_s, "y1": timeline.max_lag_s}],
        yaxis={"domain": [_LOAD_FROM, 1.0]},
        yaxis2={
            "domain": [0.0, _LOAD_FROM - 0.08],
            "title": {"text": "lag in seconds", "standoff": 8},
            "rangemode": "tozero",
            "range": [0, 4 * timeline.max_lag_s],
            "gridcolor": "#e6e6e6",
            "zeroline": False,
            "nticks": 4,
            "fixedrange": True,
        },
    )
    binned = f" (largest and smallest of {width} minutes)" if width > 1 else ""
    return ReportFigure(
        title="Load, capacity and lag",
        description=f"From {moment(start)} to {moment(end)} UTC: the load, what each plan carries, and its lag.",
        plot=plot,
        key=(
            KeyEntry(f"load{binned}", "line", ARRIVED),
            KeyEntry(
                "above each plan's capacity, below its lag; names in the legend switch it",
                "line",
                "#0072b2",
            ),
            KeyEntry(f"lag that is allowed: {timeline.max_lag_s:g} s", "dot", "#555555"),
        ),
        wide=look(620, 64, 10, bottom=110),
        narrow=look(620, 48, 4, bottom=230),
    )


def pareto_figure(scores: Sequence[Score], policies: Sequence[str]) -> ReportFigure:
    """Instance-hours against violation minutes; the front joined by a line."""
    looks = look_of(policies)
    plot = go.Figure(layout=bare_layout("share of minutes in violation"))
    front = sorted((one for one in scores if one.best), key=lambda one: one.mean_instances)
    joined = line(
        [one.mean_instances for one in front], [one.violation_share for one in front], "front", "#999999", 1.2
    )
    plot.add_trace(joined.update(line={"shape": "hv"}, hoverinfo="skip", hovertemplate=None))
    most = max(one.violation_share for one in scores)
    for at, one in enumerate(scores):
        hover = f"{label(one.policy)}<br>{one.mean_instances:.2f} instances, {one.violation_share:.2%} in violation"
        point = marks(
            [one.mean_instances],
            np.array([one.violation_share]),
            None,
            looks[one.policy][0],
            "circle" if one.best else "circle-open",
            10,
            hovertemplate=f"{hover}<extra></extra>",
        )
        plot.add_trace(
            point.update(
                mode="markers+text", text=[label(shortened(one.policy, 24))], textposition=_AROUND[at % len(_AROUND)]
            )
        )
    plot.update_layout(
        hovermode="closest",
        xaxis={
            "title": {"text": "instances on average"},
            "rangemode": "tozero",
            "showgrid": True,
            "gridcolor": "#e6e6e6",
        },
        # Below zero there is room for names.
        yaxis={"tickformat": ".1%", "range": [-0.14 * max(most, 1e-4), 1.14 * max(most, 1e-4)], "zeroline": True},
    )
    return ReportFigure(
        title="Cost against violations",
        description="Each policy by its instances on average and its share of minutes in violation; less is better.",
        plot=plot,
        key=(
            KeyEntry("on the front: no other has less of one and no more of the other", "point", "#0072b2"),
            KeyEntry("beaten by another in both", "ring", "#0072b2"),
        ),
        wide=look(420, 76, 10, bottom=56),
        narrow=look(380, 56, 4, bottom=56),
    )


def _binned(values: Floats, width: int, of: np.ufunc) -> Floats:
    """The last bin may be shorter."""
    return np.asarray(of.reduceat(values, np.arange(0, values.size, width)), dtype=np.float64)


def _at(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
