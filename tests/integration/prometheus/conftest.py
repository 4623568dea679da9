"""One real Prometheus with a day of history, for all tests of this folder."""

from collections.abc import Iterator

import pytest
from prometheus_history import HISTORY
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus


@pytest.fixture(scope="package")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the server."""
    require_prometheus()
    folder = tmp_path_factory.mktemp("prometheus")
    backfill(folder, openmetrics(HISTORY))
    with prometheus_server(folder) as url:
        yield url
