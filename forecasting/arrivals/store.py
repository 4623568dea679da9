"""The arrival history: `DIR/topology=NAME/date=YYYY-MM-DD/part-….parquet`, and a manifest of the files in force.

A write first adds parts under new names, then replaces the manifest: that one rename, or conditional put, is the
commit. Readers follow the manifest, so a crash leaves the old interval or the new one, never a mix. Parts of past
commits are kept for a while: see snapshots.py.
"""

import logging
import random
import time
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from functools import partial
from math import isfinite

import numpy as np
import pyarrow as pa

from forecasting.arrivals.arrival_source import Arrivals
from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.history import MISSING, OBSERVED, ArrivalHistory, ArrivalSeries
from forecasting.arrivals.rows import source_codes, window_starts_us
from forecasting.arrivals.storage.batches import checked_batch
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.layout import topology_folder
from forecasting.arrivals.storage.manifest import MANIFEST, InForce, Manifest, in_force, read_manifest
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.snapshots import KEEP_S, put_aside, sweep
from forecasting.arrivals.storage.staging import Staging, last_window_end
from forecasting.arrow_columns import floats, words
from forecasting.errors import HistoryError, HistoryStoreError

log = logging.getLogger(__name__)

_ATTEMPTS = 20
_PAUSE_S, _MAX_PAUSE_S = 0.02, 2.0


def write_history(
    rows: pa.Table | Arrivals | Iterable[pa.Table | Arrivals],
    directory: Directory,
    topology: str,
    start: datetime,
    end: datetime,
    *,
    keep_known: bool = False,
    keep_s: float = KEEP_S,
    now: datetime | None = None,
) -> str:
    """Replace the history of the topology in [start, end), snapped to whole windows, by these rows.

    rows: columns of history.COLUMNS, and of rows.SCHEMA if known, in any order; every source and window at most once.
    Or an Arrivals, whose key histograms are stored with its rows. Or batches of either, each of whole dates and in
    order of time; they are taken one at a time during the writer's turn and stored in one commit. All earlier windows
    of the interval are removed; for a partly covered day only the given key histograms are replaced. keep_known: keep
    windows that the history knows better (wholly alive before partial before missing), for rows from a source that
    forgets.
    keep_s: how long a commit can be read after the next one. now: time of the commit, None for the clock's.
    Returns the commit's id: the same content gives the same id, and rewriting it changes nothing. Writers wait for each
    other or, in an object store, reapply their change to a quicker writer's commit; readers see one commit or the next.
    Raises HistoryError for rows of another topology, off the grid, outside the interval or duplicated, for batches out
    of order, and if the stored history has windows of another width. Then, and if the batches raise, nothing is changed
    and written parts are removed, in an object store by a later writer.
    """
    folder = topology_folder(directory, topology)
    if not (isfinite(keep_s) and keep_s >= 0):
        raise HistoryError(f"history of topology {topology!r}: keep_s {keep_s}; give seconds, zero or more")
    checked = partial(checked_batch, topology=topology, start=start, end=end)
    # Check a single one before touching anything; several are checked one by one.
    batches = iter([checked(rows)]) if isinstance(rows, pa.Table | Arrivals) else map(checked, rows)
    with folder.turn() as writer_died:
        base = in_force(folder)
        if writer_died:
            sweep(folder, keep_s, now or datetime.now(UTC), after_a_crash=True)
        try:
            with Staging(folder, topology, base.manifest, keep_known=keep_known) as staging:
                for batch in batches:
                    staging.add(batch)
                    # Otherwise it would stay in memory while the next one is made.
                    del batch
                after = commit(folder, staging, base, keep_s, now)
        except BaseException:
            if not folder.shared:
                sweep(folder, keep_s, now or datetime.now(UTC), after_a_crash=True)
            raise
        try:
            sweep(folder, keep_s, after.committed_at, after_a_crash=False)
        except HistoryStoreError as error:
            log.warning("commit %s is in force, but what has expired was not removed: %s", after.snapshot, error)
    return after.snapshot


