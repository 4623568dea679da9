"""`forescale init --kubernetes` on a real API server: what it writes of workloads and scalers, and by which rights.

A FlinkDeployment whose job runs on a real Flink: tests/integration/flink/test_described_flink_deployment.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes_controllers import Controllers
from kubernetes_objects import (
    autoscaler,
    deployment,
    flink_deployment,
    namespace,
    scaled_object,
    stateful_set,
)
from kubernetes_rights import Right, give, manifest, rights_of, service_token
from kubernetes_server import LocalKubernetes

from engines.kubernetes.resources import AUTOSCALER, DEPLOYMENT, SCALED_OBJECT, STATEFUL_SET
from forescale.cli.main import main
from forescale.files.topology import TopologyConfig, read_topology_file

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

NAMESPACE = "described"
SHOP = ["--selector", "part-of=shop"]
KAFKA = {"bootstrapServers": "kafka.shop:9092", "consumerGroup": "orders", "topic": "orders", "lagThreshold": "50"}
CREATOR = "OpenAPI-Generator"
"""The field manager of the tests' client."""


@pytest.fixture(scope="module")
def shop(kubernetes: LocalKubernetes) -> Iterator[LocalKubernetes]:
    """orders by a ScaledObject, prices by an autoscaler; bills by nothing, and none of the shop's labels."""
    kubernetes.create(namespace(NAMESPACE))
    orders, prices = deployment("orders", 1), stateful_set("prices", 2)
    for body in (orders, prices):
        body["metadata"]["labels"] = {"part-of": "shop"}
    fed = scaled_object("orders", 9)
    fed["spec"]["triggers"] = [{"type": "kafka", "metadata": KAFKA}]
    of_keda = autoscaler("keda-hpa-orders", 1, 9)
    of_keda["spec"]["scaleTargetRef"]["name"] = "orders"
    owner = {"apiVersion": SCALED_OBJECT.api_version, "kind": SCALED_OBJECT.kind, "name": "orders", "uid": "1"}
    of_keda["metadata"]["ownerReferences"] = [owner]
    made = [orders, prices, deployment("bills", 3), fed, autoscaler("prices", 2, 12, STATEFUL_SET), of_keda]
    kubernetes.create(*made, namespace=NAMESPACE)
    controllers = Controllers(kubernetes, NAMESPACE, (DEPLOYMENT, STATEFUL_SET, AUTOSCALER))
    with controllers.running():
        yield kubernetes
    assert controllers.errors == []


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path))


def _init(kubeconfig: Path, *options: str, place: str = NAMESPACE) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["init", "--kubernetes", place, "--login", f"kubeconfig={kubeconfig}", *options])
    return int(ended.value.code or 0)


def _written(kubernetes: LocalKubernetes, folder: Path, *options: str) -> tuple[TopologyConfig, str]:
    assert _init(kubernetes.kubeconfig("admin"), "shop", "--force", *options) == 0
    path = folder / "shop.yaml"
    return read_topology_file(path), path.read_text()


def test_init__of_scaled_workloads_proposes_floors_and_what_feeds_them(shop: LocalKubernetes, tmp_path: Path) -> None:
    config, text = _written(shop, tmp_path, *SHOP)
    assert {name: (each.cores, each.memory_mib) for name, each in config.operators.items()} == {
        "orders": (0.5, 256),
        "prices": (0.5, 256),
    }
    assert "It runs as orders 1, prices 2 (all replicas are ready)." in text
    assert config.planning.model_dump(include={"mode", "min_parallelism", "max_parallelism", "max_instances"}) == {
        "mode": "floor",
        "min_parallelism": {"prices": 2},
        "max_parallelism": {"orders": 9, "prices": 12},
        "max_instances": 21,
    }
    assert "scaledobject/orders (0 to 9), hpa/prices (2 to 12)" in text
    cluster = config.cluster.model_dump(exclude_unset=True)
    assert cluster == {
        "kind": "kubernetes",
        "namespace": NAMESPACE,
        "kubeconfig": str(shop.kubeconfig("admin")),
        "operators": {"orders": "scaledobject/orders", "prices": "hpa/prices"},
        "take_over": [CREATOR],
    }
    arrivals = config.arrivals.model_dump(include={"kind", "servers", "topics", "group"})
    assert arrivals == {
        "kind": "kafka",
        "servers": "kafka.shop:9092",
        "topics": {"orders": "orders"},
        "group": "orders",
    }
    assert (
        "orders: scaledobject/orders scales by topic orders of Kafka at kafka.shop:9092, read by group orders" in text
    )
    assert "hpa/prices scales by Resource cpu" in text
    assert "# TODO: which of orders, prices reads from which (orders reads topic orders)?" in text


