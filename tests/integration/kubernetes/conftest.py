"""One real API server of Kubernetes for all tests of this folder."""

from collections.abc import Iterator

import pytest
from kubernetes_objects import CUSTOM_RESOURCES
from kubernetes_server import LocalKubernetes, local_kubernetes, require_kubernetes


@pytest.fixture(scope="package")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKubernetes]:
    require_kubernetes()
    with local_kubernetes(tmp_path_factory.mktemp("kubernetes")) as running:
        running.create(*CUSTOM_RESOURCES)
        yield running
