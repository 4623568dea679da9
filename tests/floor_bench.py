"""A simulated cluster and a real ledger, while somebody else scales the job."""

from pathlib import Path

import numpy as np
from ledger_decisions import NOON, plan_of, steps_at

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, Cluster
from planner.clusters.simulator import SimulatedCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.ledger.ledger import Ledger

CALLS = Topology("calls", (Operator("ingest"), Operator("transcribe")), (Stream("ingest", "transcribe"),))
PROFILES = {
    "ingest": OperatorProfile("ingest", 0.001, {"ingest->transcribe": 1.0}),
    "transcribe": OperatorProfile("transcribe", 0.1),
}


class Bench:
    """4 instances of transcribe run at noon; each rescale takes 25 s, and 16 instances have room."""

    def __init__(self, folder: Path) -> None:
        self.clock = TraceClock(folder / "clock")
        self.clock.start_at(NOON)
        truth = ArrivalHistory("calls", {"ingest": ArrivalSeries("calls", "ingest", NOON, 60, np.full(600, 60.0))})
        self.cluster = SimulatedCluster(CALLS, PROFILES, plan_of(4), 16, 25, truth, self.clock, folder)
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.cluster.state()

    def planned(self, *steps: tuple[float, int]) -> list[str]:
        """Approved steps by the minute and the count of their plans. Their ids."""
        made = self.ledger.record_schedule(steps_at(*steps, made_at=self.clock.now()))
        self.ledger.approve_schedule(made, at=self.clock.now(), by="anna", why="as planned")
        return [f"{made}-{number}" for number in range(1, len(steps) + 1)]

    def deploy(self, step_id: str, cluster: Cluster | None = None, within: int = 16) -> Deployment:
        due = self.ledger.step(step_id).deploy_at
        if self.clock.now() < due:
            self.clock.advance_to(due)
        return deploy_step(
            step_id,
            self.ledger,
            cluster or self.cluster,
            self.clock,
            by="test",
            patience=Patience(120),
            floor_within=within,
        )

    def somebody_scales(self, count: int) -> None:
        running = self.cluster.state().plan
        assert isinstance(self.cluster.apply(plan_of(count), expected=running), Accepted)
        self.clock.wait(60)

    @property
    def runs(self) -> int:
        return self.cluster.state().plan.parallelism["transcribe"]
