"""What docs/quick-start.md tells, from init to a verified deployment, on a real API server and Prometheus."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kubernetes_controllers import Controllers
from kubernetes_objects import deployment, namespace, stateful_set
from kubernetes_server import LocalKubernetes
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus
from tutorial import COMMANDS, blocks, run_tutorial

from engines.kubernetes.resources import DEPLOYMENT, STATEFUL_SET

pytestmark = [pytest.mark.kubernetes, pytest.mark.prometheus, pytest.mark.slow, pytest.mark.timeout(600)]

SECTION = "Services on Kubernetes"
NAMESPACE = "tutorial"
DAYS, SCRAPE_S, REQUESTS_PER_S = 3, 15, 2


@pytest.fixture
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Days of what the pod of `orders` took in, scraped until now."""
    require_prometheus()
    folder = tmp_path_factory.mktemp("scraped")
    scrapes = DAYS * 86400 // SCRAPE_S
    counts = np.random.default_rng(1).poisson(REQUESTS_PER_S * SCRAPE_S, scrapes).cumsum()
    at = time.time() - SCRAPE_S * np.arange(scrapes)[::-1]
    labels = f'namespace="{NAMESPACE}",pod="orders-5d8f9c7b6-x2x4k"'
    backfill(folder, openmetrics([("http_requests", labels, zip(at.tolist(), counts.tolist(), strict=True))]))
    with prometheus_server(folder) as running:
        yield running


def test_tutorial__goes_from_services_that_nobody_described_to_a_verified_deployment(
    kubernetes: LocalKubernetes, prometheus: str, tmp_path: Path
) -> None:
    kubernetes.create(namespace(NAMESPACE))
    made = [deployment("orders"), stateful_set("prices"), deployment("of-somebody-else")]
    for body in made[:2]:
        body["metadata"]["labels"] = {"app": "shop"}
    kubernetes.create(*made, namespace=NAMESPACE)
    assert len(COMMANDS.findall("\n".join(blocks(SECTION)))) == 5
    environment = {"NAMESPACE": NAMESPACE, "PROMETHEUS": prometheus}
    environment["KUBECONFIG"] = str(kubernetes.kubeconfig("admin"))
    with Controllers(kubernetes, NAMESPACE, (DEPLOYMENT, STATEFUL_SET)).running():
        told = run_tutorial(SECTION, tmp_path, environment)
    assert "verified" in told
    server = kubernetes.server(NAMESPACE)
    # 2 requests a second of 1.2 s keep 2.4 replicas busy.
    assert server.get(STATEFUL_SET, "prices").body["status"]["readyReplicas"] == 3
    assert server.get(DEPLOYMENT, "of-somebody-else").body["spec"]["replicas"] == 1
