"""Arrivals of Kafka topics from offsets alone: the messages of a window are the difference of the offsets at its edges.
No message is read. docs/history.md describes the limits.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from engines.kafka.client import KafkaClient, Partition, TimeType, Topic
from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.coverage import Int64s, covered_us
from forecasting.arrivals.grid import SECOND_US, from_us
from forecasting.arrivals.sources.counter_readings import window_edges_us
from forecasting.errors import HistoryError

logger = logging.getLogger(__name__)

_MS_US = 1000


@dataclass(frozen=True)
class PartitionLog:
    """One reading of a partition. Times in microseconds since the epoch.

    settled_us: messages stamped before it have had time to arrive. answered_us: end of the reading. begin, end: kept
    offsets [begin, end), end as of the start of the reading. first_us: stamp of the first kept message; None if there
    is none. intact_from_us: before it compaction may have removed messages. edges_us, offsets: moments, and the offset
    of the first message stamped at or after each, -1 if there is none, shape (edges,). ahead: offset of the first
    message stamped in the future, -1 if there is none.
    """

    settled_us: int
    answered_us: int
    begin: int
    end: int
    first_us: int | None
    intact_from_us: int
    edges_us: Int64s
    offsets: Int64s
    ahead: int

    def arrived(self) -> Int64s:
        """Messages before each edge, shape (edges,): non-decreasing, whatever happened during the reading."""
        # Without a message at or after an edge, all came before it. Messages appended during the reading have offsets
        # of at least `end`, so clipping to it gives the partition as of the start, at every edge.
        as_of_begun = np.where(self.offsets < 0, self.end, np.minimum(self.offsets, self.end))
        return np.maximum(as_of_begun, self.begin)

    def is_hidden(self) -> bool:
        """Whether a message stamped in the future hides the messages that came after it.

        It is then the first message at or after every later moment, so offsets stop growing.
        """
        return 0 <= self.ahead < self.end

    def known_from_us(self) -> int:
        """The time from which on no arrival is lost."""
        if self.begin == 0 and (self.first_us is not None or self.end == 0):
            lost_until_us = self.intact_from_us  # nothing came before its first message
        elif self.first_us is None:
            lost_until_us = self.answered_us  # all was deleted, up to an unknown time
        else:
            # Others of the same millisecond may have been deleted.
            lost_until_us = self.first_us + _MS_US
        return max(lost_until_us, self.intact_from_us)

    def known_to_us(self) -> int:
        """Until when arrivals are known; if some are hidden, the last edge at which offsets still grew."""
        if not self.is_hidden():
            return self.settled_us
        before = self.edges_us[(self.offsets >= 0) & (self.offsets < self.ahead)]
        return min(int(before[-1]), self.settled_us) if before.size else 0


@dataclass(frozen=True)
class KafkaOffsets:
    """Counts of messages appended to topics, by their stamps.

    servers: host:port, several with commas. topics: per source of the topology its topic or topics. settings: of
    librdkafka, for instance security.protocol, sasl.username and sasl.password. timeout_s: how long an answer may take.
    settle_s: upper bound on transit time and clock differences; younger messages are not reported yet.
    """

    measures, forgets, unsettled_s = Measures.OFFERED, True, 0.0

    servers: str
    topics: Mapping[str, str | Sequence[str]]
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 30.0
    settle_s: float = 10.0

    def __post_init__(self) -> None:
        if not self.servers.strip():
            raise HistoryError("Kafka servers are ''; give them as host:port")
        if not self.topics:
            raise HistoryError(f"{self.place}: no source has a topic; name one per source of the topology")
        for source in self.topics:
            names = self.topics_of(source)
            if not names or not all(names):
                raise HistoryError(f"{self.place}: source {source!r} has topics {list(names)}; name at least one")
            if len(set(names)) < len(names):
                raise HistoryError(
                    f"{self.place}: source {source!r} names a topic twice in {list(names)}; name it once"
                )
        if not self.timeout_s > 0:
            raise HistoryError(f"{self.place}: timeout_s is {self.timeout_s}; give a positive number of seconds")
        if not self.settle_s >= 0:
            raise HistoryError(f"{self.place}: settle_s is {self.settle_s}; give zero or more seconds")

    @property
    def place(self) -> str:
        return f"Kafka at {self.servers}"

    def topics_of(self, source: str) -> tuple[str, ...]:
        names = self.topics[source]
        return (names,) if isinstance(names, str) else tuple(names)

    def client(self) -> KafkaClient:
        return KafkaClient(self.servers, self.settings, self.timeout_s, self.place, HistoryError)

    def time_types(self) -> dict[str, TimeType]:
        """Who stamps each topic's messages: with CreateTime, out-of-order stamps smear counts over windows."""
        return {name: topic.time_type for name, topic in self._described(self.client()).items()}

    def partitions(self) -> dict[str, int]:
        """Partitions of each source's topics."""
        described = self._described(self.client())
        return {source: sum(len(topic.partitions) for topic in self._of(source, described)) for source in self.topics}

    def first_moment(self) -> datetime:
        client = self.client()
        described = self._described(client)
        no_edges = np.empty(0, dtype=np.int64)
        readings = [list(self._logs(client, self._of(source, described), no_edges).values()) for source in self.topics]
        begins = [begin for logs in readings if (begin := _known_from_us(logs)) is not None]
        if not begins:
            raise HistoryError(
                f"{self.place}: topics {', '.join(described)} have no offset old enough to count from; build at "
                f"least {self.settle_s:g} s after the first message, or raise retention.ms"
            )
        return from_us(min(begins))

    def read(self, start: datetime, end: datetime, window_s: int) -> Arrivals:
        edges_us = window_edges_us(start, end, window_s)
        client = self.client()
        described = self._described(client)
        for topic in described.values():
            logger.info("%s: topic %s is stamped by %s", self.place, topic.name, topic.time_type)
        sources = {}
        for source in self.topics:
            logs = self._logs(client, self._of(source, described), edges_us)
            alive = self._alive(logs)
            counts: Int64s = np.diff(np.stack([log.arrived() for log in logs.values()])).sum(axis=0)
            counts[covered_us(alive, edges_us) == 0] = 0
            sources[source] = SourceArrivals(counts, alive, tallies={"rows_read": counts})
        return Arrivals(start, end, window_s, self.measures, sources)

    def _of(self, source: str, described: Mapping[str, Topic]) -> list[Topic]:
        return [described[name] for name in self.topics_of(source)]

    def _described(self, client: KafkaClient) -> dict[str, Topic]:
        described = client.topics(sorted({name for source in self.topics for name in self.topics_of(source)}))
        for topic in described.values():
            if topic.compacted and topic.uncompacted_ms == 0:
                raise HistoryError(
                    f"{self.place}: topic {topic.name!r} is compacted at any time (min.compaction.lag.ms is 0), so its "
                    "offsets do not show when messages came; set min.compaction.lag.ms to the history that is needed"
                )
        return described

    def _logs(self, client: KafkaClient, topics: Sequence[Topic], edges_us: Int64s) -> dict[Partition, PartitionLog]:
        """A reading of every partition, in an order that is safe against concurrent appends and deletes.

        The end is read first, and later messages are cut off. The begin is read last, and messages deleted meanwhile
        count as unknown.
        """
        partitions = [partition for topic in topics for partition in topic.partitions]
        asked_us = _now_us()
        ends = client.end_offsets(partitions)
        over = edges_us[edges_us <= asked_us]  # the others lie in the future
        offsets = np.full((edges_us.size, len(partitions)), -1, dtype=np.int64)
        offsets[: over.size] = client.offsets_at(partitions, over // _MS_US)[0]
        (ahead,), _ = client.offsets_at(partitions, [(asked_us + self._settle_us) // _MS_US + 1])
        begins = client.begin_offsets(partitions)
        _, (firsts_ms,) = client.offsets_at(partitions, [0])
        answered_us = _now_us()
        spared_us = {
            name: answered_us + self._settle_us - topic.uncompacted_ms * _MS_US if topic.compacted else 0
            for topic in topics
            for name in topic.partitions
        }
        return {
            partition: PartitionLog(
                asked_us - self._settle_us,
                answered_us,
                int(begins[i]),
                int(ends[i]),
                int(firsts_ms[i]) * _MS_US if firsts_ms[i] >= 0 else None,
                spared_us[partition],
                edges_us,
                offsets[:, i],
                int(ahead[i]),
            )
            for i, partition in enumerate(partitions)
        }

    def _alive(self, logs: Mapping[Partition, PartitionLog]) -> Int64s:
        """The span in which all partitions are known; empty if there is none."""
        for (topic, number), log in logs.items():
            if log.is_hidden():
                logger.warning(
                    "%s: message %d in partition %d of topic %s is stamped ahead of now and hides what came after it; "
                    "correct its producer's clock, or let the broker stamp (message.timestamp.type=LogAppendTime)",
                    self.place,
                    log.ahead,
                    number,
                    topic,
                )
        begin, end = _known_from_us(list(logs.values())), min(log.known_to_us() for log in logs.values())
        return np.array([] if begin is None or end <= begin else [[begin, end]], dtype=np.int64).reshape(-1, 2)

    @property
    def _settle_us(self) -> int:
        return int(self.settle_s * SECOND_US)


def _known_from_us(logs: Sequence[PartitionLog]) -> int | None:
    """From when on all partitions are known, not before the first kept message of any. None if not yet known."""
    firsts = [log.first_us for log in logs if log.first_us is not None]
    if not firsts:
        return None
    begin = max(min(firsts), *(log.known_from_us() for log in logs))
    return begin if begin < min(log.settled_us for log in logs) else None


def _now_us() -> int:
    return time.time_ns() // 1000
