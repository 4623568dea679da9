"""Clusters on Kubernetes in topology files: the examples of the docs, and what is said of mistakes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from forescale.files.clusters.flink_operator import FlinkOperatorEntry
from forescale.files.clusters.kubernetes import KubernetesEntry
from forescale.files.file_error import FileError
from forescale.files.topology import read_topology_file
from forescale.jobs.guard import guard, guarded_topologies
from forescale.settings import PROJECT, Settings
from forescale.situation.workspace import Workspace
from planner.errors import PlanError

DOCS = PROJECT / "docs" / "engines" / "kubernetes.md"
EXAMPLES = PROJECT / "examples" / "kubernetes"
ENTRIES = {"kubernetes": KubernetesEntry, "flink-operator": FlinkOperatorEntry}


def sections() -> dict[str, dict[str, Any]]:
    """By kind, as the docs have them."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    bodies = [yaml.safe_load(block)["cluster"] for block in blocks]
    return {body["kind"]: body for body in bodies}


@pytest.mark.parametrize("kind", ENTRIES)
def test_docs__have_one_example_a_kind_with_every_field(kind: str) -> None:
    entry = ENTRIES[kind]
    assert set(sections()) == set(ENTRIES)
    entry.model_validate(sections()[kind])
    fields = {field.alias or name for name, field in entry.model_fields.items()}
    shared = set(sections()["kubernetes"]) - {"operators"}
    assert fields <= set(sections()[kind]) | shared


@pytest.mark.parametrize(
    "file", sorted(path.name for path in EXAMPLES.glob("*.yaml") if not {"rights", "planned"} & {*path.stem.split("-")})
)
def test_example__is_a_topology_file(file: str) -> None:
    assert read_topology_file(EXAMPLES / file).cluster.kind in ENTRIES


@pytest.mark.parametrize(
    ("file", "cluster", "said"),
    [
        (
            "shop-floor.yaml",
            {},
            "cluster.operators names autoscalers, which would undo plans; set planning.mode: floor",
        ),
        (
            "word-count.yaml",
            {"autoscaler": True},
            "the operator's autoscaler would undo plans; set planning.mode: floor",
        ),
    ],
)
def test_autoscalers__are_only_for_plans_that_leave_them_the_last_word(
    tmp_path: Path, file: str, cluster: dict[str, bool], said: str
) -> None:
    body = yaml.safe_load((EXAMPLES / file).read_text(encoding="utf-8"))
    body["cluster"] |= cluster
    path = tmp_path / file
    for mode in ("floor", "shadow"):
        body["planning"]["mode"] = mode
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        assert read_topology_file(path).cluster.kind in ENTRIES
    del body["planning"]["mode"]
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    with pytest.raises(FileError, match=re.escape(said)):
        read_topology_file(path)


def test_guard__may_not_act_beside_the_operators_autoscaler(tmp_path: Path) -> None:
    body = yaml.safe_load((EXAMPLES / "word-count.yaml").read_text(encoding="utf-8"))
    body["cluster"]["autoscaler"] = True
    path = tmp_path / "word-count.yaml"
    for mode, guarding in (("floor", "advise"), ("shadow", "act"), ("floor", "act")):
        body["planning"] |= {"mode": mode, "guard": {"mode": guarding}}
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        if (mode, guarding) != ("floor", "act"):
            assert read_topology_file(path).planning.guard_mode == "advise"
    with pytest.raises(FileError, match=re.escape("autoscaler would undo; set planning.guard.mode: advise, or switch")):
        read_topology_file(path)


def test_guard__has_nothing_to_see_where_tuples_are_not_counted(tmp_path: Path) -> None:
    body = yaml.safe_load((EXAMPLES / "shop.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    settings = Settings(topologies=tmp_path, home=tmp_path / "home")
    assert read_topology_file(path).planning.guard_mode == "advise"  # the default stays one
    assert guarded_topologies(Workspace(settings), ["shop"]) == []
    with pytest.raises(PlanError, match=r"has no guard: a cluster of kind 'kubernetes' counts no tuples"):
        guard(Workspace(settings), "shop")
    body["planning"]["guard"] = {"mode": "act"}
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    with pytest.raises(FileError, match=r"Kubernetes counts no tuples: .*; set planning\.guard\.mode: off"):
        read_topology_file(path)


def test_url__of_a_flink_deployment_is_that_of_its_service() -> None:
    entry = FlinkOperatorEntry(kind="flink-operator", namespace="streams", deployment="words")
    assert entry.url == "http://words-rest.streams:8081"


@pytest.mark.parametrize(
    ("operators", "said"),
    [
        (
            {"orders": "pod/orders"},
            "'pod/orders' is no object of Kubernetes that can be scaled; write one of deployment/",
        ),
        ({"orders": "deployment/Orders!"}, "'deployment/Orders!' is no object of Kubernetes that can be scaled"),
        (
            {"orders": "deployment/orders", "prices": "hpa/prices"},
            "'orders' is deployment/orders, but 'prices' is hpa/prices; name workloads for all operators, or scalers",
        ),
    ],
)
def test_operators__that_are_no_workloads_are_refused(operators: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        KubernetesEntry(kind="kubernetes", namespace="shop", operators=operators)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bills": "deployment/orders"}, "gives deployment/orders to 'orders' and 'bills'; give each operator"),
        ({"invoices": "deployment/invoices"}, "cluster.operators names the unknown operator 'invoices'"),
        ({"bills": None}, "cluster.operators gives nothing for operator 'bills'; name every operator"),
    ],
)
def test_operators__are_each_a_workload_of_their_own(tmp_path: Path, change: dict[str, str | None], said: str) -> None:
    body = yaml.safe_load((EXAMPLES / "shop.yaml").read_text(encoding="utf-8"))
    operators = {**body["cluster"]["operators"], **change}
    body["cluster"]["operators"] = {name: text for name, text in operators.items() if text is not None}
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    with pytest.raises(FileError, match=re.escape(said)):
        read_topology_file(path)
