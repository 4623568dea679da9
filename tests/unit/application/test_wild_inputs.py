"""Thousands of inputs as they come in the wild: no internal error, no hang, nothing absurd taken, no secret shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from wild_inputs import NAME, Wild, server_inputs, trial, wild_inputs

from forescale.files.topology import topology_of_text
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of

SEED, MOST = 29, 2000
"""Of the inputs to readers; `python tests/unit/application/test_wild_inputs.py` tries all."""

ON_AN_ENGINE = """
topology: pair
operators: {read: {service_s: 0.0001}, count: {service_s: 0.1}}
streams: [{from: read, to: count}]
cluster: CLUSTER
"""
CLUSTERS = {
    "flink": "{kind: flink, url: URL, job: pair, timeout_s: 5}",
    "storm": "{kind: storm, url: URL, timeout_s: 5}",
    "heron": "{kind: heron, url: URL, cluster: c, environ: e, timeout_s: 5}",
    "kubernetes": "{kind: kubernetes, namespace: n, kubeconfig: FILE, operators: {read: deployment/r, "
    "count: deployment/c}}",
    "flink-operator": "{kind: flink-operator, url: URL, namespace: n, deployment: pair, kubeconfig: FILE}",
}


def state_of(cluster: str) -> Callable[[str, Path], Any]:
    def ask(url: str, folder: Path) -> Any:
        text = ON_AN_ENGINE.replace(
            "CLUSTER", cluster.replace("URL", f'"{url}"').replace("FILE", kubeconfig(url, folder))
        )
        settings = Settings(home=folder / "home", topologies=folder)
        return cluster_of(topology_of_text(text, folder / f"{NAME}.yaml"), settings, clock_of(settings)).state()

    return ask


def kubeconfig(url: str, folder: Path) -> str:
    access = {"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}
    access |= {"clusters": [{"name": "a", "cluster": {"server": url}}], "users": [{"name": "a", "user": {}}]}
    (folder / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **access}))
    return str(folder / "kubeconfig")


def faults(inputs: list[Wild], folder: Path) -> list[str]:
    verdicts = [(wild, trial(wild, folder)) for wild in inputs]
    return [f"{wild} {verdict.wrong}" for wild, verdict in verdicts if verdict.wrong]


@pytest.mark.slow
def test_readers_of_files_and_settings__refuse_or_take_what_makes_sense(tmp_path: Path) -> None:
    inputs = wild_inputs(SEED, MOST)
    assert len(inputs) == MOST
    assert faults(inputs, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_servers__that_answer_in_any_shape_are_named(name: str, tmp_path: Path) -> None:
    assert faults(list(server_inputs({name: state_of(CLUSTERS[name])})), tmp_path) == []
