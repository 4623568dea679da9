"""Arrivals from the offsets of a real broker."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation
from contract.arrival_source_contract import SECRET, ArrivalSourceContract, KnownArrivals
from kafka_broker import PASSWORD, USER, KafkaBroker
from kafka_messages import Messages
from machine import waits
from patience import until
from server_process import free_ports

from engines.kafka.client import KafkaClient, TimeType
from forecasting.arrivals.arrival_source import Arrivals
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.grid import SECOND_US, from_us, to_us
from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, STATUSES
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets
from forecasting.errors import HistoryError

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MINUTE = timedelta(minutes=1)


@pytest.fixture
def noon() -> datetime:
    """A full ten minutes, some three hours ago: long over, and kept by the broker."""
    ago_us = to_us(datetime.now(UTC) - timedelta(hours=3))
    return from_us(ago_us // (600 * SECOND_US) * (600 * SECOND_US))


def spread(start: datetime, counts: Sequence[int], window: timedelta = MINUTE) -> list[datetime]:
    """Stamps in order, evenly spread over each window from its first moment on."""
    return [start + (number + i / count) * window for number, count in enumerate(counts) for i in range(count)]


def source_of(broker: KafkaBroker, *topics: str, settle_s: float = 10.0) -> KafkaOffsets:
    return KafkaOffsets(broker.servers, {"orders": topics}, timeout_s=60.0, settle_s=settle_s)


def statuses(arrivals: Arrivals) -> list[str]:
    told = arrivals.sources["orders"]
    return np.array(STATUSES)[status_codes(told.alive, arrivals.edges_us(), told.counts)].tolist()


def counts(arrivals: Arrivals) -> list[int]:
    return arrivals.sources["orders"].counts.tolist()


class TestKafkaOffsetsContract(ArrivalSourceContract):
    within_s = 1.5

    @pytest.fixture
    def known(self, noon: datetime) -> KnownArrivals:
        return KnownArrivals("orders", noon, 60, (40, 0, 7, 0, 500, 3, 11, 5))

    @pytest.fixture
    def source(self, known: KnownArrivals, messages: Messages) -> KafkaOffsets:
        topic = messages.topic(partitions=3)
        stamps = spread(known.start, known.counts)
        for partition in range(3):
            messages.send(topic, stamps[partition::3], partition)
        return source_of(messages.broker, topic)

    @pytest.fixture
    def unreachable(self) -> KafkaOffsets:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "reader"}
        return KafkaOffsets(
            f"127.0.0.1:{free_ports(1)[0]}",
            {"orders": "orders"},
            {**login, "sasl.password": SECRET},
            timeout_s=self.within_s,
        )


def test_read__counts_what_a_consumer_finds_by_reading_every_message(messages: Messages, noon: datetime) -> None:
    topic = messages.topic(partitions=5)
    rng = np.random.default_rng(11)
    for partition in range(4):  # the fifth partition stays empty
        offsets_s = np.sort(rng.integers(0, 600_000, size=2000)) / 1000
        messages.send(topic, [noon + timedelta(seconds=float(s)) for s in offsets_s], partition)
    arrivals = source_of(messages.broker, topic).read(noon, noon + 10 * MINUTE, 10)
    truth, _ = np.histogram(messages.stamps(topic, 5), arrivals.edges_us() // 1000)
    assert counts(arrivals) == truth.tolist()
    assert arrivals.sources["orders"].tallies["rows_read"].tolist() == truth.tolist()


def test_read__adds_up_the_topics_of_a_source_and_keeps_sources_apart(messages: Messages, noon: datetime) -> None:
    paid, retried, clicks = messages.topic(), messages.topic(), messages.topic()
    messages.send(paid, spread(noon, [2, 3]))
    messages.send(retried, spread(noon, [0, 4]))
    messages.send(clicks, spread(noon, [50, 60]))
    source = KafkaOffsets(messages.broker.servers, {"orders": [paid, retried], "clicks": clicks}, timeout_s=60)
    arrivals = source.read(noon, noon + 2 * MINUTE, 60)
    assert counts(arrivals) == [2 + 0, 3 + 4]
    assert statuses(arrivals) == [OBSERVED, OBSERVED]
    assert arrivals.sources["clicks"].counts.tolist() == [50, 60]


def test_read__smears_what_producers_stamp_out_of_order_but_loses_nothing(messages: Messages, noon: datetime) -> None:
    """Stamps 0:10, 2:10, 1:10, 2:20 at the offsets 0 to 3. First at or after 1:00 and 2:00 alike: offset 1."""
    topic = messages.topic()
    messages.send(topic, [noon + timedelta(seconds=s) for s in (10, 130, 70, 140)])
    source = source_of(messages.broker, topic)
    assert source.time_types() == {topic: TimeType.CREATED}
    assert counts(source.read(noon, noon + 3 * MINUTE, 60)) == [1 - 0, 1 - 1, 4 - 1]


def test_read__goes_by_the_brokers_stamp_where_that_is_what_the_topic_keeps(messages: Messages, noon: datetime) -> None:
    topic = messages.topic(message_timestamp_type="LogAppendTime")
    start = datetime.now(UTC).replace(microsecond=0)
    messages.send(topic, [noon] * 7)  # what the producer says is of no account
    time.sleep(1.1)
    end = datetime.now(UTC).replace(microsecond=0)
    source = source_of(messages.broker, topic, settle_s=0)
    assert source.time_types() == {topic: TimeType.APPENDED}
    assert sum(counts(source.read(start, end, 1))) == 7
    assert counts(source.read(noon, noon + MINUTE, 60)) == [0]


def test_read__says_of_each_topic_who_stamps_it(
    messages: Messages, noon: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    topic = messages.topic()
    messages.send(topic, [noon])
    with caplog.at_level("INFO"):
        source_of(messages.broker, topic).read(noon, noon + MINUTE, 60)
    assert f"topic {topic} is stamped by CreateTime" in caplog.text


def test_read__of_what_retention_deleted_is_missing_not_zero(messages: Messages, noon: datetime) -> None:
    topic = messages.topic(retention_ms="3600000")
    messages.send(topic, spread(noon, [3, 4]))
    until(lambda: messages.begin(topic) == 7)
    recent = from_us(to_us(datetime.now(UTC) - 10 * MINUTE) // (60 * SECOND_US) * (60 * SECOND_US))
    messages.send(topic, spread(recent, [5, 6]))
    source = source_of(messages.broker, topic)
    old, new = source.read(noon, noon + 3 * MINUTE, 60), source.read(recent - MINUTE, recent + 3 * MINUTE, 60)
    assert (counts(old), statuses(old)) == ([0, 0, 0], [MISSING] * 3)
    # The first message that is kept: others of its very millisecond may be gone, so its window is not known wholly.
    assert (counts(new), statuses(new)) == ([0, 5, 6, 0], [MISSING, PARTIAL, OBSERVED, OBSERVED])
    assert source.first_moment() == recent + timedelta(milliseconds=1)


def test_read__knows_a_topic_only_from_where_all_its_partitions_are_kept(messages: Messages, noon: datetime) -> None:
    """Of partition 1 what came in the first two minutes is deleted: it begins at its message of 2:00."""
    topic = messages.topic(partitions=2)
    for partition in range(2):
        messages.send(topic, spread(noon, [4, 4, 4, 4]), partition)
    messages.delete_before(topic, 1, 8)
    arrivals = source_of(messages.broker, topic).read(noon, noon + 4 * MINUTE, 60)
    assert counts(arrivals) == [0, 0, 8, 8]
    assert statuses(arrivals) == [MISSING, MISSING, PARTIAL, OBSERVED]


def test_read__of_a_topic_with_an_emptied_partition_knows_nothing(messages: Messages, noon: datetime) -> None:
    topic = messages.topic(partitions=2)
    for partition in range(2):
        messages.send(topic, spread(noon, [4, 4]), partition)
    messages.delete_before(topic, 1, 8)
    source = source_of(messages.broker, topic)
    arrivals = source.read(noon, noon + 3 * MINUTE, 60)
    assert (counts(arrivals), statuses(arrivals)) == ([0, 0, 0], [MISSING] * 3)
    with pytest.raises(HistoryError, match=f"{topic} have no offset old enough to count from; .*retention"):
        source.first_moment()


def test_read__of_a_topic_that_never_held_a_message_is_missing(messages: Messages, noon: datetime) -> None:
    source = source_of(messages.broker, messages.topic(partitions=2))
    arrivals = source.read(noon, noon + 2 * MINUTE, 60)
    assert (counts(arrivals), statuses(arrivals)) == ([0, 0], [MISSING] * 2)
    with pytest.raises(HistoryError, match="no offset old enough to count from; build at least 10 s after the first"):
        source.first_moment()


def test_read__of_a_topic_that_was_made_this_moment_waits_for_its_leaders(messages: Messages, noon: datetime) -> None:
    for _ in range(20):
        arrivals = source_of(messages.broker, messages.topic(partitions=8)).read(noon, noon + MINUTE, 60)
        assert statuses(arrivals) == [MISSING]


def test_read__takes_a_partition_that_was_added_later_for_silent_before(messages: Messages, noon: datetime) -> None:
    topic = messages.topic()
    messages.send(topic, spread(noon, [5, 5, 5, 5]))
    messages.add_partitions(topic, 2)
    messages.send(topic, spread(noon + 2 * MINUTE, [3, 3]), partition=1)
    arrivals = source_of(messages.broker, topic).read(noon, noon + 4 * MINUTE, 60)
    assert (counts(arrivals), statuses(arrivals)) == ([5, 5, 5 + 3, 5 + 3], [OBSERVED] * 4)


def test_read__knows_of_a_compacted_topic_what_compaction_spares(messages: Messages, noon: datetime) -> None:
    """Of 40 messages with one key, some hours ago, compaction leaves few; what is younger than an hour stays."""
    topic = messages.topic(
        cleanup_policy="compact",
        min_compaction_lag_ms="3600000",
        min_cleanable_dirty_ratio="0.01",
        segment_ms="60000",
    )
    messages.send(topic, spread(noon, [10, 10, 10, 10]), key="one")
    recent = from_us(to_us(datetime.now(UTC) - 10 * MINUTE) // (60 * SECOND_US) * (60 * SECOND_US))
    messages.send(topic, spread(recent, [5, 6]), key="one")
    until(lambda: messages.first_kept(topic) >= 30)
    assert messages.begin(topic) == 0  # nothing tells that messages are gone but the setting
    source = source_of(messages.broker, topic)
    old, new = source.read(noon, noon + 4 * MINUTE, 60), source.read(recent - MINUTE, recent + 3 * MINUTE, 60)
    assert (counts(old), statuses(old)) == ([0] * 4, [MISSING] * 4)
    assert (counts(new), statuses(new)) == ([0, 5, 6, 0], [OBSERVED] * 4)
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    assert an_hour_ago <= source.first_moment() < an_hour_ago + timedelta(seconds=20)


def test_read__refuses_a_topic_that_is_compacted_at_any_time(messages: Messages, noon: datetime) -> None:
    topic = messages.topic(cleanup_policy="compact,delete")
    messages.send(topic, [noon], key="one")
    with pytest.raises(HistoryError, match=rf"{topic}.*compacted.*min\.compaction\.lag\.ms is 0.*; set"):
        source_of(messages.broker, topic).read(noon, noon + MINUTE, 60)


def test_read__counts_the_markers_of_transactions_and_what_was_aborted(messages: Messages) -> None:
    """A transaction of 10 messages takes 11 offsets, and an aborted one of 5 takes 6."""
    topic = messages.topic(message_timestamp_type="LogAppendTime")
    start = datetime.now(UTC).replace(microsecond=0)
    # Silent, as it outlives the broker: after init it is never let go.
    producer = Producer({"bootstrap.servers": messages.broker.servers, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for number, end_it in ((10, producer.commit_transaction), (5, producer.abort_transaction)):
        producer.begin_transaction()
        for _ in range(number):
            producer.produce(topic, b"x")
        producer.flush(30)  # an abort would throw away what has not left
        end_it(30)
    time.sleep(1.1)
    end = datetime.now(UTC).replace(microsecond=0)
    arrivals = source_of(messages.broker, topic, settle_s=0).read(start, end, 1)
    assert sum(counts(arrivals)) == 11 + 6


def test_read__of_an_idle_topic_is_zero_up_to_the_reading_and_missing_after(messages: Messages, noon: datetime) -> None:
    """Of windows of 60 s, those that are over by 10 s are observed; from the next one on nothing is known."""
    topic = messages.topic()
    messages.send(topic, [noon])
    source = source_of(messages.broker, topic, settle_s=10.0)
    before = datetime.now(UTC)
    edge = from_us(to_us(before) // (60 * SECOND_US) * (60 * SECOND_US))
    arrivals = source.read(edge - 3 * MINUTE, edge + 3 * MINUTE, 60)
    after = datetime.now(UTC)
    assert counts(arrivals) == [0] * 6
    ((_, known_to_us),) = arrivals.sources["orders"].alive
    assert to_us(before) - 10 * SECOND_US <= known_to_us <= to_us(after) - 10 * SECOND_US
    assert statuses(arrivals)[:2] == [OBSERVED] * 2
    assert statuses(arrivals)[4:] == [MISSING] * 2


def test_read__does_not_move_a_window_that_is_over_when_more_is_appended_meanwhile(messages: Messages) -> None:
    topic = messages.topic(partitions=2, message_timestamp_type="LogAppendTime")
    stop = threading.Event()

    def append() -> None:
        producer = Producer({"bootstrap.servers": messages.broker.servers, "linger.ms": 0})
        while not stop.is_set():
            for partition in range(2):
                producer.produce(topic, b"x", partition=partition)
            producer.poll(0.001)
        assert producer.flush(30) == 0

    thread = threading.Thread(target=append)
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    thread.start()
    try:
        time.sleep(2.5)
        source = source_of(messages.broker, topic, settle_s=2.0)
        end = start + timedelta(seconds=30)
        told: dict[int, set[int]] = {}
        while len(told) < 4 and datetime.now(UTC) < end:
            arrivals = source.read(start, end, 1)
            for window, (status, count) in enumerate(zip(statuses(arrivals), counts(arrivals), strict=True)):
                if status == OBSERVED:
                    told.setdefault(window, set()).add(count)
    finally:
        stop.set()
        thread.join()
    truth, _ = np.histogram(messages.stamps(topic, 2), arrivals.edges_us() // 1000)
    assert len(told) >= 4
    assert told == {window: {int(truth[window])} for window in told}
    assert min(truth[window] for window in told) > 0


@pytest.fixture
def between_questions(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Lets something happen at the real broker before and after each question of a reading."""

    def arrange(happen: Callable[[], None]) -> None:
        def around(ask: Callable[..., object]) -> Callable[..., object]:
            def asked(*arguments: object) -> object:
                happen()
                answer = ask(*arguments)
                happen()
                return answer

            return asked

        for question in ("end_offsets", "begin_offsets", "offsets_at"):
            monkeypatch.setattr(KafkaClient, question, around(getattr(KafkaClient, question)))

    return arrange


