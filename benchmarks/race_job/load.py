"""The load of a race: a day of a trace as single events in Kafka, and the days before it as the topic's history.

Events carry the trace's time as their stamp, and are sent a fixed number of times as fast. Within each minute of the
trace they are evenly spaced.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sender import FLUSHED_S, event, send

from forecasting.trace_file import read_trace
from modeling.arrays import Floats, Ints
from planner.replay.load import MINUTE_S, Load, minute_load

DAY_MINUTES = 24 * 60
KEPT = {"retention.ms": "-1"}


@dataclass(frozen=True)
class RaceLoad:
    """start_s: epoch seconds of the first raced minute. raced, past: events of each raced minute, and of each minute
    before, oldest first. speed: seconds of the trace in one second of the race.
    """

    source: str
    start_s: int
    raced: Ints
    past: Ints
    speed: float

    @property
    def load(self) -> Load:
        return Load(self.start_s, {self.source: self.raced / MINUTE_S})

    @property
    def known(self) -> Load:
        return Load(self.start_s - MINUTE_S * self.past.size, {self.source: self.past / MINUTE_S})

    @property
    def stamps_ms(self) -> Ints:
        """Of the raced events, in the trace's time."""
        return _stamps_ms(self.start_s, self.raced)

    def due_us(self, began_s: float) -> Ints:
        """When each raced event is sent if the race begins at that moment; each has a microsecond of its own."""
        since_us = (self.stamps_ms - 1000 * self.start_s) * 1000 / self.speed
        due: Ints = (began_s * 1e6 + since_us).astype(np.int64)
        return np.maximum.accumulate(due - np.arange(due.size)) + np.arange(due.size)

    def within(self, minutes: int) -> "RaceLoad":
        return replace(self, raced=self.raced[:minutes])


def race_load(
    trace: Path, source: str, day: datetime | None, peak_per_s: float, minutes_a_day: float, past_days: float
) -> RaceLoad:
    """day: its first moment, UTC; None for the last whole day of the trace. peak_per_s: of the race, in the largest
    raced minute.
    """
    series = read_trace(trace)
    begin = day or _midnight(series.end) - timedelta(days=1)
    first = max(series.start, begin - timedelta(days=past_days))
    whole = minute_load({source: series.between(first, begin + timedelta(days=1))}, begin.timestamp())
    rates = whole.rate_per_s[source]
    before = round((begin.timestamp() - whole.start_s) / MINUTE_S)
    speed = DAY_MINUTES / minutes_a_day
    counts = _whole_counts(rates * peak_per_s * MINUTE_S / speed / rates[before:].max())
    return RaceLoad(source, int(begin.timestamp()), counts[before:], counts[:before], speed)


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _whole_counts(counts: Floats) -> Ints:
    """Whole numbers with the same sums."""
    return np.diff(np.round(np.concatenate([[0.0], np.cumsum(counts)]))).astype(np.int64)


def _stamps_ms(start_s: int, counts: Ints) -> Ints:
    minute = np.repeat(np.arange(counts.size), counts)
    within = np.arange(minute.size) - np.repeat(np.cumsum(counts) - counts, counts)
    at_ms = 1000 * MINUTE_S * (minute + (within + 0.5) / np.maximum(1, counts[minute]))
    return 1000 * start_s + at_ms.astype(np.int64)


def new_topic(servers: str, name: str, settings: Mapping[str, str] = KEPT) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1, config=dict(settings))])[name].result(30)


def send_history(servers: str, topic: str, load: RaceLoad) -> int:
    """Write the events before the race, as many as are counted; returns their number."""
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 2_000_000, "linger.ms": 50})
    stamps = _stamps_ms(load.start_s - MINUTE_S * load.past.size, load.past).tolist()
    for stamp in stamps:
        producer.produce(topic, b"-", timestamp=stamp)
    producer.flush(FLUSHED_S)
    return len(stamps)


def sending(servers: str, topic: str, load: RaceLoad, began_s: float) -> BaseProcess:
    """A process that sends the raced events when they are due."""
    due_us, stamps_ms = load.due_us(began_s).tolist(), load.stamps_ms.tolist()
    process = get_context("spawn").Process(target=send, args=(servers, topic, due_us, stamps_ms), daemon=True)
    process.start()
    return process


def offered(servers: str, topic: str, count: int) -> None:
    """That many events at once, as a job that is full needs them."""
    producer = Producer({"bootstrap.servers": servers})
    now_us = round(time.time() * 1e6)
    for number in range(count):
        producer.produce(topic, event(number, now_us + number))
    producer.flush(FLUSHED_S)
