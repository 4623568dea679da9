"""`forescale init --kafka` against a real broker: the topics that a job's metrics name, and who reads them."""

import uuid
from datetime import UTC, datetime

import pytest
from kafka_messages import Messages

from forescale.files.arrivals_section import KafkaEntry
from forescale.jobs.arrival_proposal import arrival_proposal
from forescale.wiring.engines.engine import DescribedJob
from modeling.inputs.topology import Engine, Grouping
from planner.clusters.job_description import DescribedOperator, DescribedStream, JobDescription

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

NOW = datetime.now(UTC)


def _job(*topics: str) -> DescribedJob:
    """orders → count; its source names topics as Flink's metrics do."""
    operators = [DescribedOperator(name, name, 1) for name in ("orders", "count")]
    streams = [DescribedStream("orders", "count", Grouping.FIELDS)]
    named = {"orders": topics} if topics else {}
    return DescribedJob(JobDescription("shop", Engine.FLINK, "here", True, "RUNNING", operators, streams, topics=named))


def test_a_topic_that_the_metrics_name__is_proposed_with_the_group_that_reads_it(messages: Messages) -> None:
    topic, group = messages.topic(partitions=2), f"readers-{uuid.uuid4().hex[:8]}"
    messages.send(topic, [NOW])
    messages.commit(group, topic, 1, 0)
    proposal = arrival_proposal(_job(topic), messages.broker.servers, None, NOW)
    assert isinstance(proposal.section, KafkaEntry)
    assert (proposal.section.topics, proposal.section.group) == ({"orders": topic}, group)
    assert any(f"by its metrics it reads topic {topic}" in remark for remark in proposal.remarks)
    assert proposal.question == ""


def test_two_groups_that_read_it__are_named_and_left_to_choose_from(messages: Messages) -> None:
    topic = messages.topic()
    messages.send(topic, [NOW])
    groups = sorted(f"{name}-{uuid.uuid4().hex[:8]}" for name in ("job", "tool"))
    for group in groups:
        messages.commit(group, topic, 1)
    proposal = arrival_proposal(_job(topic), messages.broker.servers, None, NOW)
    assert isinstance(proposal.section, KafkaEntry)
    assert proposal.section.group is None
    assert any(f"Several consumer groups read them: {', '.join(groups)}" in remark for remark in proposal.remarks)


def test_a_job_whose_metrics_name_no_topic__leaves_the_question_open(messages: Messages) -> None:
    topic = messages.topic()
    proposal = arrival_proposal(_job(), messages.broker.servers, None, NOW)
    assert proposal.section is None
    assert "where are the arrivals at the sources counted" in proposal.question
    assert any("none of them is named by the metrics of orders" in remark for remark in proposal.remarks)
    assert topic
