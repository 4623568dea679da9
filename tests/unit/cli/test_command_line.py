"""The command line: answers for people and machines, and one line instead of a traceback when something is wrong."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from forescale.cli import main
from forescale.cli.commands import COMMANDS, RENAMED, Group, every_command, with_present_names
from forescale.cli.main import application

PROJECT = Path(__file__).resolve().parents[3]
TOPOLOGY = str(PROJECT / "examples" / "topologies" / "call-analytics.yaml")
BUSY = str(PROJECT / "examples" / "call-analytics-busy.plan.yaml")
NIGHT = str(PROJECT / "examples" / "call-analytics-night.plan.yaml")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(tmp_path / "mlruns"))
    monkeypatch.delenv("FORESCALE_TOPOLOGIES", raising=False)


def run(*arguments: str) -> int:
    """The exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    code = ended.value.code
    assert isinstance(code, int)
    return code


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The line of the error."""
    assert run(*arguments) == 1
    written = capsys.readouterr()
    assert "Traceback" not in written.err
    assert written.err.startswith("forescale: ")
    return written.err


def command_of(*words: str) -> Any:
    command = get_command(application(*words))
    for word in words:
        command = command.commands[word]  # type: ignore[attr-defined]
    return command


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help__says_of_a_command_what_the_command_says_of_itself(words: tuple[str, ...]) -> None:
    own = command_of(*words).help
    assert own is not None
    assert own.split("\n\n")[0].strip() == every_command()[words].line


def test_help__has_one_line_a_command_and_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    for entry in COMMANDS.values():
        assert sum(entry.line in shown for shown in lines) == 1, entry


def test_help__keeps_the_order_of_the_commands() -> None:
    assert list(get_command(application()).commands) == list(COMMANDS)


@pytest.mark.parametrize("words", RENAMED, ids=" ".join)
def test_an_old_name__runs_the_command_that_replaces_it_and_says_so(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(*words, "--help") == 0
    written = capsys.readouterr()
    present = " ".join(RENAMED[words])
    assert written.err == f"forescale: `forescale {' '.join(words)}` is `forescale {present}` now\n"
    assert f"Usage: forescale {present.split(' --')[0]}" in written.out


@pytest.mark.parametrize("words", RENAMED, ids=" ".join)
def test_an_old_name__is_none_of_a_present_command(words: tuple[str, ...]) -> None:
    entry = COMMANDS.get(words[0])
    assert entry is None or (isinstance(entry, Group) and words[1] not in entry.commands)
    assert with_present_names(RENAMED[words]) == (list(RENAMED[words]), "")


def test_a_group__runs_its_default_command_for_a_topology_and_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--help") == 0
    assert "Without one of these commands: make." in capsys.readouterr().out
    assert "no topology 'nope'" in fails(capsys, "plan", "nope")
    # A topology may have the name of a command: then the default one is named.
    assert "no topology 'list'" in fails(capsys, "plan", "make", "list")


def test_surface__does_not_grow() -> None:
    """First words, what can be run, and options beside --json and --help: a new one takes the place of another."""
    options = [
        each.opts
        for words in every_command()
        for each in command_of(*words).params
        if each.param_type_name == "option" and not getattr(each, "hidden", False) and each.name != "help"
    ]
    assert len(COMMANDS) <= 16
    assert len(every_command()) <= 36
    assert len([each for each in options if each != ["--json"]]) <= 114


def test_version__is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert capsys.readouterr().out == f"forescale {project['version']}\n"


def test_evaluate__answers_with_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model", "evaluate", TOPOLOGY, "--plan", BUSY, "--load", "ingest=1.2", "--json") == 0
    answer = json.loads(capsys.readouterr().out)[BUSY]
    # 1.2/s · 8 s / 12 instances
    assert answer["operators"]["transcribe"]["utilisation"] == pytest.approx(0.8)
    # saturates at 12 / 8 s
    assert answer["mst_per_s"]["ingest"] == pytest.approx(1.5)
    assert answer["bottleneck"] == "transcribe"
    assert answer["stable"] is True


def test_evaluate__compares_plans_and_says_unstable_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model", "evaluate", TOPOLOGY, "--plan", BUSY, "--plan", NIGHT, "--load", "ingest=1.2") == 0
    shown = capsys.readouterr().out
    # 1.2/s of which 2 instances of 8 s take 0.25/s; what would mend that is said below, once.
    assert "unstable: the backlog grows by ingest 0.95/s" in " ".join(shown.split())
    assert "raise the parallelism" not in shown
    assert "offered 1.2/s, processed 0.25/s, at most 0.25/s" in " ".join(shown.split())


def test_evaluate__writes_null_where_a_wait_has_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model", "evaluate", TOPOLOGY, "--plan", NIGHT, "--load", "ingest=1.2", "--json") == 0
    answer = json.loads(capsys.readouterr().out)[NIGHT]
    assert answer["operators"]["transcribe"]["wait_s"] is None
    assert answer["latency_s"] is None


def test_evaluate__refuses_an_unknown_operator_in_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("topology: call-analytics\nparallelism: {ingest: 1, transcribe: 1, classify: 1, cuont: 1}\n")
    error = fails(capsys, "model", "evaluate", TOPOLOGY, "--plan", str(plan), "--load", "ingest=1")
    assert "plan.yaml" in error
    assert "unknown operator 'cuont'" in error


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("ingest=-1", "-1 is out of bounds; give 0, or 1e-09 to 1e+12"),
        ("ingest=nan", "nan is out of bounds"),
        ("ingest", "SOURCE=NUMBER"),
        ("calls=1", "'calls'"),
    ],
)
def test_evaluate__refuses_a_load_that_cannot_be(capsys: pytest.CaptureFixture[str], load: str, message: str) -> None:
    assert message in fails(capsys, "model", "evaluate", TOPOLOGY, "--plan", BUSY, "--load", load)


def test_evaluate__refuses_a_damaged_profile_by_field(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text('{"topology": "call-analytics", "operators": {"transcribe": {"service_s": -1}}}')
    arguments = (TOPOLOGY, "--plan", BUSY, "--load", "ingest=1", "--profile", str(profile))
    assert "service time -1.0 s" in fails(capsys, "model", "evaluate", *arguments)


def test_config_check__passes_the_examples_and_shows_no_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESCALE_LEDGER_URL", "postgresql+psycopg://me:s3cret@db/ledger")
    monkeypatch.setenv("FORESCALE_MLFLOW_URI", "https://me:s3cret@mlflow.example/")
    assert run("config", "check", "--json") == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)["problems"] == {}
    assert "s3cret" not in shown


def test_config_check__fails_on_a_bad_file_and_names_the_field(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = yaml.safe_load(Path(TOPOLOGY).read_text())
    body["streams"].append({"from": "count", "to": "ingest"})
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(body))
    assert run("config", "check", str(bad)) == 1
    assert "cycle" in capsys.readouterr().out


def test_setting__that_cannot_be_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_CLOCK", "sundial")
    error = fails(capsys, "plan", TOPOLOGY)
    assert "FORESCALE_CLOCK" in error
    assert "'real', 'trace' or 'paced'" in error


def test_plan__without_anything_says_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert "run `forescale history build`" in fails(capsys, "plan", TOPOLOGY)


def test_forecast__without_a_history_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "history" in fails(capsys, "forecast", TOPOLOGY)


def test_deploy__of_an_unknown_step_or_schedule_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no step nope-1" in fails(capsys, "deploy", "now", "nope-1")
    assert "no schedule nope" in fails(capsys, "plan", "approve", "nope")


def test_home__that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("FORESCALE_HOME", str(blocked))
    assert str(blocked) in fails(capsys, "plan", "list", TOPOLOGY)


@pytest.mark.parametrize("url", ["admin:s3cret@flink:8081", "http://flink:80a1", "ftp://admin:s3cret@flink/"])
def test_config_check__refuses_an_address_without_repeating_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, url: str
) -> None:
    body = yaml.safe_load(Path(TOPOLOGY).read_text())
    for kind in ("flink", "flnk"):
        body["cluster"] = {"kind": kind, "url": url, "job": "calls"}
        file = tmp_path / "call-analytics.yaml"
        file.write_text(yaml.safe_dump(body, sort_keys=False))
        assert run("config", "check", str(file)) == 1
        shown = capsys.readouterr().out
        assert "cluster" in shown
        assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("section", "field", "value", "message"),
    [
        ("planning", "max_parallelism", {"transcibe": 3}, "unknown operator 'transcibe'"),
        ("planning", "allow", 1.5, "less than or equal to 1"),
        ("planning", "quantile", 0.97, "not calibrated; give one of 0.5, 0.9, 0.95, 0.99"),
    ],
)
def test_config_check__refuses_what_would_not_be_obeyed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, section: str, field: str, value: object, message: str
) -> None:
    body = yaml.safe_load(Path(TOPOLOGY).read_text())
    body[section][field] = value
    file = tmp_path / "call-analytics.yaml"
    file.write_text(yaml.safe_dump(body, sort_keys=False))
    assert run("config", "check", str(file)) == 1
    assert message in " ".join(capsys.readouterr().out.split())


def test_error__is_a_document_too_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("deploy", "now", "nope-1", "--json") == 1
    assert "no step nope-1" in json.loads(capsys.readouterr().out)["error"]


def test_wrong_usage__exits_with_two() -> None:
    assert run("model", "evaluate", TOPOLOGY, "--plan") == 2


def test_deploy__to_a_cluster_that_does_not_answer_names_its_address(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = yaml.safe_load(Path(TOPOLOGY).read_text())
    # Port 9 (discard) has no listener on loopback.
    body["cluster"] = {"kind": "flink", "url": "http://127.0.0.1:9", "job": "calls"}
    file = tmp_path / "call-analytics.yaml"
    file.write_text(yaml.safe_dump(body, sort_keys=False))
    error = fails(capsys, "deploy", "now", str(file), "--set", "transcribe=3")
    assert "127.0.0.1:9" in error


def test_deploy__of_a_plan_file_with_an_unknown_operator_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("topology: call-analytics\nparallelism: {ingest: 1, transcribe: 1, classify: 1, cuont: 1}\n")
    assert "unknown operator 'cuont'" in fails(capsys, "deploy", "now", TOPOLOGY, "--file", str(plan))
    assert "OPERATOR=INSTANCES" in fails(capsys, "deploy", "now", TOPOLOGY, "--set", "transcribe=many")


def test_history__of_less_than_a_day_is_too_short_to_forecast(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime, timedelta

    import numpy as np

    from forecasting.arrivals.rows import history_rows
    from forecasting.arrivals.store import write_history
    from planner.clock import TraceClock

    start = datetime(2026, 3, 2, tzinfo=UTC)
    end = start + timedelta(hours=20)
    alive = np.array([[int(start.timestamp()), int(end.timestamp())]], dtype=np.int64) * 1_000_000
    rows = history_rows("call-analytics", "ingest", np.full(1200, 5), alive, start=start, window_s=60)
    write_history(rows, tmp_path / "home" / "history", "call-analytics", start, end)
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    TraceClock(tmp_path / "home" / "clock").start_at(end)
    error = fails(capsys, "forecast", TOPOLOGY)
    # 20 h are 0.83 days.
    assert "0.83 days of history, 1 are needed" in error
    assert [path.name for path in (tmp_path / "home" / "forecasts" / "call-analytics").iterdir()] == ["failures.json"]
