"""`forescale init --prometheus` against a real server: the counters of what a job's sources gave, and of pods."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus

from forescale.files.arrivals_section import PrometheusEntry
from forescale.jobs.arrival_proposal import arrival_proposal
from forescale.wiring.engines.engine import DescribedJob
from modeling.inputs.topology import Engine, Grouping
from planner.clusters.job_description import DescribedOperator, DescribedStream, JobDescription

pytestmark = [pytest.mark.prometheus, pytest.mark.slow]

NOW = datetime(2024, 3, 3, 12, tzinfo=UTC)
OUT = "flink_taskmanager_job_task_operator_numRecordsOut"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Half an hour of a job whose reporter writes names with underscores, and of another job."""
    require_prometheus()
    folder = tmp_path_factory.mktemp("series")
    samples = [(NOW.timestamp() - 1800 + 15 * number, 30.0 * number) for number in range(121)]
    labels = {
        "orders": 'job_name="shop",operator_name="Source:_orders"',
        "count": 'job_name="shop",operator_name="count"',
        "of another": 'job_name="other",operator_name="Source:_orders"',
    }
    pods = [f'namespace="shop",pod="{pod}"' for pod in ("orders-5d8f9c7b6-x2x4k", "orders-5d8f9c7b6-bbbbb")]
    others = ['namespace="shop",pod="orders-db-0"', 'namespace="test",pod="orders-5d8f9c7b6-x2x4k"']
    of_pods = [(name, label, samples) for name in ("http_requests", "http_client_requests") for label in pods]
    of_pods += [("http_requests", label, samples) for label in others]
    of_pods += [(name, 'namespace="shop",pod="prices-0"', samples) for name in ("a_messages", "b_messages")]
    backfill(folder, openmetrics([*((OUT, label, samples) for label in labels.values()), *of_pods]))
    with prometheus_server(folder) as running:
        yield running


def _job(source: str) -> DescribedJob:
    operators = [DescribedOperator(name, name, 1) for name in (source, "count")]
    streams = [DescribedStream(source, "count", Grouping.FIELDS)]
    return DescribedJob(JobDescription("shop", Engine.FLINK, "here", True, "RUNNING", operators, streams))


def test_a_counter_of_the_source__is_proposed(url: str) -> None:
    proposal = arrival_proposal(_job("orders"), None, url, NOW)
    assert isinstance(proposal.section, PrometheusEntry)
    query = f'{OUT}_total{{job_name="shop",operator_name="Source:_orders"}}'
    assert proposal.section.queries == {"orders": query}
    assert any("1 series" in remark for remark in proposal.remarks)


def test_a_source_without_a_counter__leaves_the_question_open(url: str) -> None:
    proposal = arrival_proposal(_job("clicks"), None, url, NOW)
    assert proposal.section is None
    assert any(
        f"no counter of the output of clicks; of job shop it has {OUT}_total" in each for each in proposal.remarks
    )


def _workloads(*names: str, streams_question: str = "") -> DescribedJob:
    """Pods are named after Deployments with two random parts, after StatefulSets with a number."""
    tails = {"orders": "[a-z0-9]+-[a-z0-9]{5}", "prices": "[0-9]+"}
    series = {name: f'namespace="shop",pod=~"{name}-{tails[name]}"' for name in names}
    operators = [DescribedOperator(name, name, 1) for name in names]
    job = JobDescription("shop", Engine.FLINK, "here", True, "ready", operators, [], series=series)
    return DescribedJob(replace(job, streams_question=streams_question))


def test_the_one_counter_of_what_a_workloads_pods_take_in__is_proposed(url: str) -> None:
    proposal = arrival_proposal(_workloads("orders"), None, url, NOW)
    assert isinstance(proposal.section, PrometheusEntry)
    query = 'http_requests_total{namespace="shop",pod=~"orders-[a-z0-9]+-[a-z0-9]{5}"}'
    assert proposal.section.queries == {"orders": query}
    assert any(f"has 2 series {query}" in remark for remark in proposal.remarks)
    assert "does this count all that is offered" in proposal.question


def test_several_counters_of_a_workloads_pods__are_named_and_left_to_choose_from(url: str) -> None:
    proposal = arrival_proposal(_workloads("orders", "prices"), None, url, NOW)
    assert proposal.section is None
    assert any("prices: no single counter of its pods counts all arrivals" in remark for remark in proposal.remarks)
    assert any("has a_messages_total, b_messages_total" in remark for remark in proposal.remarks)


def test_counters_of_some_workloads__are_proposed_while_nobody_knows_which_are_sources(url: str) -> None:
    proposal = arrival_proposal(_workloads("orders", "prices", streams_question="which reads which?"), None, url, NOW)
    assert isinstance(proposal.section, PrometheusEntry)
    assert list(proposal.section.queries) == ["orders"]
    assert any("prices: no single counter of its pods counts all arrivals" in remark for remark in proposal.remarks)
    assert proposal.question.startswith("keep the counters of sources alone; does this count all that is offered")
