"""A proposed section `arrivals` for a job without a topology file, with the evidence."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from forescale.files.arrivals_section import KafkaEntry, PrometheusEntry
from forescale.files.topology_draft import DraftSection
from forescale.wiring.engines.engine import DescribedJob
from planner.clusters.job_description import CounterFeed, JobDescription, TopicFeed
from planner.errors import ClusterError

if TYPE_CHECKING:
    from engines.kafka.client import KafkaClient
    from engines.prometheus.server import PrometheusServer

TIMEOUT_S = 15.0
SHOWN = 10
"""Number of topic or series names shown."""
_LOOKED_BACK = timedelta(hours=1)
_MAX_SERIES = 2000
_EMITTED = re.compile(r"numRecordsOut(_total)?$")

_MAX_POD_SERIES = 2000
_OF_WHAT_COMES = re.compile(r"request|message|record|event|consumed|received")
_OF_SOMETHING_ELSE = re.compile(r"client|sent|produce|error|fail|retr|reject|drop|_bytes|gc_|log4j|logback")

TAKEN_IN = "What a job took in equals what was offered only while nothing held it back: held_back says when it was."
OFFERED_QUESTION = (
    "does this count all that is offered, each event once? Then add measures: offered; else held_back, an expression "
    "above 0 while something holds it back. Until then all of it counts as held back, and is not forecast from"
)


def arrival_proposal(described: DescribedJob, kafka: str | None, prometheus: str | None, now: datetime) -> DraftSection:
    """The section `arrivals`, or an open question. kafka: servers; prometheus: an address.

    Topics, which count offered load, come before counters, which count what the job took in. Raises ClusterError if a
    named server does not answer.
    """
    job, remarks = described.job, list(described.job.feed_remarks)
    by_topics = None if kafka is None else _by_topics(job, kafka, remarks)
    by_series = None if prometheus is None else _by_series(job, prometheus, now, remarks)
    if by_topics is not None:
        return DraftSection(by_topics, remarks)
    if by_series is not None:
        remarks.append(TAKEN_IN)
        kept = "keep the counters of sources alone; " if job.streams_question else ""
        return DraftSection(by_series, remarks, "" if by_series.held_back else kept + OFFERED_QUESTION)
    if by_feeds := feed_proposal(job):
        return DraftSection(by_feeds.section, [*remarks, *by_feeds.remarks], by_feeds.question)
    if described.arrivals is not None:
        return DraftSection(described.arrivals, [*remarks, described.arrivals_evidence])
    named = "; ".join(f"{source} reads {_listed(topics)}" for source, topics in job.topics.items())
    if named and kafka is None:
        remarks.append(
            f"By the {job.topics_by} of its sources: {named}. `forescale init --kafka SERVERS` looks at them."
        )
    if job.series and prometheus is None:
        remarks.append("`forescale init --prometheus URL` looks for counters of its pods.")
    question = "where are the arrivals at the sources counted? Without this section nothing can be forecast"
    return DraftSection(None, remarks, question, _example(job))


def topic_partitions(arrivals: KafkaEntry) -> dict[str, int]:
    """Partitions of each source's topics. Raises ClusterError if the brokers do not answer or lack a topic."""
    from engines.kafka.client import KafkaClient

    named = {source: [names] if isinstance(names, str) else names for source, names in arrivals.topics.items()}
    client = KafkaClient(arrivals.servers, {}, TIMEOUT_S, f"Kafka at {arrivals.servers}", ClusterError)
    topics = client.topics({name for names in named.values() for name in names})
    return {source: sum(len(topics[name].partitions) for name in names) for source, names in named.items()}


def _example(job: JobDescription) -> list[str]:
    topics = {source: job.topics.get(source, ["TOPIC"])[0] for source in job.fed}
    return [
        "arrivals: # or kind: events, prometheus; see docs/history.md",
        "  kind: kafka",
        "  servers: HOST:9092",
        f"  topics: {{{', '.join(f'{source}: {topic}' for source, topic in topics.items())}}}",
    ]


