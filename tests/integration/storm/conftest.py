"""Real Storms for the tests of this folder, and no longer: they look after themselves so often that others are slow."""

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


@pytest.fixture(scope="module")
def word_count(storm_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StormCluster]:
    """The word count of examples/storm on three slots; of each module its own, as they rescale it."""
    with storm_cluster(tmp_path_factory.mktemp("word-count"), "word-count", 3) as running:
        yield running
