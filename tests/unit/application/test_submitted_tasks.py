"""Storm runs no more executors of a component than the tasks it was submitted with: read from what runs, or assumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guard_bench import Bench
from shadow_days import NAME, install, plan_now

from forescale.files.topology import TopologyConfig
from forescale.report.kit.stands_on import stands_on_lines
from forescale.settings import Settings
from forescale.situation.grounds import grounds
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from planner.clusters.cluster import ClusterState
from planner.clusters.simulator import SimulatedCluster
from planner.errors import PlanError

TASKS = {"read": 1, "count": 5}


def situation(tmp_path: Path, **planning: Any) -> Situation:
    """count has no max_parallelism in its file."""
    body = {
        "topology": "words",
        "engine": "storm",
        "operators": {"read": {"service_s": 0.001, "max_parallelism": 2}, "count": {"service_s": 0.1}},
        "streams": [{"from": "read", "to": "count"}],
        "planning": planning,
    }
    return Workspace(Settings(home=tmp_path)).situation(TopologyConfig.model_validate(body))


def told(of: Situation) -> str:
    return "\n".join(stands_on_lines(grounds(of), None))


def test_tasks_that_the_file_does_not_give__are_those_that_run(tmp_path: Path) -> None:
    before = situation(tmp_path)
    after = before.as_submitted(TASKS)
    assert before.topology.max_parallelism == {"read": 2, "count": 128}
    assert after.topology.max_parallelism == {"read": 2, "count": 5}
    assert after.model.topology is after.topology
    assert "tasks 128" in told(before).partition("assumed: ")[2]
    assert "tasks as it was submitted" in told(after).partition("assumed: ")[0]


def test_a_wish_beyond_the_tasks__is_refused_with_both(tmp_path: Path) -> None:
    wish = situation(tmp_path, min_parallelism={"count": 6})
    with pytest.raises(PlanError, match=r"min_parallelism of count is 6, .* submitted with 5 tasks of it.*; lower it"):
        wish.as_submitted(TASKS)


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator, which has no tasks of its own, says what Storm does."""
    state = SimulatedCluster.state

    def with_tasks(cluster: SimulatedCluster) -> ClusterState:
        seen = state(cluster)
        return replace(seen, most=dict.fromkeys(seen.plan.parallelism, TASKS["count"]))

    monkeypatch.setattr(SimulatedCluster, "state", with_tasks)


@pytest.mark.usefixtures("submitted")
def test_plans__stay_within_the_tasks_that_run(tmp_path: Path) -> None:
    """60/s come at noon, for which 7 instances of 10/s were planned."""
    settings = install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("count: 8}", "count: 4}"))
    made = plan_now(settings)
    schedule = ledger_of(settings).schedule(made.schedule_id).schedule
    assert max(step.plan.parallelism["count"] for step in schedule.steps) == TASKS["count"]


@pytest.mark.usefixtures("submitted")
def test_guard__stays_within_the_tasks_that_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [60.0] * 30, 2)
    bench.until(20)
    assert bench.work == TASKS["count"]
