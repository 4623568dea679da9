"""What a consumer group has not read, by the offsets that it committed on a real broker."""

import math
import time
import uuid
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType
from kafka_broker import PASSWORD, USER
from kafka_messages import Messages
from unit.flink.metered_flink import MeteredFlink

from forecasting.arrivals.sources.kafka_group import KafkaGroup, Unread
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets
from forecasting.errors import HistoryError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.jobs.observe import record_observation
from planner.ledger.ledger import Ledger

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def group() -> str:
    return f"readers-{uuid.uuid4().hex[:8]}"


def unread(messages: Messages, topic: str, group: str) -> Unread:
    return KafkaGroup(KafkaOffsets(messages.broker.servers, {"orders": topic}), group).unread("orders")


def ages(now: datetime, *seconds_ago: float) -> list[datetime]:
    return [now - timedelta(seconds=seconds) for seconds in seconds_ago]


def lag_s(now: datetime, seconds_ago: float) -> object:
    """Of a message of that age at `now`, as it is told some moments later, within .5 %."""
    since_s = time.time() - now.timestamp()
    return pytest.approx(seconds_ago + since_s / 2, abs=since_s / 2 + 0.005 * seconds_ago)


def test_unread__are_behind_the_committed_offsets_and_as_old_as_the_oldest(
    messages: Messages, now: datetime, group: str
) -> None:
    topic = messages.topic(partitions=2)
    messages.send(topic, ages(now, 600, 540, 480, 420, 360, 300), 0)
    messages.send(topic, ages(now, 500, 90, 80, 70), 1)
    messages.commit(group, topic, 4, 1)
    # Of the first partition the messages of 360 and 300 s ago, of the other those of 90, 80 and 70.
    found = unread(messages, topic, group)
    assert (found.messages, found.lag_s) == (5, lag_s(now, 360))
    messages.commit(group, topic, 6, 1)
    found = unread(messages, topic, group)
    assert (found.messages, found.lag_s) == (3, lag_s(now, 90))
    messages.commit(group, topic, 6, 4)
    assert unread(messages, topic, group) == Unread(0, 0.0)


def test_unread__leave_out_what_was_deleted(messages: Messages, now: datetime, group: str) -> None:
    topic = messages.topic()
    messages.send(topic, ages(now, 600, 540, 480, 420, 360, 300))
    messages.commit(group, topic, 1)
    messages.delete_before(topic, 0, 4)
    found = unread(messages, topic, group)
    assert (found.messages, found.lag_s) == (2, lag_s(now, 360))


def test_unread__for_longer_than_a_month_are_told_as_a_month(messages: Messages, now: datetime, group: str) -> None:
    topic = messages.topic(retention_ms="-1")
    messages.send(topic, ages(now, 40 * 86400))
    messages.commit(group, topic, 0)
    assert unread(messages, topic, group) == Unread(1, pytest.approx(30 * 86400))


def test_a_group_whose_coordinator_still_loads__is_asked_again(
    messages: Messages, now: datetime, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As brokers answer right after a start, and after a coordinator moved."""
    topic = messages.topic()
    messages.send(topic, ages(now, 60, 50))
    messages.commit(group, topic, 1)
    asked: list[object] = []
    listed = AdminClient.list_consumer_group_offsets

    def loads_at_first(self: AdminClient, request: object, **options: float) -> object:
        asked.append(request)
        if len(asked) > 1:
            return listed(self, request, **options)
        loading: Future[object] = Future()
        loading.set_exception(KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)))
        return {group: loading}

    monkeypatch.setattr(AdminClient, "list_consumer_group_offsets", loads_at_first)
    assert unread(messages, topic, group).messages == 1
    assert len(asked) == 2


def test_a_group_that_committed_nothing__is_an_error_but_where_nothing_came(
    messages: Messages, now: datetime, group: str
) -> None:
    topic = messages.topic()
    assert unread(messages, topic, group) == Unread(0, 0.0)
    messages.send(topic, ages(now, 5))
    with pytest.raises(HistoryError, match=rf"{group}.*committed nothing of partition 0 of topic .{topic}.; see that"):
        unread(messages, topic, group)


def test_a_user_who_may_not_see_the_group__is_told_what_to_allow(messages: Messages, group: str) -> None:
    topic = messages.topic()
    messages.deny(group, USER, AclOperation.DESCRIBE, ResourceType.GROUP)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER}
    offsets = KafkaOffsets(messages.broker.guarded_servers, {"orders": topic}, {**login, "sasl.password": PASSWORD})
    with pytest.raises(HistoryError, match=rf"group .{group}.*uthorization.*; let this user Describe the group"):
        KafkaGroup(offsets, group).unread("orders")


def read_by(folder: Path, servers: str, topic: str, group: str, timeout_s: float = 60) -> TopologyConfig:
    """The topology of the recorded Flink job, whose sentences come from that topic."""
    body = {
        "topology": "word-count",
        "operators": {name: {"service_s": 0.01} for name in ("sentences", "split", "count")},
        "streams": [{"from": "sentences", "to": "split"}, {"from": "split", "to": "count"}],
        "arrivals": {
            "kind": "kafka",
            "servers": servers,
            "topics": {"sentences": topic},
            "group": group,
            "timeout_s": timeout_s,
        },
        "cluster": {"kind": "flink", "url": "http://flink:8081", "job": "word-count"},
    }
    file = folder / "word-count.yaml"
    file.write_text(yaml.safe_dump(body))
    return read_topology_file(file)


def test_where_flink_does_not_tell_what_waits__the_group_does(
    messages: Messages, now: datetime, group: str, tmp_path: Path
) -> None:
    topic = messages.topic()
    messages.send(topic, ages(now, 300, 240, 180))
    messages.commit(group, topic, 1)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    silent = MeteredFlink((5.0, math.nan, 0.0)).cluster()
    told = record_observation(read_by(tmp_path, messages.broker.servers, topic, group), ledger, silent)
    assert (told.backlog, told.lag_s, told.unmeasured) == ({"sentences": 2.0}, lag_s(now, 240), "")
    # Flink's own is preferred: 600 wait, and 120 a second came.
    talking = MeteredFlink((50.0, 200.0, 3000.0), (60.0, 600.0, 3800.0)).cluster()
    told = record_observation(read_by(tmp_path, messages.broker.servers, topic, group), ledger, talking)
    assert (told.backlog, told.lag_s) == ({"sentences": 600.0}, pytest.approx(5.0))


def test_where_neither_tells__both_reasons_are_said(messages: Messages, group: str, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    silent = MeteredFlink((5.0, math.nan, 0.0)).cluster()
    told = record_observation(read_by(tmp_path, messages.broker.servers, "no-such-topic", group, 5), ledger, silent)
    assert (told.backlog, told.lag_s) == ({}, None)
    assert "source 'sentences' publishes no pendingRecords" in told.unmeasured
    assert "topic 'no-such-topic' cannot be read" in told.unmeasured
    assert told.plan == "sentences 1 · split 2 · count 2"
