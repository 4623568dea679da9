"""`forescale history check`: how complete the history is, against the bounds of `arrivals.quality`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any

import typer

from forecasting.arrivals.arrival_source import SeriesCopies
from forecasting.arrivals.grid import whole_windows
from forecasting.arrivals.quality import SourceQuality, quality
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forescale.cli.installation import workspace_of
from forescale.cli.options import Days, From, SnapshotId, To, TopologyName
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.series_copies import copies_words
from forescale.files.arrivals_section import PrometheusEntry
from forescale.files.topology import TopologyConfig
from forescale.history.quality_checks import QualityCheck, counted_from, quality_checks
from forescale.history.span import history_span
from forescale.jobs.suspected_outages import recent_suspects
from forescale.report.kit.outage_words import suspect_words
from forescale.report.kit.wording import NBSP, visible
from forescale.situation.workspace import Workspace
from forescale.wiring.arrivals import arrival_source

Named = Sequence[tuple[str, SourceQuality]]

LOOKED_BACK = timedelta(hours=1)


def check(
    context: typer.Context,
    topology: TopologyName,
    start: From = None,
    end: To = None,
    days: Days = None,
    snapshot: SnapshotId = None,
    as_json: AsJson = False,
) -> None:
    """Check a history against `arrivals.quality`; exits with 1 on a breach."""
    workspace = workspace_of(context)
    config = workspace.config(topology)
    directory = workspace.settings.history_dir
    span = history_span(directory, config.topology, start=start, end=end, days=days, snapshot=snapshot)
    between = partial(rows_between, start=span.start, end=span.end, columns=("source", "measures"))
    _, rows = read_commit(directory, config.topology, span.snapshot, between)
    sources = sorted({*config.as_topology().sources, *rows["source"].unique().to_pylist()})
    begin = span.start
    if start is None and begin == span.history_start:
        at = span.snapshot
        begin = counted_from(
            read_history(directory, config.topology, start=begin, end=span.end, snapshot=at, lower_bounds=True)
        )
    found = quality(directory, config.topology, begin, span.end, span.snapshot, sources)
    checks = quality_checks(found, config.arrivals.quality)
    good = all(one.holds for one in checks)
    copies, unknown = current_copies(workspace, config)
    suspects = recent_suspects(workspace.situation(config), min(span.end, workspace.clock.now()))
    measures = sorted(rows["measures"].unique().to_pylist())
    if as_json:
        body = {
            **asdict(found),
            "start": found.start.isoformat(),
            "end": found.end.isoformat(),
            "measures": measures,
            "sources": {name: _body(of_source) for name, of_source in found.sources.items()},
            "total": _body(found.total),
            "checks": [asdict(one) for one in checks],
            "copies": [asdict(one) for one in copies],
            "suspected_outages": [
                {**asdict(one), "start": one.start.isoformat(), "end": one.end.isoformat()} for one in suspects
            ],
            "good": good,
        }
        say_json(body)
    else:
        listed = [*((visible(name), of_source) for name, of_source in found.sources.items()), ("in total", found.total)]
        _say_rows(found.topology, listed, measures)
        _say_windows(listed)
        _say_checks(checks)
        for one in copies:
            plain(copies_words(one))
        for suspect in suspects:
            plain(suspect_words(suspect))
        if unknown:
            plain(f"whether series are counted twice was not checked: {unknown}")
        plain(
            f"from {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC, snapshot {found.snapshot}: "
            + ("good" if good else "not good enough")
        )
    if not good:
        raise typer.Exit(1)


def _say_rows(topology: str, found: Named, measures: list[str]) -> None:
    columns = ["source", "rows read", "kept", "duplicates", "late", "future", "unset clock", "skipped hour", "damaged"]
    rows = [
        (name, *(f"{n:,}" for n in (q.rows_read, q.kept, q.duplicates, q.late, *q.quarantined.values())))
        for name, q in found
    ]
    console.print(table(f"rows of {topology} ({' and '.join(measures)})", columns, rows))


def _say_windows(found: Named) -> None:
    columns = ["source", "windows", "observed", "partial", "throttled", "missing", "share observed"]
    rows = [
        (
            name,
            *(f"{n:,}" for n in (q.windows, q.observed, q.partial, q.throttled, q.missing)),
            _share(q.complete),
        )
        for name, q in found
    ]
    console.print(table("windows", columns, rows))


def _say_checks(checks: list[QualityCheck]) -> None:
    """Per bound: the source that is closest to it, and each source that breaks it, with the remedy."""
    rows = []
    for bound in dict.fromkeys(one.bound for one in checks):
        of_bound = [one for one in checks if one.bound == bound]
        farthest = (min if bound == "min_observed" else max)(of_bound, key=lambda one: one.value)
        told = "holds" if farthest.holds else "FAILS"
        rows.append((bound, told, _share(farthest.value), _share(farthest.limit), visible(farthest.source)))
    console.print(table("bounds (arrivals.quality)", ["bound", "", "value", "limit", "worst source"], rows))
    for one in checks:
        if not one.holds:
            least = "at least" if one.bound == "min_observed" else "at most"
            plain(
                f"{visible(one.source)}: {one.bound}: {_share(one.value)}, {least} {_share(one.limit)} is asked; "
                f"{one.remedy}"
            )


def _share(share: float) -> str:
    """With enough digits to compare it with its limit.

    >>> [_share(value).replace(NBSP, " ") for value in (0.0, 0.01, 0.01004, 0.89996, 0.9, 1.0)]
    ['0 %', '1 %', '1.004 %', '89.996 %', '90 %', '100 %']
    """
    return f"{100 * share:.5g}{NBSP}%"


def _body(quality: SourceQuality) -> dict[str, Any]:
    return {**asdict(quality), "share_observed": quality.complete}


def current_copies(workspace: Workspace, config: TopologyConfig) -> tuple[tuple[SeriesCopies, ...], str]:
    """The copies, by the last hour, and why they are not known; empty for a source that has no series."""
    if not isinstance(config.arrivals, PrometheusEntry):
        return (), ""
    now = workspace.clock.now()
    try:
        with arrival_source(config, workspace.settings, now) as source:
            width_s = config.arrivals.window_s
            start, end = whole_windows(now - max(LOOKED_BACK, timedelta(seconds=2 * width_s)), now, width_s)
            arrivals = source.read(start, end, width_s)
    except HistoryError as error:
        return (), str(error)
    return tuple(one for each in arrivals.sources.values() for one in each.copies), ""