def _by_topics(job: JobDescription, servers: str, remarks: list[str]) -> KafkaEntry | None:
    """The topics that the sources' metrics name, if the brokers know some for every source."""
    from engines.kafka.client import KafkaClient

    place = f"Kafka at {servers}"
    client = KafkaClient(servers, {}, TIMEOUT_S, place, ClusterError)
    known = client.topic_names()
    topics = {
        source: [name for name in known if _in_metrics(name) in map(_in_metrics, job.topics.get(source, ()))]
        for source in job.fed
    }
    if lacking := [source for source, names in topics.items() if not names]:
        remarks.append(
            f"{place} has the topics {_listed(known)}; none of them is named by the {job.topics_by} of "
            f"{', '.join(lacking)}."
        )
        return None
    remarks += [
        f"{source}: by its {job.topics_by} it reads topic {_listed(names)}, which {place} has."
        for source, names in topics.items()
    ]
    group = _group(client, topics, remarks)
    fields = {source: names[0] if len(names) == 1 else names for source, names in topics.items()}
    named = {} if group is None else {"group": group}
    return KafkaEntry.model_validate({"kind": "kafka", "servers": servers, "topics": fields, **named})


def _group(client: "KafkaClient", topics: Mapping[str, Sequence[str]], remarks: list[str]) -> str | None:
    """The only consumer group that has read all of the topics."""
    described = client.topics({name for names in topics.values() for name in names})
    partitions = [partition for topic in described.values() for partition in topic.partitions]
    groups = [each for each in client.groups() if (client.committed_offsets(each, partitions) >= 0).any()]
    if len(groups) == 1:
        remarks.append(
            f"Only consumer group {groups[0]} has committed offsets of them: its unread messages are the backlog."
        )
        return groups[0]
    if groups:
        remarks.append(f"Several consumer groups read them: {_listed(groups)}; name the job's as group: …")
    else:
        remarks.append("No consumer group has committed offsets of them; name the job's as group: … when it does.")
    return None


def _by_series(job: JobDescription, url: str, now: datetime, remarks: list[str]) -> PrometheusEntry | None:
    """Counters of the sources' output, as Flink's reporter names them, if every source has one."""
    from engines.prometheus.server import PrometheusServer

    server = PrometheusServer(url, ClusterError, timeout_s=TIMEOUT_S)
    end_ms = int(now.timestamp() * 1000)
    begin_ms = end_ms - int(_LOOKED_BACK.total_seconds() * 1000)
    if job.series:
        counters = workload_counters(server, job, begin_ms, end_ms, remarks)
        # While streams are open every operator may be a source: what counts the true ones is among these.
        complete = bool(counters) and (bool(job.streams_question) or set(counters) >= set(job.fed))
        fields = {"kind": "prometheus", "url": url, "queries": counters}
        return PrometheusEntry.model_validate(fields) if complete else None
    found = server.series([f'{{job_name="{_quoted(job.name)}"}}'], begin_ms, end_ms, limit=_MAX_SERIES)
    queries: dict[str, str] = {}
    for source in job.sources:
        fits = [labels for labels in found if _is_of(labels, source)]
        pairs = {(labels["__name__"], labels["operator_name"]) for labels in fits}
        if len(pairs) == 1:
            name, operator = pairs.pop()
            queries[source] = f'{name}{{job_name="{_quoted(job.name)}",operator_name="{_quoted(operator)}"}}'
            remarks.append(f"{source}: {server.place} has {len(fits)} series {queries[source]}.")
    if lacking := [source for source in job.sources if source not in queries]:
        names = sorted({labels.get("__name__", "") for labels in found})
        remarks.append(
            f"{server.place} has no counter of the output of {', '.join(lacking)}; of job {job.name} it has "
            f"{_listed(names)}."
        )
        return None
    pressure = sorted(
        {n for n in (labels.get("__name__", "") for labels in found) if n.endswith("_backPressuredTimeMsPerSecond")}
    )
    held = f'max({pressure[0]}{{job_name="{_quoted(job.name)}"}}) > bool 100' if pressure else None
    told = {} if held is None else {"held_back": held}
    return PrometheusEntry.model_validate({"kind": "prometheus", "url": url, "queries": queries, **told})


def _is_of(labels: Mapping[str, str], source: str) -> bool:
    """Whether a series counts the output of a source. Reporters write `Source: name` with underscores."""
    operator = re.sub(r"\W+", "_", labels.get("operator_name", "")).removeprefix("Source_")
    emitted = _EMITTED.search(labels.get("__name__", "")) is not None
    return emitted and operator.strip("_") == re.sub(r"\W+", "_", source).strip("_")


def _in_metrics(topic: str) -> str:
    """The topic as it appears in names of Flink's metrics."""
    return re.sub(r"[ .:,]", "_", topic)


