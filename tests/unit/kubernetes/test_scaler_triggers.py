"""What triggers of KEDA and metrics of autoscalers tell of what comes to a workload."""

from typing import Any

import pytest

from engines.kubernetes.resources import AUTOSCALER, SCALED_OBJECT, ObjectName
from planner.clusters.job_description import CounterFeed, TopicFeed
from planner.clusters.scaler_triggers import scaler_feed

KEDA, HPA = ObjectName(SCALED_OBJECT, "orders"), ObjectName(AUTOSCALER, "orders")
KAFKA = {"bootstrapServers": "kafka:9092", "consumerGroup": "billing", "topic": "orders", "lagThreshold": "5"}
PROMETHEUS = {"serverAddress": "http://prometheus:9090", "threshold": "50"}


def _keda(*triggers: dict[str, Any], template: dict[str, Any] | None = None) -> tuple[Any, str]:
    return scaler_feed(KEDA, {"spec": {"triggers": list(triggers)}}, template or {})


@pytest.mark.parametrize("kind", ["kafka", "apache-kafka"])
def test_a_kafka_trigger__tells_servers_topic_and_group(kind: str) -> None:
    evidence = "scaledobject/orders scales by topic orders of Kafka at kafka:9092, read by group billing"
    assert _keda({"type": kind, "metadata": KAFKA}) == (TopicFeed("kafka:9092", "orders", "billing", evidence), "")


def test_a_kafka_trigger__may_name_variables_of_the_pods() -> None:
    """A variable that a secret holds is not in the template, and nobody reads it."""
    metadata = {"bootstrapServersFromEnv": "BROKERS", "topicFromEnv": "TOPIC", "consumerGroupFromEnv": "GROUP"}
    environment = [
        {"name": "BROKERS", "value": "kafka:9092"},
        {"name": "TOPIC", "value": "orders"},
        {"name": "GROUP", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    template = {"spec": {"containers": [{"name": "main", "env": environment}]}}
    feed, _ = _keda({"type": "kafka", "metadata": metadata}, template=template)
    assert (feed.servers, feed.topic, feed.group) == ("kafka:9092", "orders", None)
    feed, remark = _keda({"type": "kafka", "metadata": metadata})
    assert (feed, remark) == (
        None,
        "scaledobject/orders scales by kafka: forescale finds no count of arrivals in it.",
    )


def test_a_trigger__that_logs_in_says_with_what_and_no_secret() -> None:
    metadata = {**KAFKA, "sasl": "scram_sha512", "tls": "enable", "password": "hunter2"}
    feed, _ = _keda({"type": "kafka", "metadata": metadata, "authenticationRef": {"name": "brokers"}})
    assert feed.login == "sasl: scram_sha512, tls: enable, authenticationRef: brokers"
    assert "hunter2" not in repr(feed)
    feed, _ = _keda({"type": "kafka", "metadata": {**KAFKA, "sasl": "none", "tls": "disable"}})
    assert feed.login == ""


@pytest.mark.parametrize(
    ("query", "selector"),
    [
        ('sum(rate(http_requests_total{app="orders"}[2m]))', 'http_requests_total{app="orders"}'),
        ("sum(increase(orders_total [5m])) / 300", "orders_total"),
        ('rate(a_total{x="1"}[1m]) + rate(a_total{x="1"}[5m])', 'a_total{x="1"}'),
        ('rate(a_total{x="1"}[1m]) + rate(b_total[5m])', None),
        ("sum(kafka_consumergroup_lag)", None),
        ('rate(container_cpu_usage_seconds_total{pod=~"orders.*"}[2m])', None),
        ('rate(http_request_duration_seconds_count{app="o"}[2m])', 'http_request_duration_seconds_count{app="o"}'),
        ('rate(http_request_duration_seconds_sum{app="o"}[2m])', None),
    ],
)
def test_a_prometheus_trigger__tells_the_one_counter_whose_rate_it_watches(query: str, selector: str | None) -> None:
    feed, remark = _keda({"type": "prometheus", "metadata": {**PROMETHEUS, "query": query}})
    assert (feed and feed.selector) == selector
    if selector is None:
        assert query in remark
    else:
        assert feed == CounterFeed(
            "http://prometheus:9090", selector, f"scaledobject/orders scales by the query {query}"
        )


def test_a_prometheus_trigger__whose_address_holds_a_login_is_not_taken() -> None:
    metadata = {**PROMETHEUS, "serverAddress": "http://me:hunter2@prometheus:9090", "query": "rate(a_total[1m])"}
    feed, remark = _keda({"type": "prometheus", "metadata": metadata})
    assert feed is None
    assert "hunter2" not in remark


def test_topics__come_before_counters_and_the_other_triggers_are_told_of() -> None:
    counter = {"type": "prometheus", "metadata": {**PROMETHEUS, "query": "rate(a_total[1m])"}}
    feed, remark = _keda({"type": "cpu"}, counter, {"type": "kafka", "metadata": KAFKA})
    assert isinstance(feed, TopicFeed)
    assert remark == "scaledobject/orders has 3 triggers; the others may bring more."


def test_metrics__of_an_autoscaler_are_named() -> None:
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu"}},
        {"type": "Pods", "pods": {"metric": {"name": "requests_per_second"}}},
        {"type": "External", "external": {"metric": {"name": "queue_length"}}},
    ]
    assert scaler_feed(HPA, {"spec": {"metrics": metrics}}, {}) == (
        None,
        "hpa/orders scales by Resource cpu, Pods requests_per_second, External queue_length: arrivals are counted "
        "elsewhere.",
    )
