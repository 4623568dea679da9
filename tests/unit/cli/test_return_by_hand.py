"""What a terminal says to whoever wants the plan before back, once and again, after a step was deployed."""

import getpass
import json
import re
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from shadow_days import FIRST, NAME, installed_for_commands, plan_now

from forescale.cli.main import main
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.clock import TraceClock

BEFORE = {"read": 1, "count": 8}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    settings = installed_for_commands(tmp_path, monkeypatch)
    cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state()
    return settings


@pytest.fixture
def deployed(settings: Settings) -> list[str]:
    """Ids of the steps of an approved schedule, the first of which was deployed in place of BEFORE."""
    made = plan_now(settings)
    ledger = ledger_of(settings)
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="seen")
    first, *later = ledger.steps(schedule_id=made.schedule_id)
    assert dict(first.replaces.parallelism) == BEFORE
    assert later
    TraceClock(settings.clock_file).advance_to(first.deploy_at)
    with pytest.raises(SystemExit) as ended:
        main(["deploy", "due", NAME])
    assert ended.value.code == 0
    return [first.id, *(step.id for step in later)]


def told(capsys: pytest.CaptureFixture[str], *line: str, code: int) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(line))
    assert ended.value.code == code
    said = capsys.readouterr()
    return " ".join((said.err if code else said.out).split())


def runs(settings: Settings) -> dict[str, int]:
    return dict(cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state().plan.parallelism)


def command_in(said: str) -> list[str]:
    """The command between the last backticks, as a shell takes it apart."""
    program, *words = shlex.split(re.findall("`([^`]*)`", said)[-1])
    assert program == "forescale"
    return words


def test_a_step_whose_plan_was_replaced__is_not_said_to_run_when_it_is_deployed_again(
    settings: Settings, deployed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, put = deployed[0], runs(settings)
    assert "is verified" in told(capsys, "deploy", "now", first, code=0)
    told(capsys, "deploy", "now", NAME, "--set=count=8", "--why", "back", code=0)
    assert runs(settings) == BEFORE
    said = told(capsys, "deploy", "now", first, code=1)
    assert f"step {first} is not deployed again" in said
    assert "has put read 1 · count 8 in its place" in said
    told(capsys, *command_in(said), code=0)
    assert runs(settings) == put


def test_a_step_that_was_called_off__is_refused_with_who_did_it_and_how_to_deploy_its_plan(
    settings: Settings, deployed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = ledger_of(settings)
    schedule, second = str(ledger.step(deployed[0]).schedule_id), ledger.step(deployed[1])
    ledger.veto_schedule(schedule, at=FIRST + timedelta(hours=1), by="ben", why="")
    said = told(capsys, "deploy", "now", second.id, code=1)
    assert f"step {second.id} ({second.plan.brief()}) is not deployed: it is vetoed (vetoed by ben)" in said
    told(capsys, *command_in(said), code=0)
    assert runs(settings) == dict(second.plan.parallelism)


def test_list__says_who_deployed_a_plan_by_hand_and_why_and_of_no_plan_that_is_gone_that_it_runs(
    settings: Settings, deployed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "deploy", "now", NAME, "--set=count=8", "--why", "a fair", code=0)
    steps = {
        each["step_id"]: each for each in json.loads(told(capsys, "plan", "list", NAME, "--json", code=0))["steps"]
    }
    (by_hand,) = (step for step in steps.values() if step["schedule_id"] is None)
    assert by_hand["reason"].startswith(f"asked for by {getpass.getuser()} (a fair); in place at 2026-03-02 ")
    assert steps[deployed[0]]["state"] == by_hand["state"] == "verified"
    assert "runs" not in steps[deployed[0]]["reason"]
