"""Files that cannot be used: each is refused in one line that names the file, the field, the value and the remedy."""

from pathlib import Path

import pytest

from forescale.cli import main
from forescale.files.yaml_fields import yaml_fields

TOPOLOGY = """
topology: pair
operators: {read: {service_s: 0.001}, count: {service_s: 0.004, max_parallelism: 8}}
streams: [{from: read, to: count}]
arrivals: {kind: events, path: events, columns: {time: at}, source: read}
cluster: {kind: simulator, truth: truth, parallelism: {read: 1, count: 2}}
"""
PLAN = "{topology: pair, parallelism: {read: 1, count: 2}}"
PROFILE = '{"topology": "pair", "operators": {}}'


def placed(*containers: str) -> str:
    return f"{{topology: pair, parallelism: {{read: 1, count: 2}}, containers: [{', '.join(containers)}]}}"


@pytest.mark.parametrize(
    ("bad", "text", "said"),
    [
        (
            "topology.yaml",
            TOPOLOGY.replace(
                "streams: [{from: read, to: count}]", "streams: [{from: read, to: count}, {from: count, to: read}]"
            ),
            ["read -> count -> read", "remove one of these streams"],
        ),
        (
            "topology.yaml",
            TOPOLOGY.replace("to: count}", "to: cuont}"),
            ["'cuont'", "correct it, or add it"],
        ),
        (
            "topology.yaml",
            TOPOLOGY.replace("to: count}", "to: count, selectivity: -2}"),
            ["streams.0.selectivity", "-2", "greater than or equal to 0"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"read": {"service_s": 0.1, "selectivity": {"read->count": -2}}}}',
            ["operator 'read'", "selectivity -2", "not negative"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"count": {"service_s": NaN}}}',
            ["operators.count.service_s", "finite", "see docs/topology-file.md"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"count": {}}}',
            ["operators.count.service_s", "is missing; add it"],
        ),
        ("profile.json", None, ["cannot be read", "check the path"]),
        ("plan.yaml", "{topology: pair, parallelism: {read: 1}}", ["operator 'count'", "name every operator"]),
        ("plan.yaml", "{topology: pair, parallelism: {read: 1, count: 9}}", ["'count'", "9", "8", "lower it"]),
        (
            "plan.yaml",
            "{topology: pair, parallelism: {read: 1, count: two}}",
            ["parallelism.count", "'two'", "integer"],
        ),
        (
            "plan.yaml",
            placed("{id: 1, instances: [[read, 0], [count, 0], [count, 1]]}", "{id: 2, instances: [[count, 1]]}"),
            ["count[1] twice", "place each instance once"],
        ),
        (
            "plan.yaml",
            placed("{id: 1, instances: [[read, 0], [count, 0]]}"),
            ["does not place count[1]", "place each instance once"],
        ),
        (
            "plan.yaml",
            placed("{id: 1, instances: [[read, 0], [count, 0], [count, 1], [count, 2]]}"),
            ["count[2]", "does not ask for", "remove it"],
        ),
        (
            "plan.yaml",
            placed("{id: 1, instances: [[read, 0], [count, 0]]}", "{id: 1, instances: [[count, 1]]}"),
            ["two containers 1", "give each its own id"],
        ),
        (
            "plan.yaml",
            "{topology: trio, parallelism: {read: 1, count: 2}}",
            ["'trio'", "'pair'", "give a plan of this"],
        ),
        ("plan.yaml", "{topology: pair, parallelism: [1, 2", ["not YAML", "correct it there"]),
        (
            "plan.yaml",
            "{topology: 2026-02-30, parallelism: {}}",
            ["line 1", "'2026-02-30' is no timestamp; correct it"],
        ),
        pytest.param("plan.yaml", "[" * 1000, ["nested too deeply", "see docs/topology-file.md"], id="plan too deep"),
        pytest.param("site.yaml", "[" * 1000, ["nested too deeply", "see docs/topology-file.md"], id="site too deep"),
        ("site.yaml", "nodes: {a: {service_factor: 1e9}}", ["nodes.a.service_factor", "1e9", "1000"]),
        ("site.yaml", "links: [{from: a, to: b, delay_ms: 1e308}]", ["links.0.delay_ms", "1e308", "10000000"]),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"count": {"service_s": 0.1, "service_cv2": 1e300}}}',
            ["service_cv2 1e+300", "at most 1e+06"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"count": {"service_s": 1e300}}}',
            ["service time 1e+300 s", "at most 1e+06"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"count": {"service_s": 1, "service_s_error": 1e300}}}',
            ["service_s_error 1e+300", "at most 1e+06"],
        ),
        (
            "profile.json",
            '{"topology": "pair", "operators": {"read": {"service_s": 1, "polling": '
            '{"interval_s": 1e300, "most_per_poll": 1}}}}',
            ["polling every 1e+300 s", "at most 1e+06"],
        ),
        (
            "plan.yaml",
            "{topology: pair, parallelism: {read: true, count: 2}}",
            ["parallelism.read", "'true'", "integer"],
        ),
        ("plan.yaml", '{topology: pair, parallelism: {read: 1, count: "2"}}', ["parallelism.count", "'2'", "integer"]),
        (
            "plan.yaml",
            "topology: pair\nparallelism:\n  read: 1\n  count: 2\n  read: 3\n",
            ["line 5: 'read' is given twice, first in line 3", "leave one out"],
        ),
        ("topology.yaml", TOPOLOGY + "topology: pair\n", ["'topology' is given twice, first in line 2"]),
        *[
            ("plan.yaml", f"topology: pair\nparallelism: {{read: 1, count: {number}}}", ["line 2", said])
            for number, said in (
                ("1" * 5000, "has more than 40 characters; shorten it"),
                ("0x" + "f" * 5000, "has more than 40 characters"),
                ("0b" + "1" * 20_000, "has more than 40 characters"),
                ("1" + ":59" * 60_000, "has more than 40 characters"),
                ("1" + ":59" * 60_000 + ".5", "has more than 40 characters"),
                ("1_0", "'1_0' holds _; write digits alone"),
                ("!!int ''", "'' is no int; correct it"),
                ("!!timestamp foo", "'foo' is no timestamp; correct it"),
                ("!!float foo", "'foo' is no float; correct it"),
            )
        ],
        ("plan.yaml", "topology: pair\nparallelism: {read: 1, count: !!bool foo}", ["parallelism.count", "'foo'"]),
        ("topology.yaml", TOPOLOGY.replace("0.001", "true"), ["service_s", "'true'", "number"]),
        ("plan.yaml", "", ["is empty", "see docs/topology-file.md"]),
        ("plan.yaml", PLAN.encode("utf-16"), ["cannot be read", "save it as UTF-8"]),
        ("profile.json", PROFILE.encode("utf-16"), ["cannot be read", "save it as UTF-8"]),
    ],
)
def test_a_bad_file__is_refused_by_file_field_value_and_remedy(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bad: str,
    text: str | bytes | None,
    said: list[str],
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    files = {"topology.yaml": TOPOLOGY, "plan.yaml": PLAN, "profile.json": PROFILE, bad: text}
    for name, body in files.items():
        if body is not None:
            (tmp_path / name).write_bytes(body if isinstance(body, bytes) else body.encode())
    options = [f"--{name.partition('.')[0]}={tmp_path / name}" for name in files if name != "topology.yaml"]
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", str(tmp_path / "topology.yaml"), *options, "--load", "read=1"])
    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert "Traceback" not in error
    for part in [str(tmp_path / bad), *said]:
        assert part in error


def said_of(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> str:
    for name, body in {"topology.yaml": TOPOLOGY, "plan.yaml": PLAN}.items():
        (folder / name).write_text(body)
    files = (str(folder / "topology.yaml"), f"--plan={folder / 'plan.yaml'}")
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", *files, *options])
    error = capsys.readouterr().err
    assert (ended.value.code != 0) == bool(error)
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--load", "read=1e-320"], "--load read=1e-320: 9.99989e-321 is out of bounds; give 0, or 1e-09 to 1e+12"),
        (["--load", "read=1_0"], "--load 'read=1_0' is not SOURCE=NUMBER"),
        (["--load", "read=１"], "--load 'read=１' is not SOURCE=NUMBER"),
        (["--load", "read=1e308"], "--load read=1e308: 1e+308 is out of bounds"),
        (["--load", "read=nan"], "--load read=nan: nan is out of bounds"),
        (["--load", "read=1", "--backlog", "read=-1"], "--backlog read=-1: -1 is out of bounds; give 0 to 1e+12"),
        (["--load", "read=1", "--backlog", "read=1", "--backlog", "read=2"], "--backlog gives source 'read' 1 and 2"),
    ],
)
def test_an_option__that_cannot_be_is_refused_with_its_name_value_and_bound(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    assert said in said_of(capsys, tmp_path, *options)


def test_an_empty_site_file_and_files_with_a_byte_order_mark__are_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    (tmp_path / "site.yaml").write_text("# nothing is known of it\n")
    (tmp_path / "profile.json").write_text(PROFILE, encoding="utf-8-sig")
    site, profile = (f"--{name.partition('.')[0]}={tmp_path / name}" for name in ("site.yaml", "profile.json"))
    assert not said_of(capsys, tmp_path, "--load", "read=1", site, profile)


def test_a_merged_mapping__may_give_another_value_for_what_it_takes_over(tmp_path: Path) -> None:
    path = tmp_path / "merged.yaml"
    path.write_text("a: {deep: &b {<<: {x: 1, y: 1}, x: 2}}\nb: {<<: *b, y: 3}\n")
    assert yaml_fields(path, "file", "")["b"] == {"x": 2, "y": 3}
