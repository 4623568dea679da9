"""A proposed section `arrivals` from autoscalers' triggers: topics with their group, or counters."""

from collections.abc import Mapping, Sequence

from forescale.files.arrivals_section import KafkaEntry, PrometheusEntry
from forescale.files.topology_draft import DraftSection
from planner.clusters.job_description import CounterFeed, JobDescription, TopicFeed

TAKEN_IN = "What a job took in equals what was offered only while nothing held it back: held_back says when it was."
OFFERED_QUESTION = (
    "does this count all that is offered, each event once? Then add measures: offered; else held_back, an expression "
    "above 0 while something holds it back. Until then all of it counts as held back, and is not forecast from"
)


def feed_proposal(job: JobDescription) -> DraftSection | None:
    """None if no scaler of a source watches its arrivals. Sources fed in another way are an open question."""
    feeds = {name: job.feeds[name] for name in job.fed if name in job.feeds}
    topics = {name: feed for name, feed in feeds.items() if isinstance(feed, TopicFeed)}
    if servers := list(dict.fromkeys(feed.servers for feed in topics.values())):
        return _by_topics(job, {name: feed for name, feed in topics.items() if feed.servers == servers[0]})
    counters = {name: feed for name, feed in feeds.items() if isinstance(feed, CounterFeed)}
    if urls := list(dict.fromkeys(feed.url for feed in counters.values())):
        return _by_counters(job, {name: feed for name, feed in counters.items() if feed.url == urls[0]})
    return None


def _by_topics(job: JobDescription, feeds: Mapping[str, TopicFeed]) -> DraftSection:
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
    return DraftSection(KafkaEntry.model_validate(fields), remarks, _question(job, feeds, asked if logins else []))


def _by_counters(job: JobDescription, feeds: Mapping[str, CounterFeed]) -> DraftSection:
    remarks = [f"{name}: {feed.evidence}." for name, feed in feeds.items()]
    remarks.append(TAKEN_IN)
    queries = {name: feed.selector for name, feed in feeds.items()}
    url = next(iter(feeds.values())).url
    asked = [OFFERED_QUESTION + "."]
    if logins := {feed.login for feed in feeds.values() if feed.login}:
        asked.append(f"How does one log in (the scaler: {', '.join(logins)})? Give token_env, headers_env or ca_file")
    entry = PrometheusEntry.model_validate({"kind": "prometheus", "url": url, "queries": queries})
    return DraftSection(entry, remarks, _question(job, feeds, asked))


def _question(job: JobDescription, feeds: Mapping[str, object], questions: Sequence[str]) -> str:
    lacking = [name for name in job.fed if name not in feeds]
    more = [f"where are the arrivals at {', '.join(lacking)} counted?"] if lacking else []
    return " ".join([*questions, *more])
