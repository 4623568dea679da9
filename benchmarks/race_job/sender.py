"""What sends the raced events, in a process of its own. It imports little: it is started while others are measured."""

import struct
import time
from collections.abc import Sequence

from confluent_kafka import Producer

FLUSHED_S = 60.0


def event(number: int, due_us: int) -> bytes:
    return struct.pack(">qq", number, due_us)


def send(servers: str, topic: str, due_us: Sequence[int], stamps_ms: Sequence[int]) -> None:
    """One event at each moment (epoch microseconds), with its stamp (epoch milliseconds)."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5})
    for number, (due, stamp) in enumerate(zip(due_us, stamps_ms, strict=True)):
        if (ahead_s := due / 1e6 - time.time()) > 0:
            producer.poll(0)
            time.sleep(ahead_s)
        producer.produce(topic, event(number, due), timestamp=stamp)
    producer.flush(FLUSHED_S)
