"""Whether there is a Storm to start. Each one lives for its tests alone: it looks after itself all the time."""

import os

import pytest
from storm_cluster import StormError, storm_jars


@pytest.fixture(scope="session")
def storm_there() -> None:
    """Without a Storm to start, tests are skipped with the reason, but fail where CI=true."""
    try:
        storm_jars()
    except StormError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
