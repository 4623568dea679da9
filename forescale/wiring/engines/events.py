"""Files of raw events, counted by Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import EventsEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ArrivalsKind, EngineAdapter

if TYPE_CHECKING:
    from forecasting.arrivals.counting.event_files import EventFiles


@contextmanager
def _counted(
    config: TopologyConfig, arrivals: EventsEntry, settings: Settings, now: datetime
) -> Iterator[ArrivalSource]:
    """The only source that needs a Spark session."""
    from forecasting.arrivals.sources.counted_events import CountedEvents
    from forecasting.arrivals.spark_session import running, spark_session

    session = spark_session(
        settings.spark_master,
        f"aggregate {config.topology}",
        driver_memory=settings.spark_memory,
        settings=settings.spark_settings,
    )
    with running(session) as spark:
        yield CountedEvents(spark, _event_files(arrivals, settings), now)


def _event_files(arrivals: EventsEntry, settings: Settings) -> "EventFiles":
    from forecasting.arrivals.counting.event_files import EventFiles

    fields = arrivals.model_dump(exclude={"kind", "window_s", "quality", "columns"}, exclude_none=True)
    fields["path"] = settings.below_home(arrivals.path)
    if arrivals.coverage:
        fields["coverage"] = Path(settings.below_home(arrivals.coverage))
    return EventFiles(**fields, columns=arrivals.columns)


EVENTS = EngineAdapter("events", arrivals=ArrivalsKind(EventsEntry, _counted))
