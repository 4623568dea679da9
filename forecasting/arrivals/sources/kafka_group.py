"""A consumer group's lag in messages and in time, from its committed offsets and the topics' ends."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engines.kafka.client import KafkaClient, Partition
from forecasting.arrivals.coverage import Int64s
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets
from forecasting.errors import HistoryError

_AGES_S = np.geomspace(0.1, 30 * 86400, 64)
"""Ages searched for the oldest message; the last one is a lower bound for older messages."""


@dataclass(frozen=True)
class Unread:
    """messages: after the committed offsets. lag_s: age of the oldest of them by its stamp, within .5 %."""

    messages: int
    lag_s: float


@dataclass(frozen=True)
class KafkaGroup:
    """The consumer group with which a topology reads the topics of its sources."""

    offsets: KafkaOffsets
    group: str

    def unread(self, source: str) -> Unread:
        """Raises HistoryError if the brokers do not answer or the group has no committed offset."""
        client = self.offsets.client()
        topics = client.topics(self.offsets.topics_of(source)).values()
        partitions = [partition for topic in topics for partition in topic.partitions]
        # Read commits before ends: messages committed in between then only make the lag too large, never too small.
        committed = client.committed_offsets(self.group, partitions)
        begins, ends = client.begin_offsets(partitions), client.end_offsets(partitions)
        for (topic, number), offset, begin, end in zip(partitions, committed, begins, ends, strict=True):
            if offset < 0 and end > begin:
                raise HistoryError(
                    f"{self.offsets.place}: group {self.group!r} has committed nothing of partition {number} of topic "
                    f"{topic!r}; see that the job reads it under this name and makes checkpoints, with which it commits"
                )
        next_offsets = np.maximum(committed, begins)  # deleted messages no longer wait
        waiting = [number for number, offset in enumerate(next_offsets) if offset < ends[number]]
        if not waiting:
            return Unread(0, 0.0)
        lag_s = _oldest_s(client, [partitions[number] for number in waiting], next_offsets[waiting])
        return Unread(int((ends - next_offsets)[waiting].sum()), lag_s)


def _oldest_s(client: KafkaClient, partitions: Sequence[Partition], next_offsets: Int64s) -> float:
    """Age in seconds of the oldest of the next messages, at most the last of _AGES_S."""
    now_s, ages_s, oldest_s = time.time(), _AGES_S, 0.0
    for _ in range(2):
        first, _ = client.offsets_at(partitions, (1000 * (now_s - ages_s)).astype(np.int64))
        # A message is older than a moment if the first message at or after the moment comes behind it or does not
        # exist.
        older = ((first < 0) | (first > next_offsets)).any(axis=1)
        if older.all():
            return float(ages_s[-1])
        younger = int(np.argmin(older))
        oldest_s = float(ages_s[younger - 1]) if younger else oldest_s
        ages_s = np.linspace(oldest_s, ages_s[younger], 64)
    return oldest_s
