"""`forescale init --prometheus` against a real server: the counters of what a job's sources gave."""

from collections.abc import Iterator
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
    backfill(folder, openmetrics([(OUT, label, samples) for label in labels.values()]))
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
    assert any(f"no counter of what clicks gave; of job shop it has {OUT}_total" in each for each in proposal.remarks)