@pytest.mark.parametrize("turn", range(10))
def test_read__counts_nothing_twice_when_messages_come_between_its_questions(
    messages: Messages, noon: datetime, between_questions: Callable[[Callable[[], None]], None], turn: int
) -> None:
    """After its 4 messages the topic is silent until that turn; of edges without a later message the end is told."""
    topic = messages.topic()
    messages.send(topic, spread(noon, [1, 3]))
    turns = iter(range(10))
    between_questions(lambda: messages.send(topic, [datetime.now(UTC)] * 5) if next(turns) == turn else None)
    arrivals = source_of(messages.broker, topic).read(noon, noon + 4 * MINUTE, 60)
    assert (counts(arrivals), statuses(arrivals)) == ([1, 3, 0, 0], [OBSERVED] * 4)
    assert next(turns, None) is None  # there were as many turns as are tried


def test_read__vouches_for_no_window_that_is_deleted_between_its_questions(
    messages: Messages, noon: datetime, between_questions: Callable[[Callable[[], None]], None]
) -> None:
    """A window goes at each turn: whatever is left when the reading is over, no window may be said to be smaller."""
    topic = messages.topic()
    messages.send(topic, spread(noon, [10] * 20))
    deleted = iter(range(10, 200, 10))
    between_questions(lambda: messages.delete_before(topic, 0, next(deleted)))
    arrivals = source_of(messages.broker, topic).read(noon, noon + 20 * MINUTE, 60)
    assert set(zip(statuses(arrivals), counts(arrivals), strict=True)) <= {(MISSING, 0), (PARTIAL, 10), (OBSERVED, 10)}
    assert statuses(arrivals)[-1] == OBSERVED


