"""`forescale deploy due` says so where nothing is due, and when the next step is."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from shadow_days import FIRST, NAME, installed_for_commands, plan_now

from forescale.cli.main import main
from forescale.jobs.plan import plan
from forescale.jobs.review import review
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from modeling.inputs.physical_plan import adds_instances
from planner.clock import TraceClock
from planner.errors import PlanError
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


def test_an_approved_plan_beyond_a_limit_that_was_set_since__is_held_and_no_longer_approved(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan_now(settings)
    ledger = ledger_of(settings)
    steps = ledger.steps(schedule_id=made.schedule_id)
    larger = next(step for step in steps if adds_instances(step.replaces.parallelism, step.plan.parallelism))
    file = settings.topologies / f"{NAME}.yaml"
    text = yaml.safe_load(file.read_text())
    text["planning"]["max_instances"] = larger.plan.instances - 1
    file.write_text(yaml.safe_dump(text))
    words = (
        f"{larger.plan.brief()} has {larger.plan.instances} instances, and planning.max_instances of its file is "
        f"{larger.plan.instances - 1} by now; plan again: `forescale plan {NAME}`"
    )
    with pytest.raises(PlanError, match=f"schedule {made.schedule_id} is not approved: {re.escape(words)}"):
        review(Workspace(settings), made.schedule_id, approve=True, by="anna")
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="before the limit was set")
    TraceClock(settings.clock_file).advance_to(larger.deploy_at)
    capsys.readouterr()
    assert f"step {larger.id} is not deployed: {words}" in due(capsys)
    assert ledger.step(larger.id).state is StepState.APPROVED


def test_a_review_of_a_schedule_without_steps__says_that_there_is_nothing_to_answer(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(days=30))  # with nothing observed since
    held = plan(Workspace(settings), NAME)
    capsys.readouterr()
    for command in ("approve", "veto"):
        with pytest.raises(SystemExit) as ended:
            main(["plan", command, held.schedule_id])
        assert (ended.value.code, capsys.readouterr().out) == (
            0,
            f"schedule {held.schedule_id} keeps the running plan: it has no step to approve or veto\n",
        )
