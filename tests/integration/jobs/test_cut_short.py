"""`forescale deploy due`, run from cron, brings to its end what a killed process has begun, not what still runs."""

from datetime import timedelta
from pathlib import Path

import pytest
from faulty_calls import KilledError
from shadow_days import NAME, install

from forescale.jobs.deploy import deploy, deploy_due
from forescale.jobs.locks import deployment_lock
from forescale.jobs.requested_deployment import request_deployment
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Refusal
from planner.clusters.simulator import SimulatedCluster
from planner.errors import DeploymentUnderWay
from planner.ledger.step_state import StepState


def asked_for(settings: Settings) -> str:
    asked = request_deployment(
        Workspace(settings), NAME, parallelism={"count": 7}, deploy_at=None, by="anna", request_id="r1"
    )
    return asked.step_id


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("later", [timedelta(minutes=1), timedelta(hours=2)])
def test_due__takes_up_a_deployment_that_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: bool, later: timedelta
) -> None:
    """What the cluster had taken is verified however late; what it had not is not asked for after its hour."""
    settings = install(tmp_path, "act")
    step = asked_for(settings)
    taken = SimulatedCluster.apply

    def killed(cluster: SimulatedCluster, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        if effect:
            taken(cluster, plan, expected=expected)
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(SimulatedCluster, "apply", killed)
        with pytest.raises(KilledError):
            deploy_due(Workspace(settings), NAME)
    assert ledger_of(settings).step(step).state is StepState.DEPLOYING
    clock_of(settings).wait(later.total_seconds())
    done = deploy_due(Workspace(settings), NAME)
    runs = cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state().plan.parallelism["count"]
    if effect or later < timedelta(hours=1):
        assert [each.state for each in done.deployed] == [StepState.VERIFIED]
        assert runs == 7
    else:
        assert "cut short before the cluster took it" in done.failed[step]
        assert runs == 8


def test_due__leaves_a_deployment_alone_that_another_process_works_on(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    step = asked_for(settings)
    with deployment_lock(Workspace(settings), step) as alone:
        assert alone
        done = deploy_due(Workspace(settings), NAME)
        with pytest.raises(DeploymentUnderWay):
            deploy(Workspace(settings), step)
    assert (done.deployed, done.failed) == ((), {})
    assert "is deployed by another process right now" in done.held[step]
    assert [each.state for each in deploy_due(Workspace(settings), NAME).deployed] == [StepState.VERIFIED]
