"""Figures over time as one SVG without scripts, for places that show pictures but no pages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from math import ceil

import numpy as np
import plotly.graph_objects as go

from forescale.report.kit.figure import KeyEntry, ReportFigure
from forescale.report.kit.page import rendered_picture
from forescale.report.kit.traces import MISSING_KEY
from forescale.report.kit.wording import day_moment, number

WIDTH, HEIGHT = 860, 210
"""Size of one figure within its margins, in units of the picture."""
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 54
TICKS = 6
MARK = 6
SWATCH, LETTER = 38, 6.4
"""Widths in the key: of a swatch with its margin, of a letter."""
TAGS = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Stroke:
    """points: in SVG notation, numbers only. fill: of a shading, else none. dash: in SVG notation."""

    points: str
    colour: str
    width: float
    fill: str
    dash: str


@dataclass(frozen=True)
class Mark:
    """A triangle; points: in SVG notation. x, y: where its label stands."""

    points: str
    colour: str
    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Panel:
    """The layout of one figure. lines_at, times, rates: positions and their labels; key: the position of each entry."""

    title: str
    strokes: tuple[Stroke, ...]
    marks: tuple[Mark, ...]
    lines_at: tuple[tuple[float, str], ...]
    times: tuple[tuple[float, str], ...]
    rates: tuple[tuple[float, str], ...]
    key: tuple[tuple[float, KeyEntry], ...]


def still_picture(figures: Sequence[ReportFigure]) -> str:
    """The figures stacked, with the marks, lines and shadings of their traces and the key of the first."""
    return rendered_picture(
        "picture.svg.j2",
        panels=[_panel(figure) for figure in figures],
        width=LEFT + WIDTH + RIGHT,
        height=TOP + HEIGHT + BOTTOM,
        left=LEFT,
        top=TOP,
        inner_width=WIDTH,
        inner_height=HEIGHT,
        description=" ".join(figure.description for figure in figures),
    )


class _Scale:
    """Maps times and rates to positions in a panel."""

    def __init__(self, start: datetime, end: datetime, top: float) -> None:
        self.start, self.end, self.top = start, end, top

    def x(self, at: datetime) -> float:
        return round(WIDTH * (at - self.start) / (self.end - self.start), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT * (1 - value / self.top), 1)

    def points(self, moments: Sequence[datetime], values: Sequence[float | None]) -> list[list[tuple[float, float]]]:
        """Points of each unbroken run of known values."""
        stretches: list[list[tuple[float, float]]] = [[]]
        for at, value in zip(moments, values, strict=True):
            if value is None:
                stretches.append([])
            elif self.start <= at <= self.end:
                stretches[-1].append((self.x(at), self.y(value)))
        return [stretch for stretch in stretches if stretch]


def _panel(figure: ReportFigure) -> Panel:
    start, end = (datetime.fromisoformat(str(at)) for at in figure.plot.layout.xaxis.range)
    scatters = [trace for trace in figure.plot.data if isinstance(trace, go.Scatter)]
    known = [value for trace in scatters for value in trace.y if value is not None]
    scale = _Scale(start, end, 1.08 * max(known, default=0.0) or 1.0)
    notes = [(note.x, note.text) for note in figure.plot.layout.annotations if note.yref == "paper"]
    return Panel(
        figure.title,
        tuple(_strokes(scatters, scale)),
        tuple(_marks(scatters, scale)),
        tuple((scale.x(datetime.fromisoformat(str(at))), str(text)) for at, text in notes),
        tuple((scale.x(at), day_moment(at.replace(tzinfo=UTC))) for at in round_times(start, end)),
        tuple((scale.y(value), number(value)) for value in _round_rates(scale.top)),
        _placed([entry for entry in figure.key if entry != MISSING_KEY]),
    )


def round_times(start: datetime, end: datetime) -> list[datetime]:
    """At most seven times at full hours that divide the day, or at midnights.

    >>> [f"{at:%H:%M}" for at in round_times(datetime(2026, 3, 2, 15, 15), datetime(2026, 3, 3, 15, 15))]
    ['16:00', '20:00', '00:00', '04:00', '08:00', '12:00']
    """
    steps = [timedelta(hours=hours) for hours in (1, 2, 3, 4, 6, 12, 24)]
    step = next(
        (each for each in steps if end - start <= TICKS * each), timedelta(days=ceil((end - start).days / TICKS))
    )
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight + ceil((start - midnight) / step) * step
    places = (first + number * step for number in range(TICKS + 1))
    return [at for at in places if end - at > (end - start) / 12]  # a label is about that wide


def _placed(key: Sequence[KeyEntry]) -> tuple[tuple[float, KeyEntry], ...]:
    """Entries side by side, spaced by the length of their labels."""
    widths = [SWATCH + LETTER * len(entry.label) for entry in key]
    return tuple(zip(accumulate(widths[:-1], initial=0.0), key, strict=True)) if key else ()


def _moments(trace: go.Scatter) -> list[datetime]:
    return [datetime.fromisoformat(str(at)) for at in trace.x]


def _strokes(scatters: Sequence[go.Scatter], scale: _Scale) -> Iterator[Stroke]:
    """Strokes of the traces; a shading reaches down to the preceding trace, as in Plotly."""
    before: list[tuple[float, float]] = []
    for trace in scatters:
        if "lines" not in trace.mode:
            continue
        stretches = scale.points(_moments(trace), trace.y)
        if trace.fill == "tonexty" and stretches and before:
            around = [*before, *reversed([place for stretch in stretches for place in stretch])]
            yield Stroke(_written(around), "none", 0, str(trace.fillcolor), "none")
        for stretch in stretches:
            drawn = _stepped(stretch) if trace.line.shape == "hv" else stretch
            dash = "2 3" if trace.line.dash == "dot" else "none"
            yield Stroke(_written(drawn), str(trace.line.color), float(trace.line.width), "none", dash)
        before = [place for stretch in stretches for place in stretch]


def _marks(scatters: Sequence[go.Scatter], scale: _Scale) -> Iterator[Mark]:
    for trace in scatters:
        if "markers" not in trace.mode:
            continue
        symbols = [trace.marker.symbol] * len(trace.x) if isinstance(trace.marker.symbol, str) else trace.marker.symbol
        labels = [TAGS.sub("", str(each)) for each in trace.text] if trace.text is not None else [""] * len(trace.x)
        for at, value, symbol, label in zip(_moments(trace), trace.y, symbols, labels, strict=True):
            for x, y in (place for stretch in scale.points([at], [value]) for place in stretch):
                tip = MARK if symbol == "triangle-down" else -MARK
                points = _written([(x - MARK, y - tip), (x + MARK, y - tip), (x, y + tip)])
                yield Mark(points, str(trace.marker.color), x, y - 2 * MARK, label)


def _stepped(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Step points: first horizontal, then vertical."""
    corners = [place for before, after in pairwise(points) for place in (before, (after[0], before[1]))]
    return [*corners, points[-1]]


def _written(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _round_rates(top: float) -> list[float]:
    """About four ticks from zero, in steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(top / 4))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= top / 4)
    return [step * part for part in range(ceil(top / step)) if step * part <= top]
