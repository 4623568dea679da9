"""One real Storm for all tests of this folder, and no longer: it looks after itself so often that it slows others."""

import os
from collections.abc import Iterator

import pytest
from storm_cluster import StormCluster, StormError, storm_cluster, storm_jars


@pytest.fixture(scope="session")
def storm_there() -> None:
    """Without a Storm to start, tests are skipped with the reason, but fail where CI=true."""
    try:
        storm_jars()
    except StormError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="package")
def storm(storm_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StormCluster]:
    with storm_cluster(tmp_path_factory.mktemp("storm")) as running:
        yield running
