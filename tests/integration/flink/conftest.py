"""One real Flink cluster, with one running word count, for all tests of this folder; another for group flink-2."""

import os
from collections.abc import Iterator

import pytest
from kubernetes_objects import CUSTOM_RESOURCES
from kubernetes_server import LocalKubernetes, local_kubernetes, require_kubernetes

from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import FlinkDistribution, flink_distribution
from forescale.local.flink.java import find_java
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from planner.clusters.flink import FlinkCluster

SLOTS = 16  # Flink keeps the slots that a job no longer needs for a minute: those of three jobs are free
JOB = WordCount(name="word-count-under-test")
IDLE_PER_S = 2.0
"""What the job gets while no test looks at it: 100 a second cost an eighth of a core, and the tests take long."""


@pytest.fixture(scope="package")
def distribution() -> FlinkDistribution:
    """Flink's jars. Without them, or without Java, tests are skipped with the reason, but fail where CI=true."""
    try:
        find_java()
        return flink_distribution()
    except LocalFlinkError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="package")
def flink(tmp_path_factory: pytest.TempPathFactory, distribution: FlinkDistribution) -> Iterator[LocalFlink]:
    with local_flink(tmp_path_factory.mktemp("flink"), slots=SLOTS, distribution=distribution, within_s=240) as running:
        yield running


@pytest.fixture(scope="package")
def started_word_count(flink: LocalFlink) -> RunningWordCount:
    return JOB.start(flink, IDLE_PER_S)


@pytest.fixture
def word_count(started_word_count: RunningWordCount) -> Iterator[RunningWordCount]:
    """Gets 100 sentences a second during the test."""
    started_word_count.offer(100)
    yield started_word_count
    started_word_count.offer(IDLE_PER_S)


@pytest.fixture
def cluster(flink: LocalFlink, word_count: RunningWordCount) -> FlinkCluster:
    return FlinkCluster(flink.url, JOB.name, JOB.topology, warm_s=3.0, timeout_s=60)


@pytest.fixture(scope="package")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKubernetes]:
    """For the FlinkDeployment whose job runs on this Flink."""
    require_kubernetes()
    with local_kubernetes(tmp_path_factory.mktemp("kubernetes")) as running:
        running.create(*CUSTOM_RESOURCES)
        yield running
