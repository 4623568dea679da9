"""`forescale init`: a topology file from what an engine tells, against stand-ins that answer in the engines' shapes.

What real engines tell is in tests/integration/flink and tests/integration/storm.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from json_stand_in import JsonStandIn, json_stand_in

from forescale.cli import main
from forescale.files.topology import read_topology_file
from modeling.inputs.topology import Grouping

JID = "7c412b5b761bcb55c76da8785bc30480"
ORDERS, MAP, SETTLE = "bc764cd8", "0a448493", "ea632d67"


def _vertex(id: str, name: str, read: float, written: float, busy_ms: Any) -> dict[str, Any]:
    metrics = {
        "read-records": read,
        "write-records": written,
        "accumulated-busy-time": busy_ms,
        "accumulated-idle-time": 1000,
        "accumulated-backpressured-time": 0,
    }
    return {
        "id": id,
        "name": name,
        "parallelism": 2,
        "maxParallelism": 128,
        "tasks": {"RUNNING": 2},
        "slotSharingGroupId": "f407907f",
        "metrics": metrics,
    }


def _job(name: str = "Shop orders (v2)") -> dict[str, Any]:
    vertices = [
        _vertex(ORDERS, "Source: orders -> parse", 0, 4000, "NaN"),
        _vertex(MAP, "check", 4000, 6000, 8000),
        _vertex(SETTLE, "Sink: settle", 6000, 0, 3000),
    ]
    return {
        "jid": JID,
        "name": name,
        "state": "RUNNING",
        "now": 1_790_000_000_000,
        "timestamps": {"RUNNING": 1_789_000_000_000},
        "vertices": vertices,
    }


@pytest.fixture
def flink() -> Iterator[JsonStandIn]:
    """orders → check → settle in the shapes of a Flink 2.3, on 2 slots of its own and 6 that are free."""
    with json_stand_in() as server:
        job = f"/jobs/{JID}"
        summary = {"jid": JID, "name": "Shop orders (v2)", "state": "RUNNING", "start-time": 1_789_000_000_000}
        nodes = [
            {"id": ORDERS, "parallelism": 2},
            {"id": MAP, "inputs": [{"id": ORDERS, "num": 0, "ship_strategy": "REBALANCE"}]},
            {"id": SETTLE, "inputs": [{"id": MAP, "num": 0, "ship_strategy": "HASH"}]},
        ]
        server.answers |= {
            "/jobs/overview": {"jobs": [summary]},
            job: _job(),
            f"{job}/plan": {"plan": {"jid": JID, "nodes": nodes}},
            f"{job}/vertices/{ORDERS}/subtasks/metrics": [
                {"id": "Source__orders.KafkaSourceReader.topic.shop_orders.partition.0.currentOffset"},
                {"id": "Source__orders.KafkaSourceReader.topic.shop_orders.partition.1.committedOffset"},
                {"id": "numRecordsOut"},
            ],
            "/taskmanagers": {"taskmanagers": [{"id": "tm", "slotsNumber": 8, "freeSlots": 6}]},
            "/taskmanagers/tm": {
                "id": "tm",
                "slotsNumber": 8,
                "freeSlots": 6,
                "allocatedSlots": [{"jobId": JID}, {"jobId": JID}],
            },
        }
        yield server


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(tmp_path / "mlruns"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))


def init(*options: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["init", *options])
    return int(ended.value.code or 0)


def test_init__writes_what_flink_tells_and_marks_what_it_does_not(flink: JsonStandIn, tmp_path: Path) -> None:
    assert init("--flink", flink.url, "--no-calibrate") == 0
    path = tmp_path / "topologies" / "Shop-orders-v2.yaml"
    config = read_topology_file(path)
    assert list(config.operators) == ["orders", "check", "settle"]
    # 8 s busy for 4000 tuples; 6000 out for 4000 in; 3 s for 6000.
    assert config.operators["check"].service_s == 0.002
    assert config.operators["settle"].service_s == 0.0005
    assert [(each.grouping, each.selectivity) for each in config.streams] == [
        (Grouping.SHUFFLE, 1),
        (Grouping.FIELDS, 1.5),
    ]
    # Metrics name two partitions of what orders reads: further instances would stay idle.
    assert config.planning.max_parallelism == {"orders": 2, "check": 8, "settle": 8}
    assert config.as_topology().operator("orders").partitions == 2
    assert config.cluster.model_dump()["operators"] == {"orders": "Source: orders -> parse"}
    text = path.read_text()
    assert "orders reads shop_orders" in text
    marked = [line for line in text.splitlines() if "# TODO" in line]
    assert len(marked) == 4  # service time of the source, its selectivity, arrivals, max_lag_s


def _with_cores(flink: JsonStandIn, *hosts: str) -> None:
    managers = [
        {
            "id": f"tm{number}",
            "path": f"pekko.tcp://flink@{host}:4711/user/rpc/taskmanager_0",
            "slotsNumber": 4,
            "freeSlots": 2,
            "hardware": {"cpuCores": 3, "physicalMemory": 2**34, "freeMemory": 2**30, "managedMemory": 2**30},
        }
        for number, host in enumerate(hosts)
    ]
    flink.answers["/taskmanagers"] = {"taskmanagers": managers}
    for manager in managers:
        flink.answers[f"/taskmanagers/{manager['id']}"] = {**manager, "allocatedSlots": [{"jobId": JID}]}


def test_init__writes_the_cores_that_task_managers_have(flink: JsonStandIn, tmp_path: Path) -> None:
    _with_cores(flink, "10.0.0.1", "10.0.0.1")
    assert init("--flink", flink.url, "--no-calibrate") == 0
    path = tmp_path / "topologies" / "Shop-orders-v2.yaml"
    packing = read_topology_file(path).packing
    assert packing is not None
    # Two task managers of four slots on a host of three cores
    assert (packing.packer, packing.cores, packing.slots) == ("flink_slots", 1.5, 4)
    assert packing.price_per_hour == 1  # task managers count, not instances
    assert "2 task managers share the 3 cores of 10.0.0.1" in path.read_text()


def test_init__writes_slot_groups_where_operators_do_not_share_slots(flink: JsonStandIn, tmp_path: Path) -> None:
    _with_cores(flink, "10.0.0.1", "10.0.0.2")
    job = _job()
    job["vertices"][2]["slotSharingGroupId"] = "another"
    flink.answers[f"/jobs/{JID}"] = job
    assert init("--flink", flink.url, "--no-calibrate") == 0
    packing = read_topology_file(tmp_path / "topologies" / "Shop-orders-v2.yaml").packing
    assert packing is not None
    assert packing.cores == 3.0
    assert packing.slot_groups == {"orders": "group-0", "check": "group-0", "settle": "group-1"}


@pytest.mark.parametrize("count", ["read-records", "write-records"])
def test_init__writes_no_number_from_counts_that_flink_marks_as_incomplete(
    flink: JsonStandIn, tmp_path: Path, count: str
) -> None:
    # 4000 read and 9 written, or 4 read and 6000 written, are no ratio of what the operator does.
    metrics = flink.answers[f"/jobs/{JID}"]["vertices"][1]["metrics"]
    metrics |= {count: 400, f"{count}-complete": False}
    assert init("--flink", flink.url, "--no-calibrate") == 0
    path = tmp_path / "topologies" / "Shop-orders-v2.yaml"
    config, text = read_topology_file(path), path.read_text()
    assert [each.selectivity for each in config.streams] == [1, 1]
    # Busy seconds are complete, but only the read tuples are what they were spent on.
    assert config.operators["check"].service_s == (0.001 if count == "read-records" else 0.002)
    assert "Flink marks its counts as incomplete" in text
    marked = [line for line in text.splitlines() if "# TODO" in line]
    assert len(marked) == (6 if count == "read-records" else 5)


def test_init__sends_nobody_to_build_a_history_that_nothing_can_be_forecast_from(
    flink: JsonStandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = "flink_taskmanager_job_task_operator_numRecordsOut"
    series = {"__name__": name, "job_name": "Shop orders (v2)", "operator_name": "Source:_orders"}
    with json_stand_in() as prometheus:
        prometheus.answers["/api/v1/series"] = {"status": "success", "data": [series]}
        options = ("--no-calibrate", "--json", "--prometheus", prometheus.url)
        assert init("shop", "--flink", flink.url, *options) == 0
        path = tmp_path / "topologies" / "shop.yaml"
        following = json.loads(capsys.readouterr().out)["next"]
        build = f"forescale history build {path}"
        assert following == f"give `arrivals` in {path} measures: offered, or held_back, then: {build}"
        # With a gauge that says when something holds the sources back, windows are observed.
        pressure = {**series, "__name__": "flink_taskmanager_job_task_backPressuredTimeMsPerSecond"}
        prometheus.answers["/api/v1/series"] = {"status": "success", "data": [series, pressure]}
        assert init("shop", "--flink", flink.url, "--force", *options) == 0
        assert json.loads(capsys.readouterr().out)["next"] == build


def test_init__answers_with_json(flink: JsonStandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert init("shop", "--flink", flink.url, "--no-calibrate", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["topology"] == "shop"
    assert answer["plan"] == {"orders": 2, "check": 2, "settle": 2}
    lines = (tmp_path / "topologies" / "shop.yaml").read_text().splitlines()
    assert all(question["text"] in lines[question["line"] - 1] for question in answer["questions"])
    assert "fill in `arrivals`" in answer["next"]


def test_init__replaces_no_file_unless_it_is_forced(
    flink: JsonStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    out.write_text("written by hand")
    assert init(str(out), "--flink", flink.url, "--no-calibrate") == 1
    assert "already exists and is left as it is" in capsys.readouterr().err
    assert out.read_text() == "written by hand"
    assert flink.asked == []
    assert init(str(out), "--flink", flink.url, "--no-calibrate", "--force") == 0
    assert read_topology_file(out).topology == "mine"
    asked = len(flink.asked)
    assert init("shop", "--flink", flink.url, "--no-calibrate") == 0
    assert len(flink.asked) > asked
    asked = len(flink.asked)
    assert init("shop", "--flink", flink.url, "--no-calibrate") == 1
    assert len(flink.asked) == asked


@pytest.mark.parametrize("name", ["a b", "x" * 90, "a b.yaml", "", ".yaml", "a/b", "-"])
def test_init__leaves_nothing_of_a_file_that_cannot_be_read_again(
    flink: JsonStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert init(name, "--flink", flink.url, "--no-calibrate") == 1
    assert "topology" in capsys.readouterr().err
    assert list(tmp_path.rglob("*.yaml*")) == []
    assert list(tmp_path.rglob("*.part")) == []


def test_init__asks_which_job_where_several_run(flink: JsonStandIn, capsys: pytest.CaptureFixture[str]) -> None:
    other = {"jid": "b" * 32, "name": "clicks", "state": "RUNNING", "start-time": 1}
    flink.answers["/jobs/overview"]["jobs"].append(other)
    assert init("--flink", flink.url) == 1
    assert "runs 2 jobs: Shop orders (v2), clicks; name one by --job" in capsys.readouterr().err


def test_init__tells_apart_vertices_of_one_name(flink: JsonStandIn, tmp_path: Path) -> None:
    job = _job()
    job["vertices"][2]["name"] = "check"
    flink.answers[f"/jobs/{JID}"] = job
    assert init("--flink", flink.url, "--no-calibrate") == 0
    config = read_topology_file(tmp_path / "topologies" / "Shop-orders-v2.yaml")
    assert list(config.operators) == ["orders", "check", "check-2"]
    text = (tmp_path / "topologies" / "Shop-orders-v2.yaml").read_text()
    assert text.count("several vertices are named 'check'") == 2


def test_init__writes_no_password(flink: JsonStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = flink.url.replace("http://", "http://me:hunter2@")
    assert init("--flink", secret) == 1
    assert init("--flink", flink.url, "--prometheus", "http://me:hunter2@prometheus:9090") == 1
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err
    assert list(tmp_path.rglob("*.yaml")) == []


def test_init__describes_a_job_from_one_place(flink: JsonStandIn, capsys: pytest.CaptureFixture[str]) -> None:
    assert init() == 1
    assert init("--flink", flink.url, "--storm-ui", flink.url) == 1
    assert init("--flink", flink.url, "--selector", "app=shop") == 1
    assert init("--heron-tracker", flink.url) == 1
    assert init("--heron-tracker", flink.url, "--job", "local/prod//words") == 1
    errors = capsys.readouterr().err.splitlines()
    assert "say what to describe by one of --flink" in errors[0]
    assert "--flink and --storm-ui are given" in errors[1]
    assert "--selector would have no effect" in errors[2]
    assert "--heron-tracker needs --job" in errors[3]
    assert "--job 'local/prod//words' names no topology of Heron; give CLUSTER/ROLE/ENVIRON/NAME" in errors[4]


@pytest.mark.parametrize("job", ["local/prod/words", "local/ubuntu/prod/words"])
def test_init__writes_what_the_stand_in_of_herons_tracker_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setenv("HERON_LOGIN", "Basic c2hvcDpodW50ZXIy")
    with json_stand_in() as heron:
        split = {"outputs": [], "inputs": [{"component_name": "feed", "stream_name": "default", "grouping": "SHUFFLE"}]}
        count = {"outputs": [], "inputs": [{"component_name": "split", "stream_name": "default", "grouping": "FIELDS"}]}
        heron.answers["/topologies/logicalplan"] = {"spouts": {"feed": {}}, "bolts": {"count": count, "split": split}}
        heron.answers["/topologies/physicalplan"] = {
            "spouts": {"feed": ["container_1_feed_1"]},
            "bolts": {"split": ["container_1_split_2", "container_2_split_3"], "count": ["container_2_count_4"]},
        }
        where = ["--job", job]
        heron.answers["/topologies"] = {"local": {"ubuntu": {"prod": ["words"]}, "root": {"test": ["words"]}}}
        login = ["--login", "headers_env.Authorization=HERON_LOGIN"]
        assert init("--heron-tracker", heron.url, *where, *login, "--no-calibrate") == 0
    assert heron.headers["Authorization"] == "Basic c2hvcDpodW50ZXIy"
    text = (tmp_path / "topologies" / "words.yaml").read_text()
    config = read_topology_file(tmp_path / "topologies" / "words.yaml")
    assert "It runs as feed 1, split 2, count 1" in text
    assert [(each.upstream, each.grouping) for each in config.streams] == [("split", "fields"), ("feed", "shuffle")]
    assert config.arrivals.kind == "heron"
    assert config.arrivals.model_dump()["role"] == "ubuntu"
    for section in (config.arrivals, config.cluster):
        assert section.model_dump()["headers_env"] == {"Authorization": "HERON_LOGIN"}
    assert config.cluster.model_dump(include={"kind", "url", "cluster", "role", "environ", "topology"}) == {
        "kind": "heron",
        "url": heron.url,
        "cluster": "local",
        "role": "ubuntu",
        "environ": "prod",
        "topology": "words",
    }


def test_init__logs_in_as_the_cluster_section_will_and_writes_no_secret(
    flink: JsonStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLINK_TOKEN", "sesame-open")
    monkeypatch.setenv("FLINK_TEAM", "shop-team")
    login = ["--login", "token_env=FLINK_TOKEN", "--login", "headers_env.X-Team=FLINK_TEAM"]
    assert init("shop", "--flink", flink.url, "--no-calibrate", *login) == 0
    assert (flink.headers["Authorization"], flink.headers["X-Team"]) == ("Bearer sesame-open", "shop-team")
    path = tmp_path / "topologies" / "shop.yaml"
    cluster = read_topology_file(path).cluster.model_dump(include={"token_env", "headers_env"})
    assert cluster == {"token_env": "FLINK_TOKEN", "headers_env": {"X-Team": "FLINK_TEAM"}}
    told = path.read_text() + "".join(capsys.readouterr())
    assert not [secret for secret in ("sesame-open", "shop-team") if secret in told]


def test_init__reads_a_token_from_a_file_of_a_relative_path(
    flink: JsonStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("sesame-open\n")
    assert init("shop", "--flink", flink.url, "--no-calibrate", "--login", "token_file=token") == 0
    assert flink.headers["Authorization"] == "Bearer sesame-open"
    config = read_topology_file(tmp_path / "topologies" / "shop.yaml")
    assert config.cluster.model_dump()["token_file"] == str(tmp_path / "token")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            ["token_env=NOT_SET"],
            "--flink: the environment variable NOT_SET, which should hold a secret, is not set; set it",
        ),
        (["token_env=9x"], "--flink: token_env: is no name of an environment variable"),
        (["token_file=/nowhere/token"], "--flink: token_file /nowhere/token cannot be read"),
        (["ca_file=/nowhere/ca.pem"], "/nowhere/ca.pem"),
        (["key_file=/nowhere/key.pem"], "key_file needs certificate_file; give both"),
        (["certificate_file=/nowhere/own.pem"], "certificate_file needs TLS; give an https url"),
        (["kubeconfig=config"], "--login kubeconfig would have no effect on a job at --flink; it takes ca_file,"),
        (["timeout_s=1e"], "--flink: timeout_s: Input should be a valid number"),
        (["ca_file=a.pem", "ca_file=b.pem"], "--login gives ca_file twice; give each field once"),
        (["token_env.x=A"], "give it like --login token_env=FLINK_TOKEN"),
        (["headers_env=Authorization"], "or --login headers_env.Authorization=FLINK_LOGIN"),
        (["token_env="], "--login takes FIELD=VALUE"),
        (["sesame-open"], "--login takes FIELD=VALUE (what was given is not shown)"),
    ],
)
def test_init__says_what_of_a_login_cannot_be(
    flink: JsonStandIn, capsys: pytest.CaptureFixture[str], fields: list[str], said: str
) -> None:
    assert init("--flink", flink.url, "--no-calibrate", *(f"--login={field}" for field in fields)) == 1
    told = capsys.readouterr().err
    assert said in told
    assert "sesame" not in told
    assert flink.asked == []


def _kubeconfig(folder: Path, url: str) -> Path:
    path = folder / "kubeconfig"
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "me"}}],
        "current-context": "local",
    }
    path.write_text(yaml.safe_dump(body))
    return path


def _flink_deployment(**configuration: str) -> dict[str, Any]:
    spec = {
        "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2", **configuration},
        "taskManager": {"resource": {"cpu": 2, "memory": "2048m"}},
    }
    status = {
        "lifecycleState": "STABLE",
        "jobStatus": {"jobId": JID, "jobName": "Shop orders (v2)", "state": "RUNNING"},
    }
    return {"metadata": {"name": "orders", "generation": 1, "resourceVersion": "7"}, "spec": spec, "status": status}


def test_init__lets_a_plan_fill_the_slots_that_there_are(flink: JsonStandIn, tmp_path: Path) -> None:
    """Three operators on 30 slots: 90 instances, more than the 64 of a file that leaves it out."""
    managers = {"id": "tm", "slotsNumber": 30, "freeSlots": 28}
    flink.answers["/taskmanagers"] = {"taskmanagers": [managers]}
    flink.answers["/taskmanagers/tm"] = {**managers, "allocatedSlots": [{"jobId": JID}, {"jobId": JID}]}
    assert init("--flink", flink.url, "--no-calibrate") == 0
    config = read_topology_file(tmp_path / "topologies" / "Shop-orders-v2.yaml")
    assert config.planning.max_parallelism == {"orders": 2, "check": 30, "settle": 30}
    assert config.planning.max_instances == 90


@pytest.mark.parametrize("autoscaled", [False, True])
def test_init__writes_what_a_flink_deployment_and_its_job_tell(
    flink: JsonStandIn, tmp_path: Path, autoscaled: bool
) -> None:
    """Answers in the shapes of an API server; the real one is asked in tests/integration/flink."""
    scaled = {"job.autoscaler.enabled": "true", "job.autoscaler.vertex.max-parallelism": "20"} if autoscaled else {}
    with json_stand_in() as kubernetes:
        path = "/apis/flink.apache.org/v1beta1/namespaces/streams/flinkdeployments"
        kubernetes.answers[path] = {"items": [_flink_deployment(**scaled)]}
        config = _kubeconfig(tmp_path, kubernetes.url)
        where = ["--kubernetes", "streams", "--job", "orders", "--flink", flink.url, "--login", f"kubeconfig={config}"]
        assert init(*where, "--no-calibrate") == 0
    written = read_topology_file(tmp_path / "topologies" / "Shop-orders-v2.yaml")
    assert list(written.operators) == ["orders", "check", "settle"]
    assert written.cluster.model_dump(exclude_unset=True, by_alias=True) == {
        "kind": "flink-operator",
        "namespace": "streams",
        "kubeconfig": str(config),
        "deployment": "orders",
        "url": flink.url,
        "operators": {"orders": "Source: orders -> parse"},
        **({"autoscaler": True} if autoscaled else {}),
    }
    # Free slots bound nothing: its operator brings task managers.
    assert written.planning.mode == ("floor" if autoscaled else "act")
    most = {"orders": 2, "check": 20, "settle": 20} if autoscaled else {}
    assert written.planning.max_parallelism == most
    text = (tmp_path / "topologies" / "Shop-orders-v2.yaml").read_text()
    assert "Each task manager has 2 cores and 2048m memory for 2 slots" in text
    assert "jobmanager.scheduler is not set: unless it is adaptive, the operator redeploys" in " ".join(text.split())


def test_init__says_how_a_flink_deployments_job_is_reached_from_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with json_stand_in() as kubernetes:
        path = "/apis/flink.apache.org/v1beta1/namespaces/streams/flinkdeployments"
        kubernetes.answers[path] = {"items": [_flink_deployment()]}
        config = str(_kubeconfig(tmp_path, kubernetes.url))
        where = [
            "--kubernetes",
            "streams",
            "--job",
            "orders",
            "--flink",
            "http://127.0.0.1:9",
            "--login",
            f"kubeconfig={config}",
        ]
        assert init(*where) == 1
    told = capsys.readouterr().err
    assert "reports its operators through Flink alone" in told
    assert "kubectl port-forward service/orders-rest 8081" in told
    assert list(tmp_path.rglob("*.yaml")) == []
