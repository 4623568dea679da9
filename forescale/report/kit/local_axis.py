"""The axis of a figure in local time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from forescale.report.kit.figure import ReportFigure
from forescale.report.kit.local_time import LocalTime


def in_local_time(figure: ReportFigure, local: LocalTime, at: datetime) -> ReportFigure:
    """The figure with its axis in local time, by the zone's offset at that moment: an axis has no hour twice. Where the
    clocks change within the figure, its axis says by which offset it counts.
    """
    offset, plot = local.offset(at), figure.plot
    edges = [datetime.fromisoformat(str(edge)).replace(tzinfo=UTC) for edge in plot.layout.xaxis.range]
    changes = any(local.offset(edge) != offset for edge in edges)
    zone = f"UTC{_written(offset)}, as before the clocks change" if changes else local.name
    if offset:
        for trace in plot.data:
            trace.x = _shifted(trace.x, offset)
        layout = plot.layout
        layout.shapes = [
            {**shape.to_plotly_json(), **_moved(shape.to_plotly_json(), offset)} for shape in layout.shapes
        ]
        layout.annotations = _notes([note.to_plotly_json() for note in layout.annotations], offset)
        layout.xaxis.range = _shifted(layout.xaxis.range, offset)
    plot.layout.xaxis.hoverformat = f"%a %-d %b %H:%M {zone}"
    looks = [_look(look, offset) for look in (figure.wide, figure.narrow)]
    return replace(figure, wide=looks[0], narrow=looks[1])


def _written(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    return f"{'−' if minutes < 0 else '+'}{abs(minutes) // 60}:{abs(minutes) % 60:02}"


def _shifted(moments: Sequence[object], offset: timedelta) -> list[str]:
    return [(datetime.fromisoformat(str(at)) + offset).isoformat(timespec="seconds") for at in moments]


def _moved(shape: dict[str, Any], offset: timedelta) -> dict[str, Any]:
    return {**shape, **{edge: _shifted([shape[edge]], offset)[0] for edge in ("x0", "x1") if edge in shape}}


def _notes(notes: Sequence[dict[str, Any]], offset: timedelta) -> list[dict[str, Any]]:
    return [{**note, "x": _shifted([note["x"]], offset)[0]} for note in notes]


def _look(look: Any, offset: timedelta) -> dict[str, object]:
    moved = dict(look)
    if "xaxis.range" in moved:
        moved["xaxis.range"] = _shifted(moved["xaxis.range"], offset)
    if "annotations" in moved:
        moved["annotations"] = _notes(moved["annotations"], offset)
    return moved
