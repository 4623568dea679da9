"""The day before a decision under others, beside what the ledger knows of what ran."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from shadow_days import FIRST, NAME, install, plan_now

from forescale.cli.schedule_answer import schedule_answer
from forescale.codec import to_json
from forescale.jobs.deploy import deploy_due
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.review import review
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted

pytestmark = pytest.mark.slow


def followed(settings: Settings, made: ProposedSchedule) -> None:
    """Approve a schedule and deploy all of it."""
    if made.asks:
        review(Workspace(settings), made.schedule_id, approve=True, by="anna", why="as planned")
    for step in ledger_of(settings).steps(schedule_id=made.schedule_id):
        TraceClock(settings.clock_file).advance_to(step.deploy_at + timedelta(seconds=1))
        assert not deploy_due(Workspace(settings), NAME).failed


def test_last_day__sets_what_ran_beside_the_guard_and_hindsight(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    clock = TraceClock(settings.clock_file)
    made = plan_now(settings)
    assert made.last_day is not None
    assert made.last_day.unknown.startswith("nothing was deployed before that day")
    followed(settings, made)
    clock.advance_to(FIRST + timedelta(days=1))
    followed(settings, plan_now(settings))
    clock.advance_to(FIRST + timedelta(days=2))
    day = plan_now(settings).last_day
    assert day is not None
    assert day.ran is not None
    assert (day.start, day.end) == (FIRST + timedelta(days=1), FIRST + timedelta(days=2))
    # The simulator's own minutes tell the same; a plan counts from the end of its downtime in the ledger alone.
    config = topology_config(NAME, settings)
    record = cluster_of(config, settings, clock_of(settings)).record(day.start, day.end)
    assert record is not None
    hours = sum(int(np.sum(counts)) for counts in record.parallelism.values()) / 60
    assert day.ran.instance_hours == pytest.approx(hours, abs=0.5)
    assert day.ran.minutes_known > 0
    assert day.hindsight.instance_hours < day.ran.instance_hours
    assert day.hindsight.instance_hours < day.guard.instance_hours


def test_last_day__of_a_plan_that_somebody_else_put_in_place_is_not_known(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    followed(settings, plan_now(settings))
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(days=1, minutes=30))
    config = topology_config(NAME, settings)
    cluster = cluster_of(config, settings, clock_of(settings))
    running = cluster.state().plan
    assert isinstance(cluster.apply(PhysicalPlan(NAME, {"read": 1, "count": 9}), expected=running), Accepted)
    TraceClock(settings.clock_file).advance_to(FIRST + timedelta(days=2))
    made = plan_now(settings)
    assert made.last_day is not None
    assert made.last_day.ran is None
    assert "was replaced by read 1 · count 9 outside forescale" in made.last_day.unknown
    told = json.loads(json.dumps(to_json(schedule_answer(made))))
    assert told["last_day"]["guard"]["minutes_known"] == 1440
    assert next(each["kind"] for each in told["alternatives"]) == "hold"
