"""README is short, and what it shows is true: commands, output, picture and table."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from forescale.cli import main
from forescale.cli.commands import asked
from forescale.cli.main import application

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
RACES = (PROJECT / "benchmarks" / "results" / "race.md").read_text(encoding="utf-8")
REPLAYS = (PROJECT / "benchmarks" / "results" / "replay.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
POLICIES = {
    "static plan for the peak": "static-peak",
    "forescale, .2 % of minutes allowed late": "planner",
    "forescale, 2 % allowed": "planner@0.02",
    "Flink's autoscaler": "flink-autoscaler",
    "Kubernetes' HPA at 70 %": "hpa-70",
}
"""Rows of README's table, and of the table of benchmarks/results/replay.md."""


def cells(text: str, name: str) -> list[str]:
    """Of the first row of a table in Markdown that begins with the name."""
    row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def commands() -> list[list[str]]:
    lines = [line.partition("#")[0] for block in BLOCKS for line in block.splitlines()]
    return [shlex.split(each) for line in lines for each in line.split("&&") if each.strip().startswith("forescale ")]


def test_readme__is_read_in_a_minute() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 110] == []
    assert len(re.findall(r"(?<!!)\[[^]]*\]\([^)]*\)", README)) <= 9


def test_commands__are_those_of_the_command_line() -> None:
    assert len(commands()) >= 8
    for _, *words in commands():
        group = get_command(application(*asked(words)))
        command = group.commands[words[0]]  # type: ignore[attr-defined]
        for word in words[1:]:
            if word in getattr(command, "commands", {}):
                command = command.commands[word]
        # A group without one of its commands runs its default one.
        options = {
            option
            for each in (command, *getattr(command, "commands", {}).values())
            for parameter in each.params
            for option in parameter.opts
        }
        assert {word for word in words if word.startswith("--")} <= options, words


def test_example__prints_what_readme_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    monkeypatch.chdir(PROJECT)
    command, *lines = next(block for block in BLOCKS if block.startswith("$ forescale model evaluate")).splitlines()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[2:])
    assert ended.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in lines] == lines


@pytest.mark.parametrize(("row", "policy"), POLICIES.items())
def test_table__has_the_medians_of_the_replays(row: str, policy: str) -> None:
    """There, a cell is the median; the worst: `0.58; 0.91`. Here, rounded."""
    _, cost, late, rescales = cells(README, row)
    measured = cells(REPLAYS, policy)
    median = {name: measured[index].partition(";")[0] for name, index in (("cost", 3), ("late", 7), ("rescales", 8))}
    assert float(cost) == float(median["cost"])
    digits = len(late.removesuffix(" %").partition(".")[2])
    assert float(late.removesuffix(" %")) == round(float(median["late"].removesuffix("%")), digits)
    assert float(rescales) == pytest.approx(float(median["rescales"]), abs=0.5)


def test_picture_and_table__come_with_the_commands_that_make_them() -> None:
    (picture,) = re.findall(r"!\[[^]]*\]\(([^)]*)\)", README)
    assert (PROJECT / picture).stat().st_size < 250_000
    for script in re.findall(r"python (benchmarks/\w+\.py)", README):
        assert (PROJECT / script).exists()
    assert "`make race TRACE=" in README
    assert "python benchmarks/replay.py" in README


def test_picture__has_the_figures_of_the_race() -> None:
    """There, a cell is the engine's figure and the replay's: `61.0; 63.7`, of 1,440 minutes."""
    below = " ".join(README[README.index("](docs/day.svg)") : README.index("## Install")].split())
    for policy in ("planner", "flink-autoscaler"):
        hours, late = (cells(RACES, policy)[at].partition(";")[0] for at in (1, 2))
        minutes = round(float(late.removesuffix(" %")) * 14.4)
        assert f"{hours} instance-hours and {minutes or 'none'}" in below or f"{hours} and {minutes or 'none'}" in below


@pytest.mark.parametrize("page", ["README.md", "docs/airflow.md"])
def test_install_line__finds_wheel_and_constraints_where_make_release_puts_them(page: str) -> None:
    lock = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    (airflow,) = re.findall(r"^apache-airflow==(\S+)", lock, re.MULTILINE)
    text = (PROJECT / page).read_text(encoding="utf-8")
    assert "`make release`" in text
    assert f"-c dist/constraints-airflow-{airflow}.txt" in text
    for line in re.findall(r"pip install .*forescale\[.*", text):
        assert "--find-links dist " in line
