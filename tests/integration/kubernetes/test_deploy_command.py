"""From a topology file to a verified deployment on a real API server, by the commands that people use."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_controllers import Controllers
from kubernetes_objects import deployment, namespace, stateful_set
from kubernetes_server import LocalKubernetes

from engines.kubernetes.resources import DEPLOYMENT, STATEFUL_SET
from forescale.cli.main import main
from forescale.settings import PROJECT

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

NAMESPACE = "commands"


@pytest.fixture
def shop(kubernetes: LocalKubernetes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example's topology, in a namespace of its own."""
    body = yaml.safe_load((PROJECT / "examples" / "kubernetes" / "shop.yaml").read_text(encoding="utf-8"))
    body["planning"] |= {"hold_s": 0.2, "deploy_timeout_s": 120}
    kubeconfig = str(kubernetes.kubeconfig("admin"))
    body["cluster"] |= {"namespace": NAMESPACE, "kubeconfig": kubeconfig, "take_over": ["OpenAPI-Generator"]}
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path))
    return "shop"


def test_deploy__of_a_topology_file_runs_is_verified_and_listed(
    kubernetes: LocalKubernetes, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kubernetes.create(namespace(NAMESPACE))
    made = (deployment("orders", 1), stateful_set("prices", 1), deployment("bills", 1))
    kubernetes.create(*made, namespace=NAMESPACE)
    with Controllers(kubernetes, NAMESPACE, (DEPLOYMENT, STATEFUL_SET)).running():
        asked = _json(capsys, "deploy", "now", shop, "--set", "orders=3", "--set", "prices=2")
    assert asked["state"] == "verified"
    assert asked["detail"].startswith("in place at ")
    steps = _json(capsys, "plan", "list", shop)["steps"]
    assert [(step["state"], step["parallelism"]) for step in steps] == [
        ("verified", {"orders": 3, "prices": 2, "bills": 1})
    ]


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--json"])
    printed = capsys.readouterr()
    assert ended.value.code in (0, None), printed.err + printed.out
    return json.loads(printed.out)
