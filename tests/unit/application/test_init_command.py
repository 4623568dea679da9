"""`forescale init`: a topology file from what an engine tells, against stand-ins that answer in the engines' shapes.

What real engines tell is in tests/integration/flink and tests/integration/storm.
"""

import io
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
    assert config.planning.max_parallelism == {"orders": 8, "check": 8, "settle": 8}
    assert config.cluster.model_dump()["operators"] == {"orders": "Source: orders -> parse"}
    text = path.read_text()
    assert "orders reads shop_orders" in text
    marked = [line for line in text.splitlines() if "# TODO:" in line]
    assert len(marked) == 4  # service time of the source, its selectivity, arrivals, max_lag_s


def test_init__answers_with_json(flink: JsonStandIn, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert init("--flink", flink.url, "--no-calibrate", "--name", "shop", "--json") == 0
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
    assert init("--flink", flink.url, "--no-calibrate", "--out", str(out)) == 1
    assert "is there already and is left as it is" in capsys.readouterr().err
    assert out.read_text() == "written by hand"
    assert flink.asked == []
    assert init("--flink", flink.url, "--no-calibrate", "--out", str(out), "--force") == 0
    assert read_topology_file(out).topology == "Shop-orders-v2"


@pytest.mark.parametrize("options", [("--name", "a b"), ("--name", "x" * 90)])
def test_init__leaves_nothing_of_a_file_that_cannot_be_read_again(
    flink: JsonStandIn, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert init("--flink", flink.url, "--no-calibrate", "--out", str(tmp_path / "shop.yaml"), *options) == 1
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
    assert init("--flink", flink.url, "--interactive") == 1
    assert init("--flink", flink.url, "--environ", "prod") == 1
    assert init("--heron-tracker", flink.url, "--job", "words") == 1
    errors = capsys.readouterr().err.splitlines()
    assert "say what to describe by one of --flink" in errors[0]
    assert "--flink and --interactive is given" in errors[1]
    assert "--environ would change nothing" in errors[2]
    assert "--heron-tracker needs --cluster and --environ" in errors[3]


def test_init__writes_what_the_stand_in_of_herons_tracker_tells(tmp_path: Path) -> None:
    with json_stand_in() as heron:
        split = {"outputs": [], "inputs": [{"component_name": "feed", "stream_name": "default", "grouping": "SHUFFLE"}]}
        count = {"outputs": [], "inputs": [{"component_name": "split", "stream_name": "default", "grouping": "FIELDS"}]}
        heron.answers["/topologies/logicalplan"] = {"spouts": {"feed": {}}, "bolts": {"count": count, "split": split}}
        heron.answers["/topologies/physicalplan"] = {
            "spouts": {"feed": ["container_1_feed_1"]},
            "bolts": {"split": ["container_1_split_2", "container_2_split_3"], "count": ["container_2_count_4"]},
        }
        where = ["--cluster", "local", "--environ", "prod", "--job", "words"]
        assert init("--heron-tracker", heron.url, *where, "--no-calibrate") == 0
    text = (tmp_path / "topologies" / "words.yaml").read_text()
    config = read_topology_file(tmp_path / "topologies" / "words.yaml")
    assert "It runs as feed 1, split 2, count 1" in text
    assert [(each.upstream, each.grouping) for each in config.streams] == [("split", "fields"), ("feed", "shuffle")]
    assert config.arrivals.kind == "heron"
    assert config.cluster.model_dump(include={"kind", "url", "cluster", "environ", "topology"}) == {
        "kind": "heron",
        "url": heron.url,
        "cluster": "local",
        "environ": "prod",
        "topology": "words",
    }


def test_init__asks_on_a_terminal_for_what_no_engine_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        "shop",
        "flink",
        "orders",
        "1",
        "64",
        "0.5",
        "settle",
        "2",
        "128",
        "",
        "",
        "",
        "nobody",
        "orders",
        "fields",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    assert init("--interactive") == 0
    config = read_topology_file(tmp_path / "topologies" / "shop.yaml")
    assert config.operators["orders"].service_s == 0.0005
    assert config.operators["orders"].max_parallelism == 64
    assert [(each.upstream, each.downstream, each.grouping) for each in config.streams] == [
        ("orders", "settle", Grouping.FIELDS)
    ]
    assert yaml.safe_load((tmp_path / "topologies" / "shop.yaml").read_text())["topology"] == "shop"
