"""Topics of Kafka, counted by their offsets; the backlog is what a consumer group has not read."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import KafkaEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ArrivalsKind, EngineAdapter

if TYPE_CHECKING:
    from forecasting.arrivals.sources.kafka_group import KafkaGroup
    from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets


def _offsets(arrivals: KafkaEntry) -> "KafkaOffsets":
    from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets

    fields = arrivals.of_the_source()
    if (password := arrivals.password()) is not None:
        fields["settings"]["sasl.password"] = password.get_secret_value()
    return KafkaOffsets(**fields)


def topic_partitions(arrivals: KafkaEntry) -> dict[str, int]:
    """Partitions of each source's topics. Raises HistoryError if the brokers do not answer."""
    return _offsets(arrivals).partitions()


def _open(
    config: TopologyConfig, arrivals: KafkaEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    return nullcontext(_offsets(arrivals))


def _group(arrivals: KafkaEntry) -> "KafkaGroup | None":
    from forecasting.arrivals.sources.kafka_group import KafkaGroup

    return None if arrivals.group is None else KafkaGroup(_offsets(arrivals), arrivals.group)


KAFKA = EngineAdapter("kafka", arrivals=ArrivalsKind(KafkaEntry, _open, group=_group))
