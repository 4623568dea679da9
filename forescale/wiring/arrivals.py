"""From the section `arrivals` of a topology file to the source that it names; only event files need Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from forecasting.arrivals.arrival_source import ArrivalSource
from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
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


def event_files(arrivals: EventsEntry, settings: Settings) -> EventFiles:
    columns = arrivals.columns
    optional = {} if arrivals.not_before is None else {"not_before": arrivals.not_before}
    return EventFiles(
        path=below(settings.home, arrivals.path),
        columns=EventColumns(columns.time, columns.source, columns.key, columns.id, columns.weight, columns.arrived),
        format=arrivals.format,
        source=arrivals.source,
        timezone=arrivals.timezone,
        coverage=Path(below(settings.home, arrivals.coverage)) if arrivals.coverage else None,
        max_silence_s=arrivals.max_silence_s,
        max_copy_gap_s=arrivals.max_copy_gap_s,
        lateness_s=arrivals.lateness_s,
        max_ahead_s=arrivals.max_ahead_s,
        span_s=arrivals.span_s,
        measures=arrivals.measures,
        **optional,
    )


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
                from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets

                password = arrivals.password()
                secret = {} if password is None else {"sasl.password": password.get_secret_value()}
                return KafkaOffsets(
                    arrivals.servers,
                    arrivals.topics,
                    settings={**arrivals.settings, **secret},
                    timeout_s=arrivals.timeout_s,
                    settle_s=arrivals.settle_s,
                )
            case PrometheusEntry():
                from forecasting.arrivals.sources.prometheus import Prometheus

                return Prometheus(
                    arrivals.url,
                    arrivals.queries,
                    measures=arrivals.measures,
                    scrape_interval_s=arrivals.scrape_interval_s,
                    max_gap_s=arrivals.max_gap_s,
                    ended_after_s=arrivals.ended_after_s,
                    held_back=arrivals.held_back,
                    headers=arrivals.headers(),
                    timeout_s=arrivals.timeout_s,
                    since=arrivals.since,
                )
            case HeronEntry():
                from forecasting.arrivals.sources.heron_tracker import HeronTracker

                return HeronTracker(
                    arrivals.url,
                    cluster=arrivals.cluster,
                    environ=arrivals.environ,
                    topology=config.topology,
                    spouts=arrivals.spouts,
                    role=arrivals.role,
                    streams=arrivals.streams,
                    timeout_s=arrivals.timeout_s,
                    headers=arrivals.headers(),
                )
            case StormEntry():
                return _storm(config, arrivals, settings)
            case _:
                raise AssertionError(arrivals)


def _storm(config: TopologyConfig, arrivals: StormEntry, settings: Settings) -> SteadySource:
    from forecasting.arrivals.sources.storm_ui import StormUi

    return StormUi(
        arrivals.url,
        config.topology,
        arrivals.spouts,
        settings.home / "readings" / config.topology,
        max_gap_s=arrivals.max_gap_s,
        ended_after_s=arrivals.ended_after_s,
        saturated_capacity=arrivals.saturated_capacity,
        timeout_s=arrivals.timeout_s,
        headers=arrivals.headers(),
    )
