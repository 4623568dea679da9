"""All forecasts on one page, the riskiest first, for operators of hundreds of series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite, isnan
from urllib.parse import urlsplit

import numpy as np

from forecasting.forecast import mixture_parts
from forecasting.outlook import SeriesOutlook, by_risk
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, numbers, texts
from forescale.report.kit.traces import runs
from forescale.report.kit.wording import NBSP, day_moment, duration, moment, number, percent

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


@dataclass(frozen=True)
class FleetLine:
    """A row of the page. name: topology and source; cells: of the columns after the drawing."""

    name: tuple[Cell, Cell]
    spark: SparkLine
    cells: tuple[Cell, ...]
    urgent: bool


Pages = Mapping[tuple[str, str], str]
"""By topology and source: address of a series' page, relative to the page of all."""


def render_fleet_page(rows: Sequence[SeriesOutlook], made_at: datetime, pages: Pages | None = None) -> str:
    """The whole page. The same rows, in any order, give the same text."""
    ordered = by_risk(rows)
    horizons_s = sorted({horizon_s for row in ordered for horizon_s in row.peak_per_s})
    coming = [f"p95, {duration(horizon_s)}" for horizon_s in horizons_s]
    measured = numbers("Now", *coming, "Growth", "p95 held", "Loss / naive")
    return rendered(
        "fleet.html.j2",
        "fleet.js",
        [],
        headline=_headline(ordered),
        made=moment(made_at),
        sentences=_sentences(ordered),
        columns=(*measured, *texts("Deployed", "Cause or alarm")),
        lines=[_line(row, horizons_s, (pages or {}).get((row.topology, row.source), "")) for row in ordered],
        count=f"{len(ordered):,}",
    )


def _headline(rows: Sequence[SeriesOutlook]) -> str:
    failed = sum(bool(row.cause) for row in rows)
    alarmed = sum(bool(row.alarms) for row in rows)
    if not rows:
        return "Nothing is forecast yet"
    if not failed and not alarmed:
        return f"{len(rows):,} series: all are forecast, none has drifted"
    return f"{len(rows):,} series: {failed or 'none'} not forecast, {alarmed or 'none'} drifted"


def _sentences(rows: Sequence[SeriesOutlook]) -> tuple[Sentence, ...]:
    if not rows:
        return (Sentence("What to do", "Run `forescale forecast TOPOLOGY`, then `forescale forecast pages`."),)
    growing = [row for row in rows if row.growth > 0]
    told = (
        f"In {len(growing):,} of {len(rows):,} the p95 of the coming day's peak lies above the last day's largest rate"
    )
    known = [row for row in growing if isfinite(row.growth)]
    if known:
        most = max(known, key=lambda row: row.growth)
        told += f"; most in {most.source} of {most.topology}: {_growth(most.growth)}"
    over = sum(drift.completed for row in rows for drift in row.drifts)
    return (
        Sentence(
            "Judged by", f"{over:,} spans that are over, of all horizons." if over else "Nothing yet: no span is over."
        ),
        Sentence("Growth", f"{told}."),
        Sentence("Asked of you", _to_do(rows)),
    )


def _to_do(rows: Sequence[SeriesOutlook]) -> str:
    failed = sum(bool(row.cause) for row in rows)
    drifted = sum(bool(row.alarms) and not row.cause for row in rows)
    asked = []
    if failed:
        asked.append(f"Remove the cause of failed forecasts ({failed:,}): their plans are held until then.")
    if drifted:
        asked.append(f"Check the series that have drifted ({drifted:,}) before you trust their p95.")
    return " ".join(asked) or "Nothing."


def _line(row: SeriesOutlook, horizons_s: Sequence[int], page: str) -> FleetLine:
    issued = (f"forecast {day_moment(row.issued_at)}",) if row.issued_at is not None else ()
    return FleetLine(
        (Cell(row.topology), Cell(row.source, issued, href=_own_page(page), strong=True)),
        spark_line(row),
        (
            Cell(number(row.now_per_s)),
            *(Cell(number(row.p95_per_s(horizon_s))) for horizon_s in horizons_s),
            Cell(_growth(row.growth)),
            *_judged(row),
            _deployed(row),
            _trouble(row),
        ),
        bool(row.cause or row.alarms),
    )


def _growth(growth: float) -> str:
    if isnan(growth):
        return "–"
    if growth == 0:
        return f"0{NBSP}%"
    return f"{'+' if growth > 0 else '−'}{percent(abs(growth))}"


def _judged(row: SeriesOutlook) -> tuple[Cell, Cell]:
    """Scores of the longest horizon that has been judged."""
    drift = row.judged
    if drift is None:
        return Cell("–"), Cell("–")
    over = f"{drift.completed:,} × {duration(drift.horizon_s)}"
    return Cell(percent(drift.coverage), (over,)), Cell(number(drift.ratio_to_naive))


def _deployed(row: SeriesOutlook) -> Cell:
    """The forecaster with the largest weight and the number of others, with horizons if they differ."""
    names: dict[str, list[int]] = {}
    for horizon_s, every in sorted(row.forecaster.items()):
        first, *others = mixture_parts(every)
        names.setdefault(f"{first} + {len(others)} more" if others else first, []).append(horizon_s)
    if len(names) < 2:
        return Cell(next(iter(names), "–"))
    return Cell(
        "; ".join(f"{name} ({', '.join(duration(horizon_s) for horizon_s in of)})" for name, of in names.items())
    )


def _trouble(row: SeriesOutlook) -> Cell:
    if row.cause:
        return Cell("not forecast", (row.cause,), strong=True)
    if row.alarms:
        within = ", ".join(duration(drift.horizon_s) for drift in row.alarms)
        return Cell(f"drift within {within}", (row.alarms[0].reason,), strong=True)
    return Cell("–")


def _own_page(page: str) -> str:
    """The link if it leads to a file in the same folder, else empty."""
    try:
        parts = urlsplit(page)
    except ValueError:
        return ""
    return "" if parts.scheme or parts.netloc or page.startswith("/") else page
