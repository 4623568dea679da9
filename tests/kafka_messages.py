"""Topics on the tests' own broker, and messages in them with the stamps that a test wants."""

import uuid
from collections.abc import Iterable
from datetime import datetime

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka_broker import KafkaBroker

from engines.kafka.client import KafkaClient
from forecasting.arrivals.grid import to_us


class Messages:
    """Topics of their own for a test, and messages in them with the stamps that it wants."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.broker = broker
        self.admin = AdminClient({"bootstrap.servers": broker.servers})

    def topic(self, partitions: int = 1, **settings: str) -> str:
        name = f"orders-{uuid.uuid4().hex[:8]}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
        return name

    def send(self, topic: str, stamps: Iterable[datetime], partition: int = 0, key: str | None = None) -> None:
        """One message per stamp, in that order, and not before all are there."""
        producer = Producer({"bootstrap.servers": self.broker.servers})  # a new one knows of new partitions
        for stamp in stamps:
            producer.produce(topic, b"x", key=key, partition=partition, timestamp=to_us(stamp) // 1000)
        assert producer.flush(30) == 0

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        partitions = [TopicPartition(topic, partition, offset)]
        for future in self.admin.delete_records(partitions).values():
            future.result(30)

    def commit(self, group: str, topic: str, *offsets: int) -> None:
        """As a reader does that has read so far, partition by partition."""
        consumer = Consumer({"bootstrap.servers": self.broker.servers, "group.id": group})
        partitions = [TopicPartition(topic, number, offset) for number, offset in enumerate(offsets)]
        consumer.commit(offsets=partitions, asynchronous=False)
        consumer.close()

    def deny(self, name: str, user: str, operation: AclOperation, kind: ResourceType = ResourceType.TOPIC) -> None:
        who, anywhere = f"User:{user}", ResourcePatternType.LITERAL
        denied = AclBinding(kind, name, anywhere, who, "*", operation, AclPermissionType.DENY)
        for future in self.admin.create_acls([denied]).values():
            future.result(30)

    def first_kept(self, topic: str) -> int:
        """Offset of the first message of partition 0 that is still there."""
        return int(self._client().offsets_at([(topic, 0)], [0])[0][0, 0])

    def begin(self, topic: str) -> int:
        return int(self._client().begin_offsets([(topic, 0)])[0])

    def stamps(self, topic: str, partitions: int) -> list[int]:
        """Stamps in milliseconds of all messages, by reading them: what the source under test does not do."""
        settings = {"bootstrap.servers": self.broker.servers, "group.id": "truth", "enable.partition.eof": True}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        found, ended = [], set()
        while len(ended) < partitions:
            message = consumer.poll(10)
            assert message is not None
            if error := message.error():
                # The end of a partition is told as an error too, at times twice; of others the consumer tries again.
                if error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
            else:
                found.append(message.timestamp()[1])
        consumer.close()
        return found

    def _client(self) -> KafkaClient:
        return KafkaClient(self.broker.servers, {}, 10.0, "the tests' broker", AssertionError)