def _quoted(value: str) -> str:
    """Escaped for a quoted PromQL string."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "none") + more


def workload_counters(
    server: "PrometheusServer", job: JobDescription, begin_ms: int, end_ms: int, remarks: list[str]
) -> dict[str, str]:
    """Per source the selector of the only counter that fits; adds the evidence and other findings to remarks."""
    selectors: dict[str, str] = {}
    for source in job.fed:
        labels = job.series[source]
        asked = f'{{{labels},__name__=~".+_(total|count)"}}'
        found = server.series([asked], begin_ms, end_ms, limit=_MAX_POD_SERIES)
        names = sorted({each.get("__name__", "") for each in found})
        if (name := _only([each for each in names if _fits(each)])) is None:
            several = ", ".join(each for each in names if _fits(each)) or ", ".join(names[:10]) or "none"
            remarks.append(
                f"{source}: no single counter of its pods counts all arrivals; {server.place} has {several}."
            )
            continue
        count = sum(each.get("__name__") == name for each in found)
        selectors[source] = f"{name}{{{labels}}}"
        remarks.append(f"{source}: {server.place} has {count} series {selectors[source]}.")
    return selectors


def _fits(name: str) -> bool:
    return bool(_OF_WHAT_COMES.search(name)) and not _OF_SOMETHING_ELSE.search(name)


def _only(names: Sequence[str]) -> str | None:
    """The only name; a plain counter is preferred to the count of a histogram."""
    plain = [name for name in names if name.endswith("_total")]
    return plain[0] if len(plain) == 1 else names[0] if len(names) == 1 else None


def feed_proposal(job: JobDescription) -> DraftSection | None:
    """None if no scaler of a source watches its arrivals. Sources fed in another way are an open question."""
    feeds = {name: job.feeds[name] for name in job.fed if name in job.feeds}
    topics = {name: feed for name, feed in feeds.items() if isinstance(feed, TopicFeed)}
    if servers := list(dict.fromkeys(feed.servers for feed in topics.values())):
        return _fed_by_topics(job, {name: feed for name, feed in topics.items() if feed.servers == servers[0]})
    counters = {name: feed for name, feed in feeds.items() if isinstance(feed, CounterFeed)}
    if urls := list(dict.fromkeys(feed.url for feed in counters.values())):
        return _fed_by_counters(job, {name: feed for name, feed in counters.items() if feed.url == urls[0]})
    return None


def _fed_by_topics(job: JobDescription, feeds: Mapping[str, TopicFeed]) -> DraftSection:
    remarks = [f"{name}: {feed.evidence}." for name, feed in feeds.items()]
    groups = {feed.group for feed in feeds.values()}
    named = {}
    if len(groups) == 1 and (group := groups.pop()) is not None:
        named = {"group": group}
    elif len(groups) > 1:
        remarks.append("Each is read by another group, and only one can be named: the backlog stays unknown.")
    fields = {
        "kind": "kafka",
        "servers": next(iter(feeds.values())).servers,
        "topics": {name: feed.topic for name, feed in feeds.items()},
        **named,
    }
    logins = {feed.login for feed in feeds.values() if feed.login}
    asked = [f"how does one log in to Kafka (the scaler: {', '.join(logins)})? Give settings and password_env"]
    return DraftSection(KafkaEntry.model_validate(fields), remarks, _feed_question(job, feeds, asked if logins else []))


def _fed_by_counters(job: JobDescription, feeds: Mapping[str, CounterFeed]) -> DraftSection:
    remarks = [f"{name}: {feed.evidence}." for name, feed in feeds.items()]
    remarks.append(TAKEN_IN)
    queries = {name: feed.selector for name, feed in feeds.items()}
    url = next(iter(feeds.values())).url
    asked = [OFFERED_QUESTION + "."]
    if logins := {feed.login for feed in feeds.values() if feed.login}:
        asked.append(f"How does one log in (the scaler: {', '.join(logins)})? Give token_env, headers_env or ca_file")
    entry = PrometheusEntry.model_validate({"kind": "prometheus", "url": url, "queries": queries})
    return DraftSection(entry, remarks, _feed_question(job, feeds, asked))


def _feed_question(job: JobDescription, feeds: Mapping[str, object], questions: Sequence[str]) -> str:
    lacking = [name for name in job.fed if name not in feeds]
    more = [f"where are the arrivals at {', '.join(lacking)} counted?"] if lacking else []
    return " ".join([*questions, *more])
