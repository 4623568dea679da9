"""Requests to Kafka's brokers: partitions and settings of topics, offsets by time. Failures become the caller's own
errors, which name place, value and remedy, keep a time limit and show no secrets.

The library is imported when a client is made, so nothing else depends on it.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from engines.http import Failure
from engines.redaction import without_secrets

# Answers are awaited in order while others are under way, so a distant broker's delay is paid once, not per request.
IN_FLIGHT = 64
_PATIENCE_S = 0.25  # between two checks for background errors
_SECRET_SETTINGS = ("password", "secret", "token", "pem", "oauthbearer.config")
_OWN_SETTINGS = ("bootstrap.servers", "error_cb", "logger", "log_cb")

_Read = TypeVar("_Read")

Int64s = npt.NDArray[np.int64]
Partition = tuple[str, int]


class TimeType(StrEnum):
    """Who stamps a topic's messages (`message.timestamp.type`).

    CREATED: the producer, so times may be out of offset order. APPENDED: the broker, when it appends.
    """

    CREATED = "CreateTime"
    APPENDED = "LogAppendTime"


@dataclass(frozen=True)
class Topic:
    """A topic as the brokers describe it.

    compacted: compaction removes old messages. uncompacted_ms: age before which it never does.
    """

    name: str
    partitions: tuple[Partition, ...]
    time_type: TimeType
    compacted: bool
    uncompacted_ms: int


class KafkaClient:
    """An admin client. timeout_s: time limit of each answer.

    settings: of librdkafka, as confluent-kafka takes them. Raises a failure for unknown settings or without
    confluent-kafka; each method raises one if the brokers refuse or do not answer.
    """

    def __init__(
        self, servers: str, settings: Mapping[str, str], timeout_s: float, place: str, failure: Failure
    ) -> None:
        try:
            import confluent_kafka
            import confluent_kafka.admin
        except ImportError as error:
            raise failure(
                f"{place} needs confluent-kafka, which is not installed ({error}); "
                "install forescale with the extra `kafka`"
            ) from None
        if own := sorted(set(settings) & set(_OWN_SETTINGS)):
            raise failure(f"{place}: client setting {own[0]!r} is not for the settings; leave it out")
        self._kafka, self._admin_of = confluent_kafka, confluent_kafka.admin
        self._place, self._timeout_s, self._error = place, timeout_s, failure
        self._secrets = [
            value for name, value in settings.items() if value and any(word in name for word in _SECRET_SETTINGS)
        ]
        self._background_errors: list[Any] = []  # the client's background errors, the latest last
        try:
            self._admin = confluent_kafka.admin.AdminClient(
                {**settings, "bootstrap.servers": servers, "error_cb": partial(_remember, self._background_errors)},
                logger=_silent_logger(),
            )
        except (confluent_kafka.KafkaException, TypeError, ValueError) as error:
            raise failure(
                f"{place}: the client settings are refused: {self._reason(error)}; give settings that librdkafka knows"
            ) from None

    def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """Topics by name. Raises a failure for a topic that does not exist or may not be described."""
        names = list(names)
        described = self._admin.describe_topics(self._kafka.TopicCollection(names), request_timeout=self._timeout_s)
        partitions = {
            name: tuple((name, found.id) for found in self._answer(described[name], f"topic {name!r}").partitions)
            for name in names
        }
        resource = self._admin_of.ConfigResource
        resources = {resource(resource.Type.TOPIC, name): name for name in names}
        settings = {
            resources[key]: self._answer(future, f"settings of topic {resources[key]!r}")
            for key, future in self._admin.describe_configs(list(resources), request_timeout=self._timeout_s).items()
        }
        return {name: _topic(name, partitions[name], settings[name]) for name in names}

    def topic_names(self) -> list[str]:
        """Names of all topics that this user may see, sorted, without Kafka's internal ones."""
        try:
            known = self._admin.list_topics(timeout=self._timeout_s).topics
        except self._kafka.KafkaException as error:
            raise self._failure("the list of topics", error.args[0].name(), self._reason(error)) from None
        return sorted(name for name in known if not name.startswith("__"))

    def groups(self) -> list[str]:
        """Ids of all consumer groups that this user may see, sorted."""
        future = self._admin.list_consumer_groups(request_timeout=self._timeout_s)
        return sorted(each.group_id for each in self._answer(future, "the list of consumer groups").valid)

    def end_offsets(self, partitions: Sequence[Partition]) -> Int64s:
        """Offset after the last message that every replica has (the high watermark), shape (partitions,)."""
        return self._one(partitions, self._admin_of.OffsetSpec.latest())

    def begin_offsets(self, partitions: Sequence[Partition]) -> Int64s:
        """Offset of the oldest kept message, shape (partitions,)."""
        return self._one(partitions, self._admin_of.OffsetSpec.earliest())

    def committed_offsets(self, group: str, partitions: Sequence[Partition]) -> Int64s:
        """The group's committed offsets (of the next message to read), shape (partitions,); -1 for none."""
        if not partitions:
            return np.empty(0, dtype=np.int64)
        wanted = [self._kafka.TopicPartition(topic, number) for topic, number in partitions]
        of_group = self._kafka.ConsumerGroupTopicPartitions(group, wanted)

        def read() -> Any:
            answers = self._admin.list_consumer_group_offsets([of_group], request_timeout=self._timeout_s)
            return self._outcome_of(answers[group], f"group {group!r}").topic_partitions

        committed = self._settled(read)
        offsets = {(each.topic, each.partition): max(-1, each.offset) for each in committed if each.error is None}
        return np.array([offsets.get(partition, -1) for partition in partitions], dtype=np.int64)

    def offsets_at(self, partitions: Sequence[Partition], moments_ms: Iterable[int]) -> tuple[Int64s, Int64s]:
        """The first message stamped at or after each moment: its offset and its stamp in milliseconds since the epoch.

        Shape (moments, partitions) each; -1 where there is none.
        """
        spec = self._admin_of.OffsetSpec.for_timestamp
        answers = list(self._listed(partitions, (spec(int(moment)) for moment in moments_ms)))
        found = np.array(answers, dtype=np.int64).reshape(len(answers), len(partitions), 2)
        return found[:, :, 0], found[:, :, 1]

    def _one(self, partitions: Sequence[Partition], spec: Any) -> Int64s:
        return np.array([offset for offset, _ in next(self._listed(partitions, [spec]))], dtype=np.int64)

    def _listed(self, partitions: Sequence[Partition], specs: Iterable[Any]) -> Iterator[list[tuple[int, int]]]:
        """Offset and stamp per partition, for each spec in turn. A request may name a partition only once."""
        under_way: deque[tuple[Any, Mapping[Any, Future[Any]]]] = deque()
        wanted = [self._kafka.TopicPartition(topic, number) for topic, number in partitions]
        for spec in specs:
            under_way.append((spec, self._requested(wanted, spec)))
            if len(under_way) >= IN_FLIGHT:
                yield self._offsets(wanted, *under_way.popleft())
        while under_way:
            yield self._offsets(wanted, *under_way.popleft())

    def _requested(self, partitions: Sequence[Any], spec: Any) -> Mapping[Any, Future[Any]]:
        if not partitions:
            return {}
        answers: Mapping[Any, Future[Any]] = self._admin.list_offsets(
            dict.fromkeys(partitions, spec), request_timeout=self._timeout_s
        )
        return answers

    def _offsets(self, wanted: Sequence[Any], spec: Any, futures: Mapping[Any, Future[Any]]) -> list[tuple[int, int]]:
        asked = [futures]  # the first request is under way already
        return self._settled(lambda: self._answered(wanted, asked.pop() if asked else self._requested(wanted, spec)))

    def _settled(self, read: Callable[[], _Read]) -> _Read:
        """What `read` returns; retried within timeout_s while a leader or coordinator is elected or not known yet."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return read()
            except _UnsettledError as unsettled:
                if time.monotonic() > deadline:
                    raise unsettled.error from None
            time.sleep(_PATIENCE_S)

    def _answered(self, wanted: Sequence[Any], futures: Mapping[Any, Future[Any]]) -> list[tuple[int, int]]:
        by_partition = {(key.topic, key.partition): future for key, future in futures.items()}
        answers = (
            self._outcome_of(
                by_partition[key.topic, key.partition], f"partition {key.partition} of topic {key.topic!r}"
            )
            for key in wanted
        )
        return [(int(answer.offset), int(answer.timestamp)) for answer in answers]

    def _answer(self, future: Future[Any], what: str) -> Any:
        """The result, without waiting for a leader or coordinator."""
        try:
            return self._outcome_of(future, what)
        except _UnsettledError as unsettled:
            raise unsettled.error from None

    def _outcome_of(self, future: Future[Any], what: str) -> Any:
        """Raises _UnsettledError if there is no leader or coordinator, a failure for any other error."""
        # The request carries the brokers' limit; this one guards against a library that ignores it.
        deadline = time.monotonic() + self._timeout_s + 0.5
        try:
            while True:
                try:
                    return future.result(_PATIENCE_S)
                except TimeoutError:
                    if self._refused_login() or time.monotonic() > deadline:
                        raise self._failure(what, "_TIMED_OUT", "no answer") from None
        except self._kafka.KafkaException as error:
            raise self._failure(what, error.args[0].name(), self._reason(error)) from None

    def _refused_login(self) -> bool:
        """Whether brokers rejected the login; the client itself would retry until its time is up."""
        self._admin.poll(0)  # delivers background errors
        return any(error.name() == "_AUTHENTICATION" for error in self._background_errors)

    def _failure(self, what: str, code: str, reason: str) -> Exception:
        if self._refused_login():
            remedy = "give the user and password that the brokers know (sasl.username, sasl.password)"
        elif "GROUP_AUTHORIZATION" in code:
            remedy = "let this user Describe the group"
        elif "AUTHORIZATION" in code:
            remedy = "let this user Describe and DescribeConfigs the topic"
        elif code == "UNKNOWN_TOPIC_OR_PART":
            remedy = "create it, or correct its name"
        elif code == "_NOENT" or "LEADER" in code:
            remedy = "try again when every partition has a leader"
        elif "COORDINATOR" in code:
            remedy = "try again when the group has a coordinator"
        else:
            remedy = f"see that the brokers run and are reachable, or allow more than timeout_s={self._timeout_s:g}"
        log_line = f" ({self._background_errors[-1].str()})" if self._background_errors else ""
        message = f"{self._place}: {what} cannot be read: {reason}{log_line}; {remedy}"
        error = self._error(without_secrets(message, self._secrets))
        return _UnsettledError(error) if "LEADER" in code or "COORDINATOR" in code else error

    def _reason(self, error: Exception) -> str:
        detail = error.args[0] if error.args else error
        return without_secrets(detail.str() if hasattr(detail, "str") else str(detail), self._secrets)


class _UnsettledError(Exception):
    """At the moment a partition has no leader or a group no coordinator, or the broker asked is no longer it, or still
    loads what it needs. error: for the caller, once retries end.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _remember(errors: list[Any], error: Any) -> None:
    """Adds the error. Not a method: with a cycle of references to it, a client would be destroyed by whichever thread
    collects garbage, and librdkafka aborts the process where that is a thread of the client's own.
    """
    # "All brokers are down" follows each failed connection and says less.
    if error.name() != "_ALL_BROKERS_DOWN":
        errors.append(error)


def _topic(name: str, partitions: tuple[Partition, ...], settings: Mapping[str, Any]) -> Topic:
    return Topic(
        name,
        partitions,
        TimeType(settings["message.timestamp.type"].value),
        "compact" in settings["cleanup.policy"].value,
        int(settings["min.compaction.lag.ms"].value),
    )


def _silent_logger() -> logging.Logger:
    """librdkafka writes to standard error unless it has a logger; the errors already contain what matters."""
    logger = logging.Logger("librdkafka")
    logger.addHandler(logging.NullHandler())
    return logger