def test_read__knows_nothing_of_what_a_message_stamped_ahead_of_now_hides(
    messages: Messages, noon: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    """At 2:00 a message comes that is stamped half an hour ahead of now: it is the first one after every moment."""
    topic = messages.topic()
    messages.send(topic, spread(noon, [4, 4]))
    messages.send(topic, [datetime.now(UTC) + 30 * MINUTE])
    messages.send(topic, spread(noon + 2 * MINUTE, [4, 4]))
    arrivals = source_of(messages.broker, topic).read(noon, noon + 5 * MINUTE, 60)
    # 1:00 is the last edge at which the offsets still grew: whether 4 are all of the second minute is not known.
    assert statuses(arrivals) == [OBSERVED, MISSING, MISSING, MISSING, MISSING]
    assert counts(arrivals) == [4, 0, 0, 0, 0]
    assert f"message 8 in partition 0 of topic {topic} is stamped ahead of now" in caplog.text


def test_unknown_topic__is_named_with_place_and_remedy(broker: KafkaBroker) -> None:
    source = source_of(broker, "no-such-topic")
    with pytest.raises(HistoryError, match=f"Kafka at {broker.servers}: topic 'no-such-topic' .*; create it, or"):
        source.first_moment()


def test_partition_without_leader__is_named_with_place_and_remedy(messages: Messages) -> None:
    client = KafkaClient(messages.broker.servers, {}, 5.0, "Kafka at home", HistoryError)
    with pytest.raises(HistoryError, match=r"Kafka at home: partition 7 of topic .* leader"):
        client.end_offsets([(messages.topic(), 7)])


def test_login__with_the_right_password_reads_and_with_a_wrong_one_fails_at_once(
    messages: Messages, noon: datetime, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = messages.topic()
    messages.send(topic, spread(noon, [3]))
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER}
    servers = messages.broker.guarded_servers

    right = KafkaOffsets(servers, {"orders": topic}, {**login, "sasl.password": PASSWORD}, timeout_s=20)
    assert counts(right.read(noon, noon + MINUTE, 60)) == [3]

    wrong = KafkaOffsets(servers, {"orders": topic}, {**login, "sasl.password": SECRET}, timeout_s=20)
    # Not the 20 s that brokers are given to answer.
    with waits(5), pytest.raises(HistoryError, match=r"uthentication failed.*; give the user and password") as refused:
        wrong.read(noon, noon + MINUTE, 60)
    assert SECRET not in str(refused.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("operation", [AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS])
def test_user_who_may_not_describe__is_told_what_to_allow(messages: Messages, operation: AclOperation) -> None:
    topic = messages.topic()
    messages.deny(topic, USER, operation)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER}
    source = KafkaOffsets(messages.broker.guarded_servers, {"orders": topic}, {**login, "sasl.password": PASSWORD})
    with pytest.raises(HistoryError, match=rf"{topic}.*uthorization.*; let this user Describe and DescribeConfigs"):
        source.first_moment()


def test_hanging_broker__is_an_error_within_the_time_limit(messages: Messages, noon: datetime) -> None:
    topic = messages.topic()
    source = KafkaOffsets(messages.broker.servers, {"orders": topic}, timeout_s=2.0)
    messages.broker.pause()
    try:
        with waits(4), pytest.raises(HistoryError, match=r"timeout_s=2"):
            source.read(noon, noon + MINUTE, 60)
    finally:
        messages.broker.resume()


def test_unreachable__writes_nothing_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HistoryError, match="Connection refused"):
        KafkaOffsets(f"127.0.0.1:{free_ports(1)[0]}", {"orders": "orders"}, timeout_s=3).first_moment()
    assert capfd.readouterr().err == ""
