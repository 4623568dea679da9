"""One real Spark cluster on loopback for all tests of this folder."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from spark_cluster import SparkCluster, SparkClusterError, java, spark_cluster

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Without Java to start it, tests are skipped with the reason, but fail where CI=true."""
    try:
        java()
    except SparkClusterError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with spark_cluster(tmp_path_factory.mktemp("spark")) as running:
        yield running
