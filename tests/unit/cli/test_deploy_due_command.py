"""`forescale deploy due` says so where nothing is due, and when the next step is."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from shadow_days import FIRST, NAME, installed_for_commands, plan_now

from forescale.cli.main import main
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock
from planner.ledger.step_state import StepState


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    return installed_for_commands(tmp_path, monkeypatch)


def due(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["deploy", "due", NAME, *options])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_deploy_due__says_that_nothing_is_due_and_what_comes(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert due(capsys) == "nothing is due: no step is planned"
    made = plan_now(settings)
    capsys.readouterr()
    ledger = ledger_of(settings)
    steps = ledger.steps(schedule_id=made.schedule_id)
    count = f"{len(steps)} step" + "s" * (len(steps) > 1)
    assert due(capsys) == f"nothing is due: no step is approved; {count} to approve or veto"
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="seen")
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(seconds=1))
    (first, *_) = [step for step in steps if step.deploy_at > FIRST + timedelta(seconds=1)]
    at = f"{first.deploy_at:%Y-%m-%d %H:%M} UTC"
    assert f"step {first.id} ({first.plan.brief()}) is the next, at {at}" in due(capsys)
    told = json.loads(due(capsys, "--json"))
    assert told["coming"] == {"step_id": first.id, "deploy_at": first.deploy_at.isoformat(), "plan": first.plan.brief()}
    assert (told["deployed"], told["expired"], told["unanswered"]) == ([], [], 0)


def test_deploy_due__of_what_is_due_tells_that_alone(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    made = plan_now(settings)
    ledger = ledger_of(settings)
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="seen")
    first = ledger.steps(schedule_id=made.schedule_id)[0]
    TraceClock(settings.clock_file).advance_to(first.deploy_at)
    capsys.readouterr()
    assert "nothing is due" not in due(capsys)
    assert ledger.step(first.id).state is StepState.VERIFIED
