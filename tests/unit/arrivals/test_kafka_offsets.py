"""What a reading of a Kafka partition tells, and what is refused before any broker is asked."""

import gc
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest

from engines.kafka.client import KafkaClient
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets, PartitionLog
from forecasting.errors import HistoryError

LOG = PartitionLog(
    settled_us=1000,
    answered_us=1100,
    begin=0,
    end=30,
    first_us=150,
    intact_from_us=0,
    edges_us=np.array([100, 200, 300, 400], dtype=np.int64),
    offsets=np.array([0, 10, 20, 25], dtype=np.int64),
    ahead=-1,
)


def test_arrived__is_the_end_where_no_message_is_at_or_after_an_edge() -> None:
    log = replace(LOG, offsets=np.array([0, 10, -1, -1], dtype=np.int64))
    assert log.arrived().tolist() == [0, 10, 30, 30]


def test_arrived__leaves_out_what_was_appended_during_the_reading() -> None:
    """Offset 34 came after the end was read as 30: at that time, all 30 had come before the last edge."""
    log = replace(LOG, offsets=np.array([0, 10, 20, 34], dtype=np.int64))
    assert log.arrived().tolist() == [0, 10, 20, 30]


def test_arrived__never_falls_when_messages_are_deleted_during_the_reading() -> None:
    """The first two edges were asked before all below 15 was deleted."""
    assert replace(LOG, begin=15).arrived().tolist() == [15, 15, 20, 25]
    assert replace(LOG, begin=40).arrived().tolist() == [40] * 4


def test_known_from__is_any_time_while_nothing_was_deleted() -> None:
    assert LOG.known_from_us() == 0
    assert replace(LOG, end=0, first_us=None).known_from_us() == 0


def test_known_from__is_a_millisecond_after_the_first_message_that_is_left() -> None:
    assert replace(LOG, begin=15).known_from_us() == 150 + 1000


def test_known_from__is_the_reading_where_all_was_deleted() -> None:
    assert replace(LOG, begin=30, first_us=None).known_from_us() == 1100
    # Deleted between two questions of the reading: the begin was still 0, the messages are gone.
    assert replace(LOG, begin=0, first_us=None).known_from_us() == 1100


def test_known_from__is_not_before_what_compaction_spares() -> None:
    assert replace(LOG, intact_from_us=700).known_from_us() == 700
    assert replace(LOG, begin=15, intact_from_us=5000).known_from_us() == 5000


def test_known_to__is_the_last_edge_that_grew_before_a_message_stamped_ahead() -> None:
    """Message 20 is the first at or after 300 and after 400, although others may have come then."""
    log = replace(LOG, offsets=np.array([0, 10, 20, 20], dtype=np.int64), ahead=20)
    assert log.known_to_us() == 200
    assert replace(log, offsets=np.full(4, 20, dtype=np.int64)).known_to_us() == 0
    assert replace(log, settled_us=150).known_to_us() == 150


def test_known_to__is_not_touched_by_a_message_ahead_that_came_during_the_reading() -> None:
    assert replace(LOG, ahead=30).known_to_us() == 1000


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"servers": " "}, "servers.*host:port"),
        ({"topics": {}}, "Kafka at home:9092: no source has a topic; name one"),
        ({"topics": {"orders": []}}, r"source 'orders' has topics \[\]; name at least one"),
        ({"topics": {"orders": ""}}, "source 'orders'.*; name at least one"),
        ({"topics": {"orders": ["a", "b", "a"]}}, "source 'orders' names a topic twice.*; name it once"),
        ({"timeout_s": 0}, "timeout_s is 0; give a positive"),
        ({"timeout_s": float("nan")}, "timeout_s is nan; give a positive"),
        ({"settle_s": -1}, "settle_s is -1; give zero or more"),
    ],
)
def test_construction__refuses_what_cannot_be_read(settings: dict[str, object], said: str) -> None:
    with pytest.raises(HistoryError, match=said):
        KafkaOffsets(**{"servers": "home:9092", "topics": {"orders": "orders"}, **settings})  # type: ignore[arg-type]


def test_repr__shows_no_client_settings() -> None:
    source = KafkaOffsets("home:9092", {"orders": "orders"}, {"sasl.password": "xyzzy"})
    assert "xyzzy" not in repr(source) + str(source) + source.place


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"no.such": "1"}, 'Kafka at home: the client settings are refused: No such .* "no.such"; give settings'),
        (
            {"bootstrap.servers": "away:9092"},
            "client setting 'bootstrap.servers' is not for the settings; leave it out",
        ),
        ({"sasl.password": "xyzzy", "debug": "xyzzy"}, "refused: .*….*; give settings"),
    ],
)
def test_client__refuses_settings_that_its_library_does_not_know(settings: dict[str, str], said: str) -> None:
    with pytest.raises(HistoryError, match=said) as refused:
        KafkaClient("home:9092", settings, 1.0, "Kafka at home", HistoryError)
    assert "xyzzy" not in str(refused.value)


def test_client__names_the_extra_to_install_where_the_library_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)  # as Python marks what cannot be imported
    with pytest.raises(HistoryError, match=r"Kafka at home:9092 needs confluent-kafka, .* with the extra `kafka`"):
        KafkaOffsets("home:9092", {"orders": "orders"}).first_moment()


def test_client__is_destroyed_when_it_is_dropped_and_not_by_the_garbage_collector() -> None:
    """The collector runs in any thread, and librdkafka aborts the process if it is one of the client's own."""
    gc.disable()
    try:
        client = KafkaClient("127.0.0.1:1", {}, 1.0, "a broker", HistoryError)
        kept = weakref.ref(client)
        del client
        assert kept() is None
    finally:
        gc.enable()
