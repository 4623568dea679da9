"""Thousands of inputs as they come in the wild: no internal error, no hang, nothing absurd taken, no secret shown."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from contract.history_batches_contract import DAY, START, told
from wild_answers import (
    ARRIVALS,
    address_inputs,
    kubeconfig_inputs,
    read_arrivals,
    s3_inputs,
    sample_inputs,
    secret_file_inputs,
    settings_file_inputs,
    tracker_inputs,
)
from wild_inputs import NAME, PASSWORD, Wild, server_inputs, trial, wild_inputs
from wild_sections import good_sections, section_inputs

from forecasting.arrivals.storage import s3_client, s3_folder
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.s3_objects import S3Objects
from forecasting.arrivals.store import read_history, write_history
from forescale.files.topology import topology_of_text
from forescale.local.airflow.client import AirflowClient
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
def test_sections_of_every_kind__refuse_or_take_what_makes_sense(tmp_path: Path) -> None:
    for text in good_sections():
        topology_of_text(text, tmp_path / "topology.yaml")
    assert faults(random.Random(SEED).sample(list(section_inputs()), MOST), tmp_path) == []


def test_addresses_that_are_mistyped__are_refused_and_their_passwords_not_shown(tmp_path: Path) -> None:
    assert faults(list(address_inputs()), tmp_path) == []


def test_settings_files__with_anything_wrong_are_refused(tmp_path: Path) -> None:
    assert faults(list(settings_file_inputs()), tmp_path) == []


@pytest.mark.slow
def test_files_of_secrets__are_neither_waited_for_nor_read_whole_nor_shown(tmp_path: Path) -> None:
    assert faults(list(secret_file_inputs()), tmp_path) == []


@pytest.mark.slow
def test_kubeconfigs__of_any_content_are_refused_in_time(tmp_path: Path) -> None:
    assert faults(random.Random(SEED).sample(list(kubeconfig_inputs()), 400), tmp_path) == []


@pytest.mark.slow
def test_samples_of_prometheus__are_refused_or_counted_without_what_is_absurd(tmp_path: Path) -> None:
    assert faults(list(sample_inputs()), tmp_path) == []


def test_airflow__that_answers_in_any_shape_is_named(tmp_path: Path) -> None:
    def ask(url: str, folder: Path) -> object:
        client = AirflowClient(url, "anna", PASSWORD)
        client.health()
        return client.import_errors()

    inputs = list(server_inputs({"Airflow": ask}))
    verdicts = [(wild, trial(wild, tmp_path)) for wild in inputs]
    assert [f"{wild} {verdict.wrong}" for wild, verdict in verdicts if verdict.wrong or not verdict.refused] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRIVALS)
def test_servers_of_arrivals__that_answer_in_any_shape_are_named(name: str, tmp_path: Path) -> None:
    assert faults(list(server_inputs({name: read_arrivals(ARRIVALS[name])})), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_servers__that_answer_in_any_shape_are_named(name: str, tmp_path: Path) -> None:
    assert faults(list(server_inputs({name: state_of(CLUSTERS[name])})), tmp_path) == []


@pytest.mark.slow
def test_stores_of_histories__that_answer_in_any_shape_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"):
        monkeypatch.setenv(name, "true")
    directory = S3Directory("bucket", "history")

    def at(use: Callable[[], object]) -> Callable[[str, Path], object]:
        def ask(url: str, folder: Path) -> object:
            monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
            s3_client._connection.cache_clear()
            s3_folder._checked_once.cache_clear()
            return use()

        return ask

    asks = {
        "a reader": at(lambda: read_history(directory, "calls")),
        "a writer": at(lambda: write_history(told(0, 1), directory, "calls", START, START + DAY)),
        "a list": at(lambda: list(S3Objects(directory).names("topology=calls", older_than_s=5))),
        "a list of topologies": at(lambda: S3Objects(directory).folders("")),
    }
    assert faults(random.Random(SEED).sample(list(s3_inputs(asks)), 40), tmp_path) == []
    s3_client._connection.cache_clear()
    s3_folder._checked_once.cache_clear()


@pytest.mark.mlflow
@pytest.mark.slow
def test_trackers__that_answer_in_any_shape_are_named(tmp_path: Path) -> None:
    assert faults(random.Random(SEED).sample(list(tracker_inputs()), 60), tmp_path) == []
