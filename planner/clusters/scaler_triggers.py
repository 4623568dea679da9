"""Derives the arrivals of a workload from its scaler's metrics: topics and groups, or series of Prometheus.

KEDA's triggers `kafka` and `prometheus` are read as documented (2.x); of other triggers and of a
HorizontalPodAutoscaler's metrics only the names are used.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engines.kubernetes.resources import SCALED_OBJECT, ObjectName
from planner.clusters.job_description import CounterFeed, Feed, TopicFeed

_KAFKA = ("kafka", "apache-kafka")
_RATE_OF = re.compile(r"\b(?:rate|irate|increase)\s*\(\s*([A-Za-z_:][A-Za-z0-9_:]*(?:\s*\{[^{}]*\})?)\s*\[")
_OF_WORK = re.compile(r"(_seconds|_bytes)(_sum|_total)?(\{|$)|^container_")
"""Counters of resources used, not of arrivals."""


def scaler_feed(scaler: ObjectName, body: Mapping[str, Any], template: Mapping[str, Any]) -> tuple[Feed | None, str]:
    """The feed that the scaler measures; if it measures no arrivals, None and a remark on what it does measure.

    template: of the pods that it scales, as triggers may refer to their environment variables.
    """
    spec = body.get("spec") or {}
    if scaler.resource != SCALED_OBJECT:
        return None, _of_metrics(scaler, spec.get("metrics") or ())
    triggers = spec.get("triggers") or ()
    environment = _environment(template)
    candidates: list[Feed | None] = [_topic(scaler, trigger, environment) for trigger in triggers]
    candidates += [_counter(scaler, trigger) for trigger in triggers]
    if feeds := [feed for feed in candidates if feed is not None]:
        more = f"{scaler} has {len(triggers)} triggers; the others may bring more." if len(triggers) > 1 else ""
        return feeds[0], more
    names = ", ".join(_shown(trigger) for trigger in triggers) or "no trigger"
    return None, f"{scaler} scales by {names}: forescale finds no count of arrivals in it."


def _topic(scaler: ObjectName, trigger: Mapping[str, Any], environment: Mapping[str, str]) -> TopicFeed | None:
    if trigger.get("type") not in _KAFKA:
        return None
    metadata = trigger.get("metadata") or {}

    def value(key: str) -> str:
        return str(metadata.get(key) or environment.get(str(metadata.get(f"{key}FromEnv")), ""))

    servers, topic = value("bootstrapServers"), value("topic")
    if not (servers and topic):
        return None
    group = value("consumerGroup") or None
    evidence = f"{scaler} scales by topic {topic} of Kafka at {servers}" + (f", read by group {group}" if group else "")
    return TopicFeed(servers, topic, group, evidence, _login(trigger, metadata, "sasl", "tls"))


def _counter(scaler: ObjectName, trigger: Mapping[str, Any]) -> CounterFeed | None:
    if trigger.get("type") != "prometheus":
        return None
    metadata = trigger.get("metadata") or {}
    url, query = str(metadata.get("serverAddress", "")), str(metadata.get("query", ""))
    counters = {selector for selector in _RATE_OF.findall(query) if not _OF_WORK.search(selector)}
    if len(counters) != 1 or not url.startswith(("http://", "https://")) or "@" in url:
        return None
    evidence = f"{scaler} scales by the query {' '.join(query.split())}"
    return CounterFeed(url, counters.pop(), evidence, _login(trigger, metadata, "authModes"))


def _login(trigger: Mapping[str, Any], metadata: Mapping[str, Any], *fields: str) -> str:
    """Signs that the trigger logs in, as written in the object."""
    used = [f"{name}: {metadata[name]}" for name in fields if metadata.get(name) not in (None, "", "none", "disable")]
    reference = (trigger.get("authenticationRef") or {}).get("name")
    return ", ".join([*used, *([f"authenticationRef: {reference}"] if reference else [])])


def _environment(template: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables with a plain value in the template; secrets have none."""
    containers = (template.get("spec") or {}).get("containers") or ()
    named = [each for container in containers for each in container.get("env") or ()]
    return {str(each["name"]): str(each["value"]) for each in named if each.get("value")}


def _shown(trigger: Mapping[str, Any]) -> str:
    """Without its metadata, which may hold secrets; a query is shown."""
    kind, query = str(trigger.get("type")), (trigger.get("metadata") or {}).get("query")
    return f"{kind} ({' '.join(str(query).split())[:120]})" if kind == "prometheus" and query else kind


def _of_metrics(scaler: ObjectName, metrics: Sequence[Mapping[str, Any]]) -> str:
    """A metric is in the field named after its type: `{type: Pods, pods: {metric: {name: …}}}`."""
    names = []
    for metric in metrics:
        kind = str(metric.get("type", ""))
        of = metric.get(kind[:1].lower() + kind[1:]) or {}
        name = of.get("name") or (of.get("metric") or {}).get("name")
        names.append(f"{kind} {name}" if name else kind)
    return f"{scaler} scales by {', '.join(names) or 'no metric'}: arrivals are counted elsewhere."