def test_init__of_workloads_that_nothing_scales_sets_their_replicas(shop: LocalKubernetes, tmp_path: Path) -> None:
    config, text = _written(shop, tmp_path, "--workload", "deployment/bills")
    assert config.planning.mode == "act"
    assert config.cluster.model_dump()["operators"] == {"bills": "deployment/bills"}
    assert config.streams == []
    assert "# TODO: which of" not in text
    assert f"# TODO: {CREATOR} set the replicas until now: may forescale take them over?" in text


def test_init__plans_without_deploying_where_only_some_are_scaled(
    shop: LocalKubernetes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, text = _written(shop, tmp_path, "--workload", "deployment/bills", "--workload", "statefulset/prices")
    assert config.planning.mode == "shadow"
    assert config.cluster.model_dump()["operators"] == {"bills": "deployment/bills", "prices": "statefulset/prices"}
    assert "# TODO: hpa/prices would undo plans, and bills has no scaler to itself to bound" in text
    assert "next: fill in `streams` and `arrivals` in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "has deployment/bills, deployment/orders, statefulset/prices; name a FlinkDeployment by --job, or"),
        (
            ("--workload", "deployment/order"),
            "has no deployment/order; there are deployment/bills, deployment/orders, s",
        ),
        (("--workload", "hpa/prices"), "--workload hpa/prices scales a workload; name that"),
        (("--workload", "pod/orders"), "'pod/orders' is no object of Kubernetes that can be scaled"),
        (("--selector", "part-of=shops"), "has no Deployment or StatefulSet of the labels 'part-of=shops'"),
        (("--selector", "part-of=("), "refuses what was asked of deployments of the labels 'part-of=('"),
        (("--job", "words"), "has no flinkdeployment/words; there are none"),
        (("--job", "words", *SHOP), "--job names a FlinkDeployment, --workload and --selector choose workloads"),
        (("--login", "token_env=T"), "--login token_env would have no effect on a job at --kubernetes"),
        (("--workload", "deployment/bills", "--flink", "http://h:8081"), "--flink is of a FlinkDeployment"),
        (("--login", "context=nowhere"), "has no context 'nowhere'"),
    ],
)
def test_init__says_what_fits_nothing(
    shop: LocalKubernetes, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    assert _init(shop.kubeconfig("admin"), *options) == 1
    assert said in capsys.readouterr().err
    assert list(tmp_path.rglob("*.yaml")) == []


def test_init__takes_what_is_there_alone_and_not_what_others_make(
    kubernetes: LocalKubernetes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flink's own Deployments, and one that an operator of another kind made, are no topology."""
    place = "alone"
    of_flink, of_kafka = deployment("words"), stateful_set("kafka")
    of_flink["metadata"]["labels"] = {"type": "flink-native-kubernetes"}
    owner = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "Kafka", "name": "log", "uid": "1", "controller": True}
    of_kafka["metadata"]["ownerReferences"] = [owner]
    kubernetes.create(namespace(place))
    kubernetes.create(of_flink, of_kafka, deployment("orders", 2), namespace=place)
    config = kubernetes.kubeconfig("admin")
    assert _init(config, place=place) == 0
    assert list(read_topology_file(tmp_path / "orders.yaml").operators) == ["orders"]
    kubernetes.create(flink_deployment("words", 2), namespace=place)
    assert _init(config, place=place) == 1
    assert "has flinkdeployment/words, deployment/orders; name a FlinkDeployment by --job" in capsys.readouterr().err
    assert _init(config, "--job", "words", place=place) == 1
    assert "flinkdeployment/words of Kubernetes at" in (told := capsys.readouterr().err)
    assert "has no job yet: its operator is at CREATED" in told
    assert _init(config, "--workload", "statefulset/kafka", place=place) == 0
    assert "Kafka/log made statefulset/kafka and may set its replicas back" in (tmp_path / "kafka.yaml").read_text()


@pytest.fixture(scope="module")
def account(shop: LocalKubernetes) -> str:
    """The token of the manifest's service account."""
    shop.create(*manifest("init"), namespace=NAMESPACE)
    return service_token(shop, NAMESPACE, "init")


def _allowed(shop: LocalKubernetes, token: str, without: Right | None) -> Path:
    give(shop, NAMESPACE, "init", token, without)
    return shop.kubeconfig("account-init", token)


def test_rights__are_enough_to_describe_all_that_runs(shop: LocalKubernetes, tmp_path: Path, account: str) -> None:
    config = _allowed(shop, account, None)
    assert _init(config, *SHOP) == 0
    assert _init(config, "--workload", "deployment/bills") == 0


@pytest.mark.parametrize("right", rights_of("init"), ids=str)
def test_rights__are_no_more_than_are_needed(
    shop: LocalKubernetes, account: str, capsys: pytest.CaptureFixture[str], right: Right
) -> None:
    options: Any = () if right.resource == "flinkdeployments" else SHOP
    assert _init(_allowed(shop, account, right), *options) == 1
    assert f"grant the verb list on {right.resource} of API group '{right.group}'" in capsys.readouterr().err
