"""`forescale model pack`: from a topology file to a plan file that `forescale model evaluate` reads."""

import json
from pathlib import Path

import pytest
from heron_stand_in import heron_stand_in

from forescale.cli import main
from forescale.files.plan import read_plan_file, write_plan_file
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.schedule_json import plan_from_json, plan_to_json

TOPOLOGY = """
topology: pair
engine: heron
operators:
  read: {service_s: 0.001, cores: 1, memory_mib: 512}
  count: {service_s: 0.004, cores: 1, memory_mib: 1024}
streams:
  - {from: read, to: count}
"""

SITE = """
containers: {cores: 3, memory_mib: 4096}
nodes: {far: {service_factor: 2}}
links: [{from: near, to: far, delay_ms: 10}]
"""

PAIR = Topology("pair", (Operator("read"), Operator("count")), (Stream("read", "count"),))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    written = {}
    for name, text in {"topology": TOPOLOGY, "site": SITE}.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        written[name] = str(path)
    return written | {"plan": str(tmp_path / "plan.json"), "other": str(tmp_path / "other.yaml")}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert run(*arguments, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert isinstance(body, dict)
    return body


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(*arguments) == 1
    return capsys.readouterr().err


FIRST_FIT = ("--set", "packer=first_fit_decreasing", "--parallelism", "read=2,count=3")


def test_a_packed_plan__is_read_by_evaluate_with_its_nodes(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    made = told(capsys, "model", "pack", files["topology"], *FIRST_FIT, "--site", files["site"], "--out", files["plan"])
    # three of 1 core fill a container near; far, twice as slow, one of 3 cores holds one: count first, as it is larger
    assert made["plan"]["containers"] == [
        {"id": 1, "node": "near", "instances": [["count", 0], ["count", 1], ["count", 2]]},
        {"id": 2, "node": "far", "instances": [["read", 0]]},
        {"id": 3, "node": "near", "instances": [["read", 1]]},
    ]
    assert made["out"] == files["plan"]
    load = ("--load", "read=100", "--site", files["site"])
    seen = told(capsys, "model", "evaluate", files["topology"], "--plan", files["plan"], *load)[files["plan"]]
    assert {each["node"] for each in seen["containers"].values()} == {"near", "far"}
    assert seen["plan_id"] == made["plan_id"]


def test_a_running_plan__is_changed_and_not_made_anew(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    Path(files["site"]).write_text("containers: {memory_mib: 4096}\n")
    size = ("--site", files["site"], "--set", "cores=4", "--set", "disk_mib=4096", "--set", "padding=heron")
    first = told(capsys, "model", "pack", files["topology"], *FIRST_FIT, *size, "--out", files["plan"])
    # 4 cores less 1: three of the five instances in the first container, count before read
    assert [each["instances"] for each in first["containers"]] == [3, 2]
    assert (first["least_containers"], first["stay"]) == (2, None)
    again = ("--set", "packer=first_fit_decreasing", "--from", files["plan"], "--parallelism", "count=5")
    more = told(capsys, "model", "pack", files["topology"], *again, *size, "--out", files["other"])
    assert more["plan"]["parallelism"] == {"read": 2, "count": 5}
    assert [each["instances"] for each in more["containers"]] == [3, 3, 1]
    assert more["stay"] == 5
    # both formats are read alike
    assert read_plan_file(Path(files["other"]), PAIR).plan_id == more["plan_id"]


def test_a_load__tells_what_instances_need(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    text = TOPOLOGY.replace(", cores: 1, memory_mib: 512", "").replace(", cores: 1, memory_mib: 1024", "")
    Path(files["topology"]).write_text(text)
    arguments = ("model", "pack", files["topology"], "--set", "packer=round_robin", "--parallelism", "read=1,count=2")
    made = told(capsys, *arguments, "--load", "read=200")
    # 200/s · 1 ms, and twice 100/s · 4 ms
    assert made["containers"][0]["cores"] == pytest.approx(0.2 + 0.8)
    assert made["notes"] == ["memory of read, count is not known: 1024 MiB for each instance"]
    without = told(capsys, *arguments)
    assert without["containers"][0]["cores"] == 3
    assert without["notes"][0] == "cores of read, count are not known: 1 is taken for each instance"


FOUR_NODES = """
links:
  - {from: a, to: b, delay_ms: 2}
  - {from: a, to: c, delay_ms: 2}
  - {from: b, to: c, delay_ms: 2}
  - {from: a, to: far, delay_ms: 100}
  - {from: b, to: far, delay_ms: 100}
  - {from: c, to: far, delay_ms: 100}
throughput: [{nodes: 2, mst_per_s: 1000}, {nodes: 4, mst_per_s: 1900, largest_delay_ms: 10}]
"""


def test_measured_throughput__tells_from_which_node_on_one_more_lowers_it(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    Path(files["site"]).write_text(FOUR_NODES)
    arguments = ("model", "pack", files["topology"], "--parallelism", "read=1,count=3", "--site", files["site"])
    pack = (*arguments, "--set", "packer=even_spread", "--set", "containers=4")
    nodes = told(capsys, *pack)["nodes"]
    # 500·2 = 1000 and 500·4 − 10·10 = 1900: 500/s a node, 10/s less for each ms
    values = {name: each["value"] for name, each in nodes["scaling"].items()}
    assert values == pytest.approx({"alpha_per_s": 500, "beta": 1, "gamma_per_s_ms": 10})
    assert [each["mst_per_s"] for each in nodes["by_count"]] == pytest.approx(
        [500, 2 * 500 - 20, 3 * 500 - 20, 4 * 500 - 1000]
    )
    assert nodes["best"] == ["a", "b", "c"]
    assert run(*pack) == 0
    said = "by measured throughput 3 nodes sustain most: a, b, c with 1480/s; one more, at best 1000/s"
    assert said in " ".join(capsys.readouterr().out.split())
    # Of two nodes that are offered, the distant one costs more than it adds.
    assert told(capsys, *pack, "--set", "nodes={a: null, far: null}")["nodes"]["best"] == ["a"]


def test_measured_throughput__needs_links(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    Path(files["site"]).write_text("throughput: [{nodes: 2, mst_per_s: 1000}]")
    arguments = ("model", "pack", files["topology"], "--parallelism", "read=1,count=3", "--site", files["site"])
    assert "add links" in refused(capsys, *arguments, "--set", "packer=even_spread")


def test_every_packer__packs_from_the_command_line(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    from planner.packing.registry import PACKERS

    for name in PACKERS:
        made = told(
            capsys,
            *(
                "model",
                "pack",
                files["topology"],
                "--set",
                f"packer={name}",
                "--parallelism",
                "read=2,count=3",
                "--load",
                "read=100",
            ),
            *("--site", files["site"], "--set", "cores=20"),
        )
        placed = [tuple(each) for container in made["plan"]["containers"] for each in container["instances"]]
        assert sorted(placed) == [("count", 0), ("count", 1), ("count", 2), ("read", 0), ("read", 1)]


def test_people__see_containers_room_and_what_was_assumed(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    assert (
        run(
            "model",
            "pack",
            files["topology"],
            "--set",
            "packer=flink_slots",
            "--set",
            "slots=2",
            "--parallelism",
            "read=1,count=3",
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "2 containers of at least 3 cores" in shown
    assert "count[2]" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--set", "packer=nobody", "--parallelism", "read=1,count=1"),
            "--set: packing.packer: no packer 'nobody'; known are round_robin,",
        ),
        (("--set", "packer=round_robin", "--parallelism", "read=1"), "no parallelism for operator 'count'"),
        (("--set", "packer=round_robin", "--parallelism", "read=x,count=1"), "'read=x' is not OPERATOR=INSTANCES"),
        (("--set", "packer=round_robin", "--parallelism", "read=1,read=2"), "names 'read' twice"),
        (("--parallelism", "read=1,count=1"), "has no section packing; give --set packer=NAME, or add the section"),
        (("--set", "slots=2"), "--set: packing.packer is missing; add it"),
        ((*FIRST_FIT, "--set", "slots"), "--set 'slots' is not FIELD=VALUE; give it like --set slots=2"),
        ((*FIRST_FIT, "--set", "packer=round_robin"), "--set gives packer twice; give each field once"),
        ((*FIRST_FIT, "--set", "shelves=2"), "--set: packing.shelves is not a known field"),
        ((*FIRST_FIT, "--set", "nodes={"), "; write the value as in the file"),
        ((*FIRST_FIT, "--set", "slots=1_0"), "--set 'slots=1_0': line 1: number '1_0' holds _; write digits alone"),
        (
            (*FIRST_FIT, "--set", "padding=much"),
            "packing.padding: 'much' is not a share below 1; give one like 0.1, or",
        ),
        ((*FIRST_FIT, "--set", "padding=1"), "packing.padding: 1 is not a share below 1"),
        ((*FIRST_FIT, "--set", "padding=.nan"), "packing.padding: nan is not a share below 1"),
        ((*FIRST_FIT, "--set", "cores=0.5"), "needs 1 cores, a container has 0.5; raise the parallelism of"),
        ((*FIRST_FIT, "--set", "cores=-1"), "packing.cores: Input should be greater than 0 (given: -1)"),
        ((*FIRST_FIT, "--set", "disk_mib=.nan"), "packing.disk_mib: Input should be a finite number"),
        ((*FIRST_FIT, "--set", "slot_groups={cuont: a}"), "packing.slot_groups names the unknown operator 'cuont'"),
        (
            (*FIRST_FIT, "--set", "nodes={a: 0}"),
            "packing.nodes.a: Input should be greater than or equal to 1 (given: 0)",
        ),
        ((*FIRST_FIT, "--set", "nodes={a: b}"), "packing.nodes.a: Input should be a valid integer"),
        ((*FIRST_FIT, "--out", "plan.txt"), "plan.txt: the name shows no format; use one that ends in .json or .yaml"),
    ],
)
def test_what_cannot_be__is_a_line_that_names_it(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    error = refused(capsys, "model", "pack", files["topology"], *arguments)
    assert message in error
    assert error.count("\n") == 1


def test_a_refused_packing__writes_nothing(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    refused(capsys, "model", "pack", files["topology"], *FIRST_FIT, "--set", "cores=0.5", "--out", files["plan"])
    assert not Path(files["plan"]).exists()


def test_a_running_plan_without_containers__is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    Path(files["plan"]).write_text("topology: pair\nparallelism: {read: 1, count: 1}\n")
    error = refused(capsys, "model", "pack", files["topology"], *FIRST_FIT, "--from", files["plan"])
    assert "has no containers to keep; leave --from out" in error


@pytest.mark.parametrize("name", ["plan.json", "plan.yaml"])
@pytest.mark.parametrize("node", ["", "no: de", "Knoten 😀"])
def test_a_plan__comes_back_from_its_file_and_from_the_ledger_with_its_nodes(
    tmp_path: Path, name: str, node: str
) -> None:
    packing = (
        Container(3, (Instance("read", 0), Instance("count", 1)), node),
        Container(7, (Instance("count", 0),), node and "b"),
    )
    plan = PhysicalPlan("pair", {"read": 1, "count": 2}, packing)
    assert read_plan_file(write_plan_file(plan, tmp_path / name), PAIR) == plan
    assert plan_from_json(plan_to_json(plan)) == plan


def test_from_cluster__changes_the_packing_that_heron_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in runs feed[0], split[0], split[1] in container 1 and count[0], count[1] in container 2."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    file = tmp_path / "words.yaml"
    with heron_stand_in(tmp_path) as heron:
        file.write_text(
            f"""
topology: words
engine: heron
operators: {{feed: {{service_s: 0.001}}, split: {{service_s: 0.001}}, count: {{service_s: 0.001}}}}
streams: [{{from: feed, to: split}}, {{from: split, to: count, grouping: fields}}]
cluster: {{kind: heron, url: "{heron.url}", cluster: local, role: ubuntu, environ: prod, client: [{heron.client}]}}
"""
        )
        call = (
            "model",
            "pack",
            str(file),
            "--set",
            "packer=resource_compliant",
            "--from-cluster",
            "--parallelism",
            "count=3",
        )
        body = told(capsys, *call, "--set", "max_instances=4")
        assert body["stay"] == 5
        # For the added volume a container is opened, turns begin with the first, which has room for a fourth instance,
        # and the new one stays empty: it is dropped.
        assert [(each["id"], each["instances"]) for each in body["containers"]] == [(1, 4), (2, 2)]
        assert heron.calls() == []
        assert "exclude each other" in refused(capsys, *call, "--from", str(file))
