"""Floor mode from the topology file to the cluster: planned, approved, deployed by `deploy due`, and told."""

from datetime import timedelta
from pathlib import Path

import pytest
from shadow_days import NAME, install, plan_now

from forescale.cli.plan_make import show_schedule
from forescale.cli.schedule_answer import schedule_answer
from forescale.jobs.deploy import deploy_due
from forescale.jobs.review import review
from forescale.report.decision.verdict import FLOOR_MODE
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted
from planner.ledger.step_state import StepState


def test_the_floor__is_moved_and_somebody_elses_instances_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = install(tmp_path, "floor")
    config, ledger, clock = topology_config(NAME, settings), ledger_of(settings), TraceClock(settings.clock_file)
    cluster = cluster_of(config, settings, clock_of(settings))
    made = plan_now(settings)
    assert made.basis.floor
    assert not made.entry.shadow
    assert FLOOR_MODE in made.report.read_text(encoding="utf-8")
    show_schedule(schedule_answer(made))
    assert "each plan is a lower bound (planning.mode)" in capsys.readouterr().out
    review(Workspace(settings), made.schedule_id, approve=True, by="anna", why="as planned")

    # 8 instances ran at 06:00. Somebody else takes 3 away meanwhile: in act mode every step would be refused.
    running = cluster.state().plan
    fewer = PhysicalPlan(NAME, {**running.parallelism, "count": 5})
    assert isinstance(cluster.apply(fewer, expected=running), Accepted)
    seen = []
    for step in ledger.steps(schedule_id=made.schedule_id):
        clock.advance_to(step.deploy_at + timedelta(seconds=1))
        before = cluster.state().plan.parallelism["count"]
        assert not deploy_due(Workspace(settings), NAME).failed
        assert ledger.step(step.id).state is StepState.VERIFIED
        after, floor = cluster.state().plan.parallelism["count"], step.plan.parallelism["count"]
        assert after >= floor
        seen.append((before, floor, after))
    # The day needs more than the 5; what forescale added for it goes when the evening needs it no more, the 5 stay.
    assert max(after for _, _, after in seen) > 5
    assert seen[-1][1] < 5
    assert seen[-1][2] == 5
