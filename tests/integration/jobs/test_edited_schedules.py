"""`forescale plan edit`, and what a new schedule asks: days and nights on the real ledger and the simulator."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from shadow_days import FIRST, NAME, install, plan_now

from forescale.cli.main import main
from forescale.cli.schedule_answer import edit_answer, schedule_answer
from forescale.jobs.plan import plan
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.review import review
from forescale.orchestration.edited_review import edited
from forescale.orchestration.review_operator import TypedEdit
from forescale.report.kit.decision_words import edit_words
from forescale.report.kit.stands_on import stands_on_words
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock
from planner.errors import PlanError
from planner.ledger.entries import StepEntry
from planner.ledger.step_state import StepState
from planner.provenance import Quantity
from planner.step_cause import ReviewCause, ReviewCauseKind, StepCause, StepCauseKind

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

PROPOSED, APPROVED, SUPERSEDED = StepState.PROPOSED, StepState.APPROVED, StepState.SUPERSEDED


@pytest.fixture(scope="module")
def mlruns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture
def settings(tmp_path: Path, mlruns: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    made = install(tmp_path, "act").model_copy(update={"mlruns": mlruns})
    set_planning(tmp_path, "")
    values = {"HOME": made.home, "TOPOLOGIES": tmp_path, "MLRUNS": mlruns, "CLOCK": "trace"}
    for name, value in values.items():
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    return made


def set_planning(folder: Path, more: str) -> None:
    """Rescales are dear, so that few are made: down at once, up for the day, down for the night."""
    file = folder / f"{NAME}.yaml"
    planning = f"rescale_cost_instance_hours: 3{more}}}"
    file.write_text(re.sub(r"rescale_cost_instance_hours: .*}$", planning, file.read_text(), flags=re.MULTILINE))


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    with pytest.raises(SystemExit):
        main([*arguments, "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def steps_of(settings: Settings, schedule_id: str) -> list[StepEntry]:
    return ledger_of(settings).steps(schedule_id=schedule_id)


def counts(steps: list[StepEntry]) -> list[int]:
    return [step.plan.parallelism["count"] for step in steps]


def approve(settings: Settings, made: ProposedSchedule) -> None:
    review(Workspace(settings), made.schedule_id, approve=True, by="ben")
    assert {step.state for step in steps_of(settings, made.schedule_id)} == {APPROVED}


def test_an_edit__is_a_schedule_of_its_own_with_what_it_costs(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan_now(settings)
    assert counts(steps_of(settings, made.schedule_id)) == [2, 7, 2]
    day, begin, end = made.steps[1].id, made.steps[1].deploy_at, made.steps[2].deploy_at
    told = command(capsys, "plan", "edit", day, "--plan", "count=8", "--why", "a fair", "--by", "anna")
    # One instance more from the morning to the evening.
    more_h = (end - begin) / timedelta(hours=1)
    assert told["after"]["instance_hours"] - told["before"]["instance_hours"] == pytest.approx(more_h)
    assert told["after"]["violation_minutes"] <= told["before"]["violation_minutes"]
    # Both answers, and the page, say what they stand on.
    assert {each.quantity for each in made.basis.stands_on} >= {Quantity.SERVICE_TIME, Quantity.DOWNTIME, Quantity.LEAD}
    assert {each["quantity"] for each in told["stands_on"]} == {each.quantity for each in made.basis.stands_on}
    containers = [each for each in made.basis.stands_on if each.quantity is Quantity.CONTAINERS]
    assert containers
    assert stands_on_words(containers) in Path(told["report"]).read_text(encoding="utf-8")
    when = f"{begin:%a %H:%M} UTC"
    assert told["change"] == f"read 1 · count 8 at {when} instead of read 1 · count 7 at {when}"
    own = steps_of(settings, told["schedule_id"])
    assert counts(own) == [2, 8, 2]
    assert [step.deploy_at for step in own] == [step.deploy_at for step in made.steps]
    assert {step.state for step in own} == {PROPOSED}
    assert own[2].replaces == own[1].plan
    assert {step.state for step in steps_of(settings, made.schedule_id)} == {SUPERSEDED}
    entry = ledger_of(settings).schedule(told["schedule_id"])
    assert (of := entry.schedule.basis.edit) is not None
    assert (of.in_place_of, of.by, of.why, of.step) == (made.schedule_id, "anna", "a fair", 2)
    assert entry.schedule.cost_instance_hours == told["after"]["instance_hours"]
    assert edit_words(of, own[1].plan.brief(), begin).lower() in Path(told["report"]).read_text("utf-8").lower()
    # As after a kill between record and page: the same command finds the record, and writes the page.
    Path(told["report"]).unlink()
    repeated = command(capsys, "plan", "edit", day, "--plan", "count=8", "--why", "a fair", "--by", "anna")
    assert (repeated["schedule_id"], repeated["after"]) == (told["schedule_id"], told["after"])
    assert Path(told["report"]).exists()
    assert (
        "only a proposed or approved step"
        in command(capsys, "plan", "edit", day, "--plan", "count=9", "--by", "anna")["error"]
    )
    # Planning again for the same forecasts finds it, so that Airflow asks for it.
    again = plan(Workspace(settings), NAME)
    assert (again.schedule_id, again.asks) == (told["schedule_id"], True)
    assert (made.earlier_at, again.earlier_at) == (None, entry.schedule.made_at)
    asked = schedule_answer(again).summary
    assert "anna" in asked
    assert of.why in asked

    later = edited(Workspace(settings), again.schedule_id, TypedEdit("2", "", "2026-03-02 07:30"), by="eva", why="")
    assert [step.deploy_at for step in steps_of(settings, later.schedule_id)][1] == FIRST + timedelta(minutes=90)
    # Eight instead of two, for so much longer.
    more_h = 6 * (begin - FIRST - timedelta(minutes=90)) / timedelta(hours=1)
    effect = edit_answer(later)
    assert effect.after.instance_hours - effect.before.instance_hours == pytest.approx(more_h)
    with pytest.raises(PlanError, match="Edit is empty; give the step's number"):
        edited(Workspace(settings), later.schedule_id, TypedEdit("", "count=3", ""), by="eva", why="")
    assert effect.step_id == f"{later.schedule_id}-2"

    # The form of a topology whose days are those of Berlin shows their times, and takes them.
    file = settings.topologies / f"{NAME}.yaml"
    file.write_text(file.read_text() + "sources: {read: {timezone: Europe/Berlin}}\n")
    at_nine = edited(Workspace(settings), later.schedule_id, TypedEdit("2", "", "2026-03-02 09:00"), by="eva", why="")
    assert [step.deploy_at for step in steps_of(settings, at_nine.schedule_id)][1] == FIRST + timedelta(hours=2)


def test_an_edit_of_what_was_approved__takes_its_place_when_it_is_approved(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan_now(settings)
    approve(settings, made)
    day = made.steps[1].id
    proposed = command(capsys, "plan", "edit", day, "--set", "count=8", "--by", "anna")
    # The morning's step is the same; what is changed, and what follows on it, stands until somebody approves.
    assert list(proposed["states"].values()) == ["approved", "proposed", "proposed"]
    assert [step.state for step in steps_of(settings, made.schedule_id)] == [SUPERSEDED, APPROVED, APPROVED]
    assert ledger_of(settings).approvals.approver(f"{proposed['schedule_id']}-1") == "ben"

    line = ("plan", "edit", f"{proposed['schedule_id']}-2", "--plan", "count=9", "--by", "anna")
    recorded = command(capsys, *line)
    # As after a kill between record and approval.
    approved = command(capsys, *line, "--approve")
    assert approved["schedule_id"] == recorded["schedule_id"]
    assert list(approved["states"].values()) == ["approved", "approved", "proposed"]
    assert {step.state for step in steps_of(settings, made.schedule_id)} == {SUPERSEDED}
    assert {step.state for step in steps_of(settings, proposed["schedule_id"])} == {SUPERSEDED}
    edited = StepCause(StepCauseKind.EDITED, by="anna")
    assert ledger_of(settings).step(approved["step_id"]).why == edited


def test_an_edit__that_cannot_be_says_why_and_leaves_everything_as_it_was(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan_now(settings)
    before = ledger_of(settings).steps()
    night, day, _ = (step.id for step in made.steps)

    def excuse(*arguments: str) -> str:
        return str(command(capsys, "plan", "edit", *arguments)["error"])

    assert "nothing to edit; give --plan OPERATOR=INSTANCES, or --at TIME" in excuse(day)
    assert "--at 'soon' is no ISO time; give it like 2026-03-01T06:45:00Z" in excuse(day, "--at", "soon")
    assert "--plan 'count' is not OPERATOR=INSTANCES" in excuse(day, "--plan", "count")
    assert "unknown operator 'cuont'" in excuse(day, "--plan", "cuont=3")
    assert "has 100 instances > planning.max_instances of 64" in excuse(day, "--plan", "count=99")
    assert "2026-03-02 05:00 UTC is past" in excuse(day, "--at", "2026-03-02 05:00")
    assert "is too early: the step before it (read 1 · count 2)" in excuse(day, "--at", "2026-03-02 06:06")
    assert "and the next step (read 1 · count 2) is asked for at" in excuse(day, "--at", "2026-03-02 20:14")
    assert "no step nowhere-1" in excuse("nowhere-1", "--plan", "count=3")
    assert ledger_of(settings).steps() == before
    review(Workspace(settings), made.schedule_id, approve=False, by="ben", why="sale is off")
    assert "is vetoed since 2026-03-02 06:00 UTC (sale is off); only a proposed or approved step" in excuse(
        night, "--plan", "count=3"
    )


def test_a_new_forecast_that_changes_nothing__asks_nobody_again(settings: Settings) -> None:
    made = plan_now(settings)
    assert made.asks
    approve(settings, made)
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(minutes=3))
    # Its steps lie three minutes later, as those of its forecast do.
    again = plan_now(settings)
    assert again.schedule_id != made.schedule_id
    assert not again.asks
    assert {step.state for step in again.steps} == {APPROVED}
    assert again.steps[1].id in {step.id for step in ledger_of(settings).steps(topology=NAME, states=(APPROVED,))}
    assert "approved before by ben" in schedule_answer(again).summary
    assert {step.state for step in steps_of(settings, made.schedule_id)} == {SUPERSEDED}


def test_auto_approve__lets_small_steps_pass_and_tells_why_it_asks_for_others(
    settings: Settings, tmp_path: Path
) -> None:
    # The steps stop six instances, start five and stop five.
    # At once: a first step that waits for its review is the same twenty minutes later, and nothing is called off.
    set_planning(tmp_path, ", review_s: 0, auto_approve: {max_step: 5}")
    asked = plan_now(settings)
    assert asked.asks
    assert [step.state for step in asked.steps] == [PROPOSED] * 3
    first = f"{asked.schedule_id}-1"
    assert [step.review_cause for step in steps_of(settings, asked.schedule_id)] == [
        ReviewCause(ReviewCauseKind.MAX_STEP, 6, 5),
        *[ReviewCause(ReviewCauseKind.FOLLOWS, step=first)] * 2,
    ]
    # What a person has approved is not called off without a question.
    approve(settings, asked)
    set_planning(tmp_path, ", review_s: 0, auto_approve: {max_step: 6}")
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(minutes=20))
    later = plan_now(settings)
    assert later.asks
    cause = steps_of(settings, later.schedule_id)[0].review_cause
    assert cause == ReviewCause(ReviewCauseKind.CALLS_OFF, step=first, approved_by="ben")
    review(Workspace(settings), asked.schedule_id, approve=False, by="ben", why="sale is off")

    assert not (small := plan(Workspace(settings), NAME)).asks
    assert {step.state for step in small.steps} == {APPROVED}
    bounds = (ReviewCause(ReviewCauseKind.MAX_STEP, bound=6),)
    assert steps_of(settings, small.schedule_id)[0].why == StepCause(StepCauseKind.WITHIN_BOUNDS, bounds=bounds)
    # What nobody was asked for may be called off so.
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(minutes=45))
    assert not plan_now(settings).asks
    assert {step.state for step in steps_of(settings, small.schedule_id)} == {SUPERSEDED}


def test_a_window_of_people__is_kept_by_plan_and_page_and_passed_only_by_an_override(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # By night 10/s need 2 instances; from 22:00 to 23:00 a person wants 9.
    window = "{from: 22:00, until: 23:00, min_parallelism: {count: 9}}"
    set_planning(tmp_path, f", windows: [{window}]")
    made = plan_now(settings)
    steps = [step for step in made.steps if step.plan.parallelism["count"] == 9]
    (evening,) = steps
    assert 0 <= (evening.deploy_at.replace(hour=22, minute=0, second=0) - evening.deploy_at).total_seconds() <= 1800
    page = Path(made.report).read_text(encoding="utf-8")
    assert "At least 9 instances of count on Mon 2 Mar 22:00–23:00." in page.replace("\N{NO-BREAK SPACE}", " ")
    with pytest.raises(SystemExit):
        main(["plan", "edit", evening.id, "--plan", "count=5", "--why", "cheaper"])
    said = capsys.readouterr().err
    assert "5 instances of operator 'count' < 9 of planning.windows, from 2026-03-02 22:00" in said
    told = command(capsys, "plan", "edit", evening.id, "--plan", "count=5", "--why", "cheaper", "--override")
    assert len(told["passed"]) == 1


def test_an_edit_that_breaks_the_budget__says_so_first_in_the_terminal_too(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plan_now(settings)
    assert not [each for each in schedule_answer(made).warnings if "budget" in each]
    with pytest.raises(SystemExit):
        main(["plan", "edit", made.steps[1].id, "--plan", "count=3", "--why", "cheaper"])
    # 60/s of the day's load do not fit three instances of 10/s.
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("This schedule breaks its budget by its own estimate: ")
