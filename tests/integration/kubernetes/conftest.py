"""One real API server of Kubernetes for all tests of this folder."""

import os
from collections.abc import Iterator

import pytest
from kubernetes_objects import CUSTOM_RESOURCES
from kubernetes_server import KubernetesError, LocalKubernetes, kubernetes_programs, local_kubernetes


@pytest.fixture(scope="package")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKubernetes]:
    """Without an API server to start, tests are skipped with the reason, but fail where CI=true."""
    try:
        kubernetes_programs()
    except KubernetesError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with local_kubernetes(tmp_path_factory.mktemp("kubernetes")) as running:
        running.create(*CUSTOM_RESOURCES)
        yield running