def read_history(
    directory: Directory,
    topology: str,
    *,
    sources: Collection[str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    snapshot: str | None = None,
    lower_bounds: bool = False,
) -> ArrivalHistory:
    """The history of the topology: one series per source, of the windows that lie wholly in [start, end).

    A series runs from its source's first window to the last window of all requested sources; partial, throttled,
    missing and never written windows are NaN. lower_bounds: partial and throttled windows hold what is known to have
    come; no forecaster may read these as loads. snapshot: the commit to read, None for the one in force; the history
    records it.
    Raises HistoryError for an unknown topology, source or snapshot, an empty interval and a damaged file.
    """
    between = partial(rows_between, start=start, end=end)
    columns = ("source", "window_start", "count", "status")
    read = partial(between, sources=sources or None, columns=columns)
    manifest, rows = read_commit(directory, topology, snapshot, read)
    codes, names = source_codes(rows)
    if absent := sorted(set(sources or ()) - set(names)):
        _, every = read_commit(directory, topology, snapshot, partial(between, columns=("source",)))
        raise HistoryError(
            f"topology {topology!r} has no arrival history of source {absent[0]!r}; known are "
            f"{', '.join(source_codes(every)[1])}"
        )
    width_us = manifest.window_s * SECOND_US
    starts_us = window_starts_us(rows)
    firsts_us = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(firsts_us, codes, starts_us)
    begin_us = int(firsts_us.min())
    counts, (of_row, states) = floats(rows["count"]), words(rows["status"])
    shown = [state != MISSING if lower_bounds else state == OBSERVED for state in states]
    whole = np.array(shown, dtype=bool)[of_row]
    grid = np.full((len(names), (int(starts_us.max()) - begin_us) // width_us + 1), np.nan)
    grid[codes[whole], (starts_us[whole] - begin_us) // width_us] = counts[whole]
    series = {
        name: ArrivalSeries(
            topology, name, from_us(first_us), manifest.window_s, grid[at, (int(first_us) - begin_us) // width_us :]
        )
        for at, (name, first_us) in enumerate(zip(names, firsts_us, strict=True))
    }
    return ArrivalHistory(topology, series, manifest.snapshot)


def built_until(directory: Directory, topology: str) -> datetime | None:
    """End of the latest interval ever written, from which to continue; None before the first."""
    folder = topology_folder(directory, topology)
    manifest = read_manifest(folder)
    if manifest is None or not manifest.parts:
        return None
    return manifest.built_until or last_window_end(folder, manifest)


def commit(folder: Folder, staging: Staging, base: InForce, keep_s: float, now: datetime | None) -> Manifest:
    """Commit what is staged on top of `base`; if another writer was quicker, on top of its commit.

    now: time of the commit, None for the clock's. Raises HistoryError if others are quicker again and again.
    """
    for attempt in range(_ATTEMPTS):
        # Picks up commits made during staging. Each commit archives the one that it supersedes.
        if folder.shared and (current := in_force(folder)) != base:
            staging.upon(current.manifest)
            base = current
        after = staging.manifest(now or datetime.now(UTC), keep_s)
        if base.manifest is not None:
            if after.snapshot == base.manifest.snapshot:
                return after
            put_aside(folder, base.manifest, after.committed_at)
        # If the answer to a put was lost, its retry was refused because of its own first write.
        if folder.replace(MANIFEST, after.to_json(), base.version) or in_force(folder).manifest == after:
            return after
        time.sleep(random.uniform(0, min(_MAX_PAUSE_S, _PAUSE_S * 2**attempt)))  # noqa: S311 - no secret
    winner = in_force(folder).manifest
    won = (
        "" if winner is None else f", the last time by {winner.snapshot} of {winner.committed_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    raise HistoryError(
        f"history in {folder}: other writers committed first {_ATTEMPTS} times{won}; nothing is changed: let them "
        "finish, and write again"
    )
