"""From the section `arrivals` of a topology file to the source that it names; only event files need Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from forecasting.arrivals.arrival_source import ArrivalSource
from forecasting.arrivals.counting.event_files import EventFiles
from forecasting.arrivals.sources.kafka_group import KafkaGroup
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets
from forecasting.arrivals.sources.steady import SteadySource
from forecasting.errors import HistoryError
from forescale.files.arrivals_section import EventsEntry, HeronEntry, KafkaEntry, PrometheusEntry, StormEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings


@contextmanager
def arrival_source(config: TopologyConfig, settings: Settings, now: datetime) -> Iterator[ArrivalSource]:
    """The source, with a Spark session where it needs one. Raises HistoryError for what it cannot be made of."""
    arrivals = config.arrivals
    if isinstance(arrivals, EventsEntry):
        from forecasting.arrivals.sources.counted_events import CountedEvents
        from forecasting.arrivals.spark_session import spark_session

        session = spark_session(
            settings.spark_master,
            f"aggregate {config.topology}",
            driver_memory=settings.spark_memory,
            settings=settings.spark_settings,
        )
        with session as spark:
            yield CountedEvents(spark, event_files(arrivals, settings), now)
    else:
        yield _over_the_network(config, settings)


def steady_source(config: TopologyConfig, settings: Settings) -> SteadySource | None:
    """The source, if it is one that has to be read steadily. Raises HistoryError for what it cannot be made of."""
    if not isinstance(config.arrivals, StormEntry):
        return None
    with _named(config):
        return _storm(config, config.arrivals, settings)


def kafka_group(config: TopologyConfig) -> KafkaGroup | None:
    """The group under which the topology reads its topics; None where the file names none. Raises HistoryError."""
    arrivals = config.arrivals_section
    if not isinstance(arrivals, KafkaEntry) or arrivals.group is None:
        return None
    with _named(config):
        return KafkaGroup(_kafka(arrivals), arrivals.group)


def event_files(arrivals: EventsEntry, settings: Settings) -> EventFiles:
    given = arrivals.model_dump(exclude={"kind", "window_s", "quality", "columns"}, exclude_none=True)
    given["path"] = below(settings.home, arrivals.path)
    if arrivals.coverage:
        given["coverage"] = Path(below(settings.home, arrivals.coverage))
    return EventFiles(**given, columns=arrivals.columns)


def below(home: Path, path: str) -> str:
    """A relative path below home; an absolute one, or one with a scheme (s3://…), as it is."""
    return path if "://" in path else str(home / path)


@contextmanager
def _named(config: TopologyConfig) -> Iterator[None]:
    """Whatever is wrong with the section is a HistoryError that names the topology."""
    try:
        yield
    except HistoryError:
        raise
    except ValueError as error:
        raise HistoryError(f"arrivals of topology {config.topology!r}: {error}") from None


def _over_the_network(config: TopologyConfig, settings: Settings) -> ArrivalSource:
    arrivals = config.arrivals
    with _named(config):
        match arrivals:
            case KafkaEntry():
                return _kafka(arrivals)
            case PrometheusEntry():
                from forecasting.arrivals.sources.prometheus import Prometheus

                return Prometheus(**arrivals.of_the_source())
            case HeronEntry():
                from forecasting.arrivals.sources.heron_tracker import HeronTracker

                return HeronTracker(**arrivals.of_the_source(), topology=config.topology)
            case StormEntry():
                return _storm(config, arrivals, settings)
            case _:
                raise AssertionError(arrivals)


def _kafka(arrivals: KafkaEntry) -> KafkaOffsets:
    given = arrivals.of_the_source()
    if (password := arrivals.password()) is not None:
        given["settings"]["sasl.password"] = password.get_secret_value()
    return KafkaOffsets(**given)


def _storm(config: TopologyConfig, arrivals: StormEntry, settings: Settings) -> SteadySource:
    from forecasting.arrivals.sources.storm_ui import StormUi

    log = settings.home / "readings" / config.topology
    return StormUi(**arrivals.of_the_source(), topology=config.topology, log=log)
