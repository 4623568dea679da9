"""The span of a history that a command is about, resolved against one commit of the history."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from forecasting.arrivals.grid import from_us, typed_moment
from forecasting.arrivals.rows import window_starts_us
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.storage.reading import read_commit, rows_between
from forecasting.arrivals.storage.staging import last_window_end
from forecasting.errors import HistoryError

USUAL_DAYS = 7.0
MAX_DAYS = 36_525
"""A century: more is a mistake."""


@dataclass(frozen=True)
class HistorySpan:
    """[start, end) of the commit `snapshot`, whose windows of window_s seconds lie in [history_start, history_end).

    The span may reach beyond the history: windows never written are missing.
    """

    topology: str
    snapshot: str
    window_s: int
    start: datetime
    end: datetime
    history_start: datetime
    history_end: datetime

    def within_history(self) -> "HistorySpan":
        """The part that the history covers. Raises HistoryError if there is none."""
        start, end = max(self.start, self.history_start), min(self.end, self.history_end)
        if start >= end:
            raise HistoryError(
                f"topology {self.topology!r} has no arrival history from {_shown(self.start)} to {_shown(self.end)}; "
                f"it covers {_shown(self.history_start)} to {_shown(self.history_end)}: ask for a span within"
            )
        return replace(self, start=start, end=end)


def history_span(
    directory: Directory,
    topology: str,
    *,
    start: str | None,
    end: str | None,
    days: float | None,
    snapshot: str | None,
) -> HistorySpan:
    """The requested span; give at most two of start, end and days. By default the last days of the history.

    start, end: ISO times; one without an offset is UTC. A span whose start follows from days alone does not start
    before the history. Raises HistoryError for an unknown topology or snapshot, and for invalid or unordered times.
    """
    if start is not None and end is not None and days is not None:
        raise HistoryError(f"--from {start}, --to {end} and --days {days:g} are given; use at most two of them")
    if days is not None and not 0 < days <= MAX_DAYS:
        raise HistoryError(f"--days {days:g}; give more than 0 and at most {MAX_DAYS:,}")
    asked_start = None if start is None else typed_moment(start, "--from")
    asked_end = None if end is None else typed_moment(end, "--to")
    manifest, (first, last) = read_commit(directory, topology, snapshot, _bounds)
    width = timedelta(days=USUAL_DAYS if days is None else days)
    try:
        if asked_start is not None:
            begins = asked_start
            ends = asked_end or (last if days is None else asked_start + width)
        else:
            ends = asked_end or last
            begins = max(first, ends - width)
    except OverflowError:
        raise HistoryError(f"{days:g} days from {start or end} on lie outside of the calendar; ask for less") from None
    if begins >= ends:
        if asked_start is not None and asked_end is not None:
            raise HistoryError(
                f"--from {_shown(begins)} is not before --to {_shown(ends)}; swap them, or give other times"
            )
        raise HistoryError(
            f"topology {topology!r} has no arrival history {'from' if asked_start else 'before'} "
            f"{_shown(begins if asked_start else ends)}; it covers {_shown(first)} to {_shown(last)}: ask within"
        )
    return HistorySpan(topology, manifest.snapshot, manifest.window_s, begins, ends, first, last)


def _bounds(folder: Folder, manifest: Manifest) -> tuple[datetime, datetime]:
    """Start of the first window, and the time until which the history was built."""
    day = datetime.fromisoformat(min(manifest.parts)).replace(tzinfo=UTC)
    # All windows of the first date.
    until = day + timedelta(days=1, seconds=manifest.window_s) - timedelta(microseconds=1)
    rows = rows_between(folder, manifest, day, until, columns=("window_start",))
    return from_us(int(window_starts_us(rows).min())), manifest.built_until or last_window_end(folder, manifest)


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at.second == at.microsecond == 0 else f"{at:%Y-%m-%d %H:%M:%S}"
