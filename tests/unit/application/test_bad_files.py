"""Files that cannot be used: each is refused in one line that names the file, the field, the value and the remedy."""

from pathlib import Path

import pytest

from forescale.cli import main

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
        ("profile.json", '{"topology": "pair", "operators": {"count": {}}}', ["operators.count.service_s", "required"]),
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
        ("plan.yaml", "{topology: pair, parallelism: [1, 2", ["not YAML"]),
    ],
)
def test_a_bad_file__is_refused_by_file_field_value_and_remedy(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bad: str,
    text: str | None,
    said: list[str],
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    files = {"topology.yaml": TOPOLOGY, "plan.yaml": PLAN, "profile.json": PROFILE, bad: text}
    for name, body in files.items():
        if body is not None:
            (tmp_path / name).write_text(body)
    options = [f"--{name.partition('.')[0]}={tmp_path / name}" for name in files]
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *options, "--load", "read=1"])
    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert "Traceback" not in error
    for part in [str(tmp_path / bad), *said]:
        assert part in error
