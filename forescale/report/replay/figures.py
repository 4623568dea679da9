"""Figures of a replay: load, capacity and lag over time of one or several policies; cost against violations."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
from forescale.report.replay.labels import annotation, placed_labels
from modeling.arrays import Floats
from planner.replay.scores import Score
from planner.replay.timeline import Timeline

MAX_BINS = 2000
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0568a", "#e69f00", "#56b4e9", "#8c6d31", "#5a5a9c")
_DASHES = ("solid", "dash", "dot")
_LETTER_PX = 7.0
"""Approximate width of a letter in a label."""
_WIDE_PX, _NARROW_PX = (540.0, 354.0), (220.0, 314.0)
"""For the figure of cost against violations, on a desktop and on a phone: minimum width of its area, as moving labels
apart needs width, and the height between its margins.
"""
_EDGE = 0.06
"""Margin at both ends of an axis, as a share of its range."""
_STEPS = (1.0, 2.0, 5.0)
_LOAD_FROM = 0.42
"""Share of the height above which the load is drawn; the lag is below."""


def look_of(policies: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and dash of each policy."""
    pairs = [(colour, dash) for dash in _DASHES for colour in _COLOURS]
    return {name: pairs[at % len(pairs)] for at, name in enumerate(policies)}


def timeline_figure(timeline: Timeline, shown: Sequence[str]) -> ReportFigure:
    """The first seed, in bins of several minutes: the largest load and lag, the smallest capacity. shown: policies
    drawn at first; the others can be switched on in the legend.
    """
    firsts = {name: timeline.of(name)[0] for name in timeline.policies}
    some = next(iter(firsts.values()))
    width = math.ceil(some.minute.size / MAX_BINS)
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
            KeyEntry(f"allowed lag: {timeline.max_lag_s:g} s", "dot", "#555555"),
        ),
        wide=look(620, 64, 10, bottom=110),
        narrow=look(620, 48, 4, bottom=230),
    )


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis. values: of the points; ticks: positions and labels."""

    values: Floats
    ends: tuple[float, float]
    ticks: Sequence[tuple[float, str]]

    def px(self, size_px: float) -> list[float]:
        low, high = self.ends
        return [float(each) for each in (self.values - low) / (high - low) * size_px]

    @property
    def layout(self) -> dict[str, Any]:
        return {
            "range": list(self.ends),
            "tickvals": [at for at, _ in self.ticks],
            "ticktext": [text for _, text in self.ticks],
            "showgrid": True,
            "gridcolor": "#e6e6e6",
            "zeroline": False,
        }


def _axis(values: Sequence[float], steps: Sequence[float], format_value: Callable[[float], str]) -> _Axis:
    """Ticks at these steps in each decade; zero is drawn a decade below the smallest other value."""
    given = np.array(values, dtype=np.float64)
    some = given[given > 0] if (given > 0).any() else np.array([1.0])
    none = math.log10(some.min()) - 1
    at = np.where(given > 0, np.log10(np.where(given > 0, given, 1.0)), none)
    low, high = float(at.min()), max(float(at.max()), float(at.min()) + 0.3)
    room = _EDGE * (high - low)
    decades = range(math.floor(math.log10(some.min())), math.ceil(high) + 1)
    ticks = [(math.log10(step) + decade, format_value(step * 10.0**decade)) for decade in decades for step in steps]
    seen = [(tick, text) for tick, text in ticks if math.log10(some.min()) - room <= tick <= high + room]
    return _Axis(at, (low - room, high + room), [(none, "none"), *seen] if (given == 0).any() else seen)


def pareto_figure(scores: Sequence[Score], policies: Sequence[str]) -> ReportFigure:
    """Instances against violation minutes, both logarithmic; a line joins the front. Points are labelled with names, on
    a phone with their numbers in the table.
    """
    looks = look_of(policies)
    plot = go.Figure(layout=bare_layout("share of minutes in violation"))
    across = _axis([one.mean_instances for one in scores], _STEPS, lambda value: f"{value:g}")
    up = _axis([one.violation_share for one in scores], (1.0,), lambda value: f"{100 * value:g}%")
    front = sorted((at for at, one in enumerate(scores) if one.best), key=lambda at: scores[at].mean_instances)
    joined = line(across.values[front].tolist(), up.values[front].tolist(), "front", "#999999", 1.2)
    plot.add_trace(joined.update(line={"shape": "hv"}, hoverinfo="skip", hovertemplate=None))
    for at, one in enumerate(scores):
        hover = f"{label(one.policy)}<br>{one.mean_instances:.2f} instances, {one.violation_share:.2%} in violation"
        plot.add_trace(
            marks(
                [float(across.values[at])],
                up.values[at : at + 1],
                None,
                looks[one.policy][0],
                "circle" if one.best else "circle-open",
                10,
                hovertemplate=f"{hover}<extra></extra>",
            )
        )
    plot.update_layout(
        hovermode="closest", xaxis={"title": {"text": "instances on average"}} | across.layout, yaxis=up.layout
    )
    names = [shortened(one.policy, 24) for one in scores]
    numbers = [str(at) for at in range(1, len(scores) + 1)]
    return ReportFigure(
        title="Cost against violations",
        description="Each policy by mean instances and share of minutes in violation, log scales; less is better.",
        plot=plot,
        key=(
            KeyEntry("on the front: no other has less of one and no more of the other", "point", "#0072b2"),
            KeyEntry("beaten by another in both", "ring", "#0072b2"),
            KeyEntry("on a phone: numbers as in the table", "tick", "#999999"),
        ),
        wide=look(420, 76, 10, bottom=56) | {"annotations": _labels(across, up, names, _WIDE_PX)},
        narrow=look(380, 66, 4, bottom=56) | {"annotations": _labels(across, up, numbers, _NARROW_PX)},
    )


def _labels(across: _Axis, up: _Axis, texts: Sequence[str], area_px: tuple[float, float]) -> list[Mapping[str, object]]:
    points_px = list(zip(across.px(area_px[0]), up.px(area_px[1]), strict=True))
    places = placed_labels(points_px, [_LETTER_PX * len(text) + 4 for text in texts], area_px)
    points = zip(across.values.tolist(), up.values.tolist(), texts, places, strict=True)
    return [annotation(x, y, label(text), place) for x, y, text, place in points]


def _binned(values: Floats, width: int, of: np.ufunc) -> Floats:
    """Values reduced by bins; the last bin may be shorter."""
    return np.asarray(of.reduceat(values, np.arange(0, values.size, width)), dtype=np.float64)


def _at(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
