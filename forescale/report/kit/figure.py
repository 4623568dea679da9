"""A figure of the report as a value: Plotly's data and layout, a key in words, and changes for a phone."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import plotly.graph_objects as go

from forescale.report.kit.wording import shortened, visible

# Okabe and Ito's palette: distinct with every common colour blindness, and in grey print by lightness and dash.
ARRIVED = "#3a3a3a"
FORECAST = "#0072b2"
BAND = "rgba(0, 114, 178, 0.22)"
CAPACITY = "#d55e00"
CATCH_UP = "rgba(213, 94, 0, 0.3)"
CAME = "#009e73"
PEAK = "#b0568a"
RIVAL = "#7a7a7a"
MISSING = "rgba(130, 130, 130, 0.18)"
INK = "#1c1c1c"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif"


@dataclass(frozen=True)
class KeyEntry:
    """One entry of the key under a figure. look: style of its swatch, a class of report.css: line, dash, dot, band,
    point, mark, tick, ring or cross.
    """

    label: str
    look: str
    colour: str


@dataclass(frozen=True)
class ReportFigure:
    """wide, narrow: layout updates (Plotly's dotted names) for a desktop and for a phone."""

    title: str
    description: str
    plot: go.Figure
    key: tuple[KeyEntry, ...]
    wide: Mapping[str, object]
    narrow: Mapping[str, object]


def look(height: int, left: int, ticks: int, *, right: int = 12, top: int = 10, bottom: int = 44) -> dict[str, object]:
    """A layout update for one width of screen. left, right, top, bottom: margins; ticks: at most, on the x axis."""
    return {"height": height, "margin": {"l": left, "r": right, "t": top, "b": bottom}, "xaxis.nticks": ticks}


def label(text: str) -> str:
    """Untrusted text for a Plotly label: Plotly reads tags and links in labels, so they are escaped."""
    return html.escape(shortened(visible(text)))


def plotly_time(at: datetime) -> str:
    """Plotly knows no zones: all times are given in UTC, without one."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def plotly_times(moments: Sequence[datetime]) -> list[str]:
    return [plotly_time(at) for at in moments]


def bare_layout(y_title: str) -> go.Layout:
    """The layout common to all figures: little ink, few ticks, no title (the page has one)."""
    return go.Layout(
        template="none",
        font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        hovermode="x unified",
        dragmode=False,
        hoverlabel={"bgcolor": "white", "font": {"family": FONT, "size": 12}},
        xaxis={
            "showgrid": False,
            "showline": True,
            "linecolor": "#999999",
            "ticks": "outside",
            "tickcolor": "#999999",
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": y_title, "standoff": 8},
            "rangemode": "tozero",
            "gridcolor": "#e6e6e6",
            "zeroline": False,
            "nticks": 6,
            "exponentformat": "none",
            "separatethousands": True,
            "fixedrange": True,
        },
    )


def base_layout(start: datetime, end: datetime, y_title: str) -> go.Layout:
    """The layout of figures over time."""
    return bare_layout(y_title).update(
        xaxis={
            "type": "date",
            "range": [plotly_time(start), plotly_time(end)],
            "tickangle": 0,
            "tickformatstops": [
                {"dtickrange": [None, 86399999], "value": "%H:%M\n%a %-d %b"},
                {"dtickrange": [86400000, None], "value": "%a %-d %b"},
            ],
            "hoverformat": "%a %-d %b %H:%M UTC",
        }
    )


def vertical_line(at: datetime, text: str) -> tuple[dict[str, object], dict[str, object]]:
    """The shape and the annotation that mark a moment over the whole height."""
    x = plotly_time(at)
    line = {"color": "#555555", "width": 1, "dash": "dot"}
    shape = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}
    # Left of the line, so that it does not cover the number of a step that follows at once.
    return shape, note_above(x, text) | {"xanchor": "right", "xshift": -8}


def note_above(x: object, text: str) -> dict[str, object]:
    place = {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    return place | {"text": text, "font": {"size": 12, "color": "#444444"}}
