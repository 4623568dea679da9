"""`forescale history show`: any span of the history, as tables, as a line of blocks, and as a page."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.grid import DAY_S
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, THROTTLED
from forecasting.arrivals.storage.key_histograms import read_key_histograms
from forecasting.arrivals.storage.reading import read_commit
from forecasting.arrivals.storage.snapshots import snapshots as kept_snapshots
from forecasting.errors import HistoryError
from forescale.cli.installation import workspace_of
from forescale.cli.options import Days, From, SnapshotId, To, TopologyName
from forescale.cli.output import AsJson, check_page, console, plain, say_json, table
from forescale.files.atomic import write_whole
from forescale.history.binned_windows import PAGE_POINTS, BinnedWindows, bin_starts, binned_history, readable_width_s
from forescale.history.span import history_span
from forescale.report.kit.wording import duration, number, percent, rate, shortened, visible
from forescale.situation.workspace import Workspace
from modeling.wording import count_of

_KEYS_SHOWN = 10

BLOCKS = "▁▂▃▄▅▆▇█"
ZERO, GAP = "_", "·"
LEGEND = f"{ZERO} zero, {GAP} missing, red: missing in part, yellow: partial or throttled only"


def show(
    context: typer.Context,
    topology: TopologyName,
    start: From = None,
    end: To = None,
    days: Days = None,
    source: Annotated[list[str] | None, typer.Option(help="Only this source; repeat it.")] = None,
    snapshot: SnapshotId = None,
    keys: Annotated[bool, typer.Option("--keys", help="Also the most frequent keys, by source and day.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a page (.html) with the span drawn, to this file.")] = None,
    snapshots: Annotated[
        bool, typer.Option("--snapshots", help="Only the commits that can be read, and until when they are kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Arrivals by source and day, or the history's snapshots.

    Missing data is shown as missing, never as zero.
    """
    if snapshots:
        say_snapshots(workspace_of(context), topology, as_json=as_json)
        return
    check_page(plot, HistoryError)
    workspace = workspace_of(context)
    config = workspace.config(topology)
    directory = workspace.settings.history_dir
    asked = history_span(directory, config.topology, start=start, end=end, days=days, snapshot=snapshot)
    span = asked.within_history()
    cells = max(24, min(120, console.width - 34))
    widths_s = [DAY_S, readable_width_s(span, cells), *([readable_width_s(span, PAGE_POINTS)] if plot else [])]
    binned = binned_history(directory, span, config.as_topology().sources, source or (), widths_s)
    by_day, by_cell = binned.by_width[:2]
    histograms = []
    if keys:
        every = read_key_histograms(directory, config.topology, span.start, span.end, span.snapshot)
        histograms = [histogram for histogram in every if histogram.source in by_day]
    if plot is not None:
        from forescale.report.history.history_page import render_history_page

        write_whole(render_history_page(binned.by_width[2], span, binned.measures), plot)
    of_days = [row for bins in by_day.values() for row in _of_days(bins)]
    if as_json:
        body: dict[str, Any] = {
            "topology": config.topology,
            "snapshot": span.snapshot,
            "start": span.start.isoformat(),
            "end": span.end.isoformat(),
            "window_s": span.window_s,
            "measures": [measure.value for measure in binned.measures],
            "days": of_days,
        }
        body |= {"keys": [asdict(histogram) for histogram in histograms]} if keys else {}
        say_json(body | ({"plot": str(plot)} if plot else {}))
        return
    measured = " and ".join(measure.value for measure in binned.measures)
    columns = ["source", "day (UTC)", "arrivals", "peak per s", OBSERVED, PARTIAL, THROTTLED, MISSING]
    console.print(
        table(
            f"arrivals of {config.topology} ({measured}; windows of {span.window_s} s)", columns, map(_cells, of_days)
        )
    )
    if console.is_terminal:
        _say_lines(by_cell, span.start)
    if keys:
        _say_keys(histograms)
    if plot is not None:
        plain(f"drawn in {plot}")


def _of_days(bins: BinnedWindows) -> list[dict[str, Any]]:
    """One row per source and day. peak_per_s: largest rate of all counted windows; peak_status: status of that window.

    Where no window counted, arrivals and peak are unknown: None, never zero.
    """
    statuses = (OBSERVED, THROTTLED, PARTIAL)
    peaks = {status: bins.peak_per_s(status) for status in statuses}
    rows = []
    for at, start in enumerate(bin_starts(bins)):
        if not bins.with_windows()[at]:
            continue
        # Of equal windows the most trustworthy one, which max finds first.
        of = max(statuses, key=lambda status: float(np.nan_to_num(peaks[status][at], nan=-1.0)))
        peak = float(peaks[of][at])
        rows.append(
            {
                "source": bins.source,
                "day": f"{start:%Y-%m-%d}",
                "arrivals": None if np.isnan(peak) else int(bins.events[:, at].sum()),
                "peak_per_s": None if np.isnan(peak) else peak,
                "peak_status": None if np.isnan(peak) else of,
                **{status: int(bins.count_of(status)[at]) for status in (OBSERVED, PARTIAL, THROTTLED, MISSING)},
            }
        )
    return rows


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    counts = tuple(f"{row[status]:,}" for status in (OBSERVED, PARTIAL, THROTTLED, MISSING))
    if row["peak_per_s"] is None:
        return (visible(row["source"]), row["day"], "–", "–", *counts)
    least = "" if row["peak_status"] == OBSERVED else "≥ "
    peak = f"{least}{number(row['peak_per_s'])}"
    return (visible(row["source"]), row["day"], f"{row['arrivals']:,}", peak, *counts)


