"""A span of the history as one self-contained page: a figure per source, and the status of its windows."""

from collections.abc import Mapping, Sequence

import numpy as np

from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, STATUSES, THROTTLED
from forescale.history.binned_windows import BinnedWindows
from forescale.history.span import HistorySpan
from forescale.report.history.history_figure import history_figure
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Table, numbers, texts
from forescale.report.kit.wording import duration, number, percent
from modeling.wording import count_of

MAX_FIGURES = 24


def render_history_page(points: Mapping[str, BinnedWindows], span: HistorySpan, measures: Sequence[Measures]) -> str:
    """The whole page. Of more than 24 sources, those with the most arrivals are drawn."""
    most = sorted(points, key=lambda name: (-points[name].arrivals(), name))[:MAX_FIGURES]
    drawn = [points[name] for name in points if name in most]
    return rendered(
        "history.html.j2",
        "drawing.js history.js",
        [history_figure(bins, span) for bins in drawn],
        topology=span.topology,
        start=f"{span.start:%Y-%m-%d %H:%M}",
        end=f"{span.end:%Y-%m-%d %H:%M}",
        snapshot=span.snapshot,
        measured=" and ".join(measure.value for measure in measures),
        throughput=Measures.THROUGHPUT in measures,
        window=duration(span.window_s),
        left_out=count_of(len(points) - len(drawn), "source") if len(points) > len(drawn) else "",
        windows=_windows_table(points),
    )


def _windows_table(points: Mapping[str, BinnedWindows]) -> Table:
    columns = ("arrivals", "peak per s", *STATUSES, "share observed")
    rows = []
    for bins in points.values():
        totals = bins.windows.sum(axis=1)
        peak = bins.peak_per_s(OBSERVED, THROTTLED, PARTIAL)
        known = not np.isnan(peak).all()
        rows.append(
            (
                Cell(bins.source, strong=True),
                Cell(f"{bins.arrivals():,}" if known else "–"),
                Cell(number(float(np.nanmax(peak))) if known else "–"),
                *(Cell(f"{int(bins.count_of(status).sum()):,}") for status in (OBSERVED, PARTIAL, THROTTLED, MISSING)),
                Cell(percent(float(bins.count_of(OBSERVED).sum() / totals.sum()))),
            )
        )
    return Table((*texts("source"), *numbers(*columns)), tuple(rows))
