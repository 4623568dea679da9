"""What a young source may borrow: the histories of siblings named in its file, else of sources that look like it.

Siblings lend their history, never their forecasts, and only if it is long enough, so two sources that name each other
cause no cycle.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from forecasting.arrivals.grid import DAY_S
from forecasting.arrivals.history import UTC_NAME, ArrivalHistory, ArrivalSeries
from forecasting.arrivals.storage.layout import topologies
from forecasting.arrivals.store import read_history
from forecasting.errors import ForecastError, HistoryError, HistoryStoreError
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.effects import without_outages
from forecasting.pipeline import SIBLINGS
from forecasting.siblings import (
    FOUND_FROM_S,
    LENT_S,
    Lent,
    LentShape,
    Sibling,
    found_siblings,
    sibling_of,
    why_no_lender,
)
from forescale.files.events_section import EventEntry
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.forecast_request import ForecastRequest
from forescale.situation.workspace import Workspace
from modeling.wording import count_of

log = logging.getLogger(__name__)

MAX_TOPOLOGIES = 100
"""Number of histories searched for a source whose file names no sibling."""

Outages = tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True)
class Lenders:
    """The possible lenders of a shape to the sources of one request."""

    workspace: Workspace
    request: ForecastRequest

    def lent(self, young: ArrivalSeries) -> Lent:
        """What a young source may borrow now. A named sibling that cannot lend is reported and does no harm."""
        named = self.request.like.get(young.source, [])
        return self._named(young, named) if named else self._similar(young)

    def _named(self, young: ArrivalSeries, names: list[str]) -> Lent:
        siblings, notes = [], []
        for name in names:
            topology, _, source = name.partition("/")
            try:
                history = _history_of(self.workspace, self.request, topology, source)
                siblings.append(self._sibling(young, history, source, named=True))
            except (HistoryError, ForecastError) as error:
                field = f"sources.{young.source}.like"
                notes.append(f"{SIBLINGS}: {name} lends nothing: {error}; wait for it, or name another in {field}")
        return Lent.by(siblings, notes)

    def _similar(self, young: ArrivalSeries) -> Lent:
        name_them = f"name those that are in sources.{young.source}.like"
        if young.span_s < FOUND_FROM_S:
            days = FOUND_FROM_S / DAY_S
            return Lent(
                notes=(f"{SIBLINGS}: similar sources are searched for from {days:g} day of history on; {name_them}",)
            )
        looked = list(self._others(young))
        siblings = found_siblings(looked) if looked else ()
        if siblings or not looked:
            return Lent.by(siblings)
        return Lent(notes=(f"{SIBLINGS}: none of {count_of(len(looked), 'source')} is certainly similar; {name_them}",))

    def _others(self, young: ArrivalSeries) -> Iterator[Sibling]:
        for topology, history in self._histories.items():
            for source in history.series:
                if (topology, source) != (young.topology, young.source):
                    try:
                        yield self._sibling(young, history, source, named=False)
                    except (HistoryError, ForecastError) as error:
                        log.debug("%s/%s lends nothing: %s", topology, source, error)

    @cached_property
    def _histories(self) -> Mapping[str, ArrivalHistory]:
        """The searched histories, by topology; read once for all young sources of the request."""
        found: dict[str, ArrivalHistory] = {}
        for topology in topologies(self.workspace.settings.history_dir)[:MAX_TOPOLOGIES]:
            try:
                found[topology] = _history_of(self.workspace, self.request, topology)
            except HistoryStoreError as error:
                log.warning("no more histories are searched for siblings: %s", error)
                break
            except HistoryError as error:
                log.warning("history of %s is not searched for siblings: %s", topology, error)
        return found

    @cached_property
    def _files(self) -> Mapping[str, TopologyConfig | FileError | None]:
        return self.workspace.topologies

    def _sibling(self, young: ArrivalSeries, history: ArrivalHistory, source: str, *, named: bool) -> Sibling:
        config = self._files.get(history.topology)
        timezone: str = UTC_NAME
        outages: Outages = ()
        if isinstance(config, TopologyConfig):
            timezone, outages = config.timezones.get(source, UTC_NAME), _outages(config, source)
        series = _lent_series(self.request, history, source, timezone, outages)
        if reason := why_no_lender(series):
            raise ForecastError(reason)
        return sibling_of(young, series, named=named, snapshot=history.snapshot, outages=outages)


def recorded_lender(workspace: Workspace, request: ForecastRequest, source: str) -> Callable[[ArrivalSeries], Lent]:
    """Lends again what a source of a recorded request borrowed, if it was trained for that request."""
    shapes = request.siblings.get(source, ())

    def lent(young: ArrivalSeries) -> Lent:
        if source not in request.trained:
            return Lent(shapes)
        return Lent(shapes, tuple(_read_again(workspace, request, shape) for shape in shapes))

    return lent


def _read_again(workspace: Workspace, request: ForecastRequest, shape: LentShape) -> ArrivalSeries:
    history = _history_of(workspace, request, shape.topology, shape.source if shape.named else None, shape.snapshot)
    series = _lent_series(request, history, shape.source, shape.timezone, shape.outages)
    if series.digest() != shape.digest:
        raise HistoryError(
            f"the history of the sibling {shape.topology}/{shape.source} has changed since then; restore the store's "
            "commit of that time"
        )
    return series


def _history_of(
    workspace: Workspace, request: ForecastRequest, topology: str, source: str | None = None, snapshot: str = ""
) -> ArrivalHistory:
    """The history to lend, of a topology or one source: each series ends with the last window of all that are read."""
    return read_history(
        workspace.settings.history_dir,
        topology,
        start=request.issued_at - 2 * timedelta(seconds=LENT_S),
        sources=None if source is None else [source],
        snapshot=snapshot or None,
    )


def _lent_series(
    request: ForecastRequest, history: ArrivalHistory, source: str, timezone: str, outages: Outages
) -> ArrivalSeries:
    """A sibling's series up to the moment of the request, in the steps of its forecast. Raises HistoryError."""
    whole = history.in_local_time({source: timezone}).source(source)
    until = min(whole.end, request.issued_at)
    since = until - timedelta(seconds=LENT_S)
    shown = whole.between(max(whole.start, since), until).resampled(request.forecast.step_s)
    events = tuple(Event(EventKind.OUTAGE, "outage", start, end) for start, end in outages)
    return without_outages(shown, EventCalendar(events))


def _outages(config: TopologyConfig, source: str) -> Outages:
    """Outages from the sibling's own file. The effect of other events stays in its history."""
    told = [entry.event() for entry in config.events if isinstance(entry, EventEntry)]
    return tuple(
        (event.start, event.end)
        for event in told
        if event.kind is EventKind.OUTAGE and (event.sources is None or source in event.sources)
    )
