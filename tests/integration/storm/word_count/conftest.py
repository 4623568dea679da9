"""One Storm for the tests of this folder: each brings its word count to the plan that it needs."""

from collections.abc import Iterator

import pytest
from storm_cluster import StormCluster, storm_cluster


@pytest.fixture(scope="package")
def word_count(storm_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StormCluster]:
    """The word count of examples/storm on three slots."""
    with storm_cluster(tmp_path_factory.mktemp("word-count"), "word-count", 3) as running:
        yield running