def _say_lines(by_cell: Mapping[str, BinnedWindows], start: datetime) -> None:
    """One line per source: how its peaks went through the span."""
    longest = max(len(shortened(visible(name), 20)) for name in by_cell)
    for name, bins in by_cell.items():
        line = block_line(bins)
        line.pad_left(1)
        console.print(shortened(visible(name), 20).ljust(longest), line, sep="", soft_wrap=True, markup=False)
    edges_us = next(iter(by_cell.values())).edges_us
    width = duration(float(edges_us[1] - edges_us[0]) / 1e6)
    console.print(
        f"from {start:%Y-%m-%d %H:%M} on, {width} a column, each source up to its own peak; {LEGEND}",
        style="dim",
        soft_wrap=True,
    )


def _say_keys(histograms: list[DailyKeyCounts]) -> None:
    if not histograms:
        plain("no key histograms in this span; name arrivals.columns.key in the topology file to keep them")
        return
    rows = []
    for histogram in histograms:
        total = sum(histogram.heavy.values()) + histogram.residual
        heavy = list(histogram.heavy.items())
        others = histogram.residual + sum(events for _, events in heavy[_KEYS_SHOWN:])
        named = heavy[:_KEYS_SHOWN]
        for key, events in named:
            rows.append(_key_row(histogram, shortened(visible(key), 60), events, total))
        count = None if histogram.distinct_keys is None else histogram.distinct_keys - len(named)
        rows.append(_key_row(histogram, f"(all others{'' if count is None else f': {count:,}'})", others, total))
    error = max(histogram.max_error for histogram in histograms)
    console.print(table("most frequent keys", ["source", "day (UTC)", "key", "events", "share"], rows))
    if error:
        plain(f"a key may have up to {count_of(error, 'event')} more, which are counted among all others")


def _key_row(histogram: DailyKeyCounts, key: str, events: int, total: int) -> tuple[str, ...]:
    share = percent(events / total) if total else "–"
    return (visible(histogram.source), histogram.day.isoformat(), key, f"{events:,}", share)


def block_line(bins: BinnedWindows) -> Text:
    """A character per bin, then the largest rate. The tallest block is the source's own peak."""
    known = bins.peak_per_s(OBSERVED)
    doubtful = bins.peak_per_s(PARTIAL, THROTTLED)
    shown = np.where(np.isnan(known), doubtful, np.fmax(known, doubtful))
    top = float(np.nanmax(shown)) if not np.isnan(shown).all() else 0.0
    text = Text()
    for at in np.flatnonzero(bins.with_windows()).tolist():
        value = float(shown[at])
        if np.isnan(value):
            text.append(GAP, style="dim")
            continue
        # Any arrival shows: the lowest block begins right above zero.
        block = ZERO if value == 0 else BLOCKS[min(len(BLOCKS) - 1, int(value / top * len(BLOCKS)))]
        if bins.count_of(MISSING)[at]:
            text.append(block, style="red")
        else:
            text.append(block, style="yellow" if np.isnan(known[at]) else "")
    text.append(f" peak {rate(top)}" if not np.isnan(shown).all() else " nothing known")
    return text


def say_snapshots(workspace: Workspace, topology: str, *, as_json: bool) -> None:
    """Commits that `show --snapshot` and `check --snapshot` can read, newest first, and until when they are kept."""
    name = workspace.config(topology).topology
    # Asking for snapshots of a topology without a history is an error.
    keep_s = read_commit(workspace.settings.history_dir, name, None, lambda folder, manifest: manifest.keep_s)[1]
    kept = kept_snapshots(workspace.settings.history_dir, name)
    until = {
        one.id: None if one.superseded_at is None else one.superseded_at + timedelta(seconds=keep_s) for one in kept
    }
    if as_json:
        body: list[dict[str, Any]] = [
            {
                "id": one.id,
                "committed_at": one.committed_at.isoformat(),
                "in_force": one.superseded_at is None,
                "kept_until": _iso(until[one.id]),
                "first_date": one.first_date.isoformat(),
                "last_date": one.last_date.isoformat(),
                "dates": one.dates,
                "built_until": _iso(one.built_until),
            }
            for one in kept
        ]
        say_json({"topology": name, "snapshots": body})
        return
    rows = [
        (
            one.id,
            f"{one.committed_at:%Y-%m-%d %H:%M:%S}",
            "in force" if (kept_until := until[one.id]) is None else f"{kept_until:%Y-%m-%d %H:%M}",
            f"{one.first_date} to {one.last_date}",
            one.dates,
            "–" if one.built_until is None else f"{one.built_until:%Y-%m-%d %H:%M}",
        )
        for one in kept
    ]
    columns = ["snapshot", "committed (UTC)", "kept until", "days covered", "days with windows", "built until"]
    console.print(table(f"snapshots of the history of {name}", columns, rows))


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
