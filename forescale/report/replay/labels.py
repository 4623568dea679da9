"""Placement of labels of nearby points: each to the right of a thin line from its point, without overlaps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ROW_PX = 16.0
LINE_PX = 8.0
"""Shortest line from a point to its label."""
_POINT_PX = 6.0


@dataclass(frozen=True)
class Box:
    """A rectangle, in pixels from the lower left corner of a figure's area."""

    left: float
    right: float
    low: float
    high: float

    def touches(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high


@dataclass(frozen=True)
class LabelPlacement:
    """line_px: from the point up to the label, negative if it goes down. shift_px: of the label to the left, if it does
    not fit on the right.
    """

    line_px: float
    shift_px: float
    box: Box


def placed_labels(
    points_px: Sequence[tuple[float, float]], widths_px: Sequence[float], area_px: tuple[float, float]
) -> list[LabelPlacement]:
    """Labels in the order of the points. points_px: from the lower left corner; area_px: width and height.

    From right to left, each label is placed as close to its point as possible, above or below it. Lines then cross no
    label, as the labels placed before begin to their right. If the area is full, labels overlap.
    """
    taken = [Box(x - _POINT_PX, x + _POINT_PX, y - _POINT_PX, y + _POINT_PX) for x, y in points_px]
    found: dict[int, LabelPlacement] = {}
    for at in sorted(range(len(points_px)), key=lambda at: (-points_px[at][0], points_px[at][1])):
        tries = list(_tries(points_px[at], widths_px[at], area_px))
        free = (each for each in tries if not any(each.box.touches(other) for other in taken))
        found[at] = next(free, tries[0])
        x, y = points_px[at]
        ends = sorted((y, y + found[at].line_px))
        taken += [found[at].box, Box(x - 1, x + 1, *ends)]
    return [found[at] for at in range(len(points_px))]


def annotation(x: float, y: float, text: str, place: LabelPlacement) -> Mapping[str, object]:
    """A Plotly annotation."""
    return {
        "x": x,
        "y": y,
        "text": text,
        "ax": -place.shift_px,
        "ay": -place.line_px,
        "xanchor": "left",
        "yanchor": "bottom" if place.line_px > 0 else "top",
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": "#999999",
        "standoff": 5,
        "borderpad": 0,
        "font": {"size": 12},
    }


def _tries(point_px: tuple[float, float], width_px: float, area_px: tuple[float, float]) -> Iterator[LabelPlacement]:
    x, y = point_px
    shift_px = max(0.0, x + width_px - area_px[0])
    lines_px = [LINE_PX + ROW_PX / 2 * step for step in range(int(2 * area_px[1] / ROW_PX))]
    for line_px in [sign * length_px for length_px in lines_px for sign in (1, -1)]:
        low = y + line_px if line_px > 0 else y + line_px - ROW_PX
        if line_px == LINE_PX or 0 <= low <= area_px[1] - ROW_PX:
            yield LabelPlacement(line_px, shift_px, Box(x - shift_px, x - shift_px + width_px, low, low + ROW_PX))
