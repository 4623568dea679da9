"""A clock that jumps ahead for one plan, and is right again: planning goes on, and nothing approved is lost."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from shadow_days import BEFORE, FIRST, MONDAY, NAME, install, plan_now, write_arrivals

from forescale.jobs.clock_check import check_against_cluster
from forescale.jobs.deploy import deploy_due
from forescale.jobs.plan import plan
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.clusters.cluster import ClusterState, Status
from planner.errors import PlanError
from planner.ledger.step_state import StepState

JUMP = timedelta(days=3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The simulator knows the arrivals to come, and the history ends now."""
    made = install(tmp_path, "act").model_copy(update={"mlflow_uri": "http://127.0.0.1:9"})
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("truth: history", "truth: truth"))
    shutil.copytree(made.home / "history", made.home / "truth")
    shutil.rmtree(made.home / "history")
    write_arrivals(made, MONDAY - BEFORE, FIRST)
    cluster_of(topology_config(NAME, made), made, clock_of(made)).state()
    return made


def plan_ahead(settings: Settings) -> None:
    """Only the clock jumps: the simulator, which never goes back, is as it was before."""
    clock = TraceClock(settings.clock_file)
    before = clock.now()
    shutil.copytree(settings.home / "simulator", settings.home / "simulator before")
    clock.start_at(before + JUMP)
    plan(Workspace(settings), NAME)
    clock.start_at(before)
    shutil.rmtree(settings.home / "simulator")
    (settings.home / "simulator before").rename(settings.home / "simulator")


def test_plan__after_a_jump_ahead_proposes_and_is_approved_as_ever(settings: Settings) -> None:
    plan_ahead(settings)
    made = plan_now(settings)
    assert made.steps
    assert {step.state for step in made.steps} == {StepState.PROPOSED}
    ledger = ledger_of(settings)
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="yes")
    assert {step.state for step in ledger.steps(schedule_id=made.schedule_id)} == {StepState.APPROVED}


def test_deploy_due__after_a_jump_ahead_deploys_what_was_approved_before_it(settings: Settings) -> None:
    made, ledger = plan_now(settings), ledger_of(settings)
    ledger.approve_schedule(made.schedule_id, at=FIRST, by="anna", why="yes")
    plan_ahead(settings)
    assert {step.state for step in ledger.steps(schedule_id=made.schedule_id)} == {StepState.EXPIRED}
    TraceClock(settings.clock_file).advance_to(made.steps[0].deploy_at)
    done = deploy_due(Workspace(settings), NAME)
    assert [each.step_id for each in done.deployed] == [made.steps[0].id]


def test_deploy_due__by_a_clock_that_is_behind_what_arrived_is_refused_and_changes_nothing(settings: Settings) -> None:
    made, ledger = plan_now(settings), ledger_of(settings)
    TraceClock(settings.clock_file).start_at(FIRST - JUMP)
    with pytest.raises(PlanError, match=r"2026-02-27 06:00 UTC by this machine's clock, .* set the clock by NTP"):
        deploy_due(Workspace(settings), NAME)
    assert [entry.id for entry in ledger.schedules(NAME)] == [made.schedule_id]
    assert {step.state for step in ledger.steps(schedule_id=made.schedule_id)} == {StepState.PROPOSED}


def test_check_against_cluster__names_both_clocks() -> None:
    state = ClusterState(NAME, PhysicalPlan(NAME, {"read": 1}), Status.RUNNING, FIRST, FIRST, 4)
    check_against_cluster(state, FIRST + timedelta(minutes=4))
    with pytest.raises(PlanError, match=r"2026-03-05 06:00 UTC .*, 3 d ahead of the clock .*\(2026-03-02 06:00 UTC\)"):
        check_against_cluster(state, FIRST + JUMP)
    with pytest.raises(PlanError, match="10 min behind"):
        check_against_cluster(state, FIRST - timedelta(minutes=10))
