"""A drawing, small enough for a table row, of a series' last day and the p95 of the coming one."""

from dataclasses import dataclass

import numpy as np

from forecasting.outlook import SeriesOutlook
from forescale.report.kit.traces import runs

WIDTH, HEIGHT = 100.0, 24.0
_PAST = 76.0
"""Width of the last day; the rest shows the level of the forecast."""
_MAX_POINTS = 48


@dataclass(frozen=True)
class SparkLine:
    """lines: points of each unbroken part, in SVG notation: numbers only. level: height of the p95, or empty."""

    lines: tuple[str, ...]
    level: str


def spark_line(row: SeriesOutlook) -> SparkLine:
    """Draw the largest rate of each bin, so that no peak is hidden; draw nothing where rates are unknown."""
    rates = _largest_of_bins(row.latest_per_s)
    coming = row.coming_per_s
    top = max([float(value) for value in (*rates, coming) if np.isfinite(value)], default=0.0) or 1.0
    x = np.linspace(0, _PAST, rates.size) if rates.size > 1 else np.zeros(rates.size)
    points = [f"{at:.1f},{_height(value, top)}" for at, value in zip(x, rates, strict=True)]
    stretches = [points[first:end] for first, end in runs(np.isfinite(rates))]
    # A line of one point would have no length.
    drawn = tuple(" ".join(stretch if len(stretch) > 1 else 2 * stretch) for stretch in stretches)
    return SparkLine(drawn, _height(coming, top) if np.isfinite(coming) else "")


def _height(value: float, top: float) -> str:
    return f"{HEIGHT - 1.5 - (HEIGHT - 3) * value / top:.1f}"


def _largest_of_bins(rates: np.ndarray) -> np.ndarray:
    if rates.size <= _MAX_POINTS:
        return rates
    return np.array([np.fmax.reduce(one) for one in np.array_split(rates, _MAX_POINTS)])
