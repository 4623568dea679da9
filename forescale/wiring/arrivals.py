"""Builds the arrival source that the section `arrivals` of a topology file names."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forecasting.errors import HistoryError
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.registry import arrivals_kind

if TYPE_CHECKING:
    from forecasting.arrivals.sources.kafka_group import KafkaGroup
    from forecasting.arrivals.sources.steady import SteadySource


@contextmanager
def arrival_source(config: TopologyConfig, settings: Settings, now: datetime) -> Iterator[ArrivalSource]:
    """The source, with a Spark session if needed. Raises HistoryError if the section cannot be used."""
    arrivals = config.arrivals
    with _named(config):
        opened = arrivals_kind(arrivals).open(config, arrivals, settings, now)
    with opened as source:
        yield source


def steady_source(config: TopologyConfig, settings: Settings) -> "SteadySource | None":
    """The source, if it has to be recorded at intervals. Raises HistoryError if the section cannot be used."""
    arrivals = config.arrivals
    if (steady := arrivals_kind(arrivals).steady) is None:
        return None
    with _named(config):
        return steady(config, arrivals, settings)


def consumer_group(config: TopologyConfig) -> "KafkaGroup | None":
    """The group under which the topology reads its topics; None if the file names none. Raises HistoryError."""
    arrivals = config.arrivals_section
    if arrivals is None or (group := arrivals_kind(arrivals).group) is None:
        return None
    with _named(config):
        return group(arrivals)


@contextmanager
def _named(config: TopologyConfig) -> Iterator[None]:
    """Turn any error in the section into a HistoryError that names the topology."""
    try:
        yield
    except HistoryError:
        raise
    except ValueError as error:
        raise HistoryError(f"arrivals of topology {config.topology!r}: {error}") from None
