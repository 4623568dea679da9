"""Readings of sources that keep no history: one, or one at intervals until stopped."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forecasting.arrivals.sources.steady import Recorded, SteadySource
from forecasting.errors import HistoryError
from forescale.files.file_error import FileError
from forescale.situation.workspace import Workspace
from forescale.wiring.arrivals import steady_source
from planner.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Readings:
    """Number of readings recorded, and of attempts that failed."""

    recorded: int
    failed: int


def record(workspace: Workspace, topology: str) -> Recorded | None:
    """One reading; None for a source that needs no recording.

    Raises HistoryError if there is nothing to read, and FileError.
    """
    source = steady_source(workspace.config(topology), workspace.settings)
    return None if source is None else _recorded(source, workspace.clock, topology)


def record_steadily(
    workspace: Workspace,
    topology: str,
    every_s: float,
    for_s: float,
    stop: threading.Event,
    tell: Callable[[Recorded | HistoryError], None],
) -> Readings | None:
    """A reading now and every every_s seconds, until for_s seconds are over (inf: never) or stop is set.

    tell: called with each reading, and with each error; a failed reading is tried again at the next turn. None for a
    source that needs no recording. Raises HistoryError for invalid times, and FileError.
    """
    if not 0 < every_s < math.inf:
        raise HistoryError(f"--every {every_s:g}; give a positive number of seconds")
    if not for_s > 0:
        raise HistoryError(f"--for {for_s:g}; give a positive number of seconds")
    source = steady_source(workspace.config(topology), workspace.settings)
    if source is None:
        return None
    clock = workspace.clock
    recorded = failed = 0
    begun = time.monotonic()
    while not stop.is_set():
        try:
            reading = _recorded(source, clock, topology)
            recorded += reading.added
            tell(reading)
        except HistoryError as error:
            failed += 1
            log.warning("recording %s: %s", topology, error)
            tell(error)
        # Turns are counted from the beginning, so that slow readings cause no drift; missed turns are skipped.
        past_s = time.monotonic() - begun
        next_s = (past_s // every_s + 1) * every_s
        if next_s >= for_s:
            stop.wait(max(0.0, for_s - past_s))
            break
        stop.wait(next_s - past_s)
    return Readings(recorded, failed)


def steady_topologies(workspace: Workspace, names: Iterable[str]) -> list[str]:
    """Topologies whose source has to be recorded. Includes topologies that cannot be read: recording such a one then
    fails by itself, and the others go on.
    """
    return [name for name in names if _is_steady(workspace, name)]


def _is_steady(workspace: Workspace, name: str) -> bool:
    try:
        return steady_source(workspace.config(name), workspace.settings) is not None
    except (HistoryError, FileError):
        return True


def _recorded(source: SteadySource, clock: Clock, topology: str) -> Recorded:
    reading = source.record(clock.now())
    log.info("recorded %s: %s", topology, reading.line)
    return reading
