"""Whatever is asked of the ledger and of the deployment, in whatever order: no shadow step is deployed."""

import contextlib
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from ledger_decisions import after, plan_of, schedule_of

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, ClusterState, Status, Verified
from planner.deployment import Patience, deploy_step
from planner.errors import LedgerError, PlanError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState


class Obedient:
    """A cluster that takes every plan at once, whatever runs, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[PhysicalPlan] = []

    def state(self) -> ClusterState:
        return ClusterState("calls", plan_of(2), Status.RUNNING, after(0), after(0), None)

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        return []

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted:
        self.asked.append(plan)
        return Accepted(plan, expected, after(0))

    def progress(self, accepted: Accepted) -> Verified:
        return Verified(accepted.plan, after(0), 1.0)

    def undo(self, accepted: Accepted) -> Accepted:
        return Accepted(accepted.replaced, accepted.plan, after(0))


class ShadowMachine(RuleBasedStateMachine):
    """Plans of shadow schedules have 100 instances and more, all others fewer: what is deployed tells whose it was."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger(f"sqlite:///{Path(self.folder.name) / 'ledger.db'}")
        self.clock = TraceClock(Path(self.folder.name) / "clock")
        self.clock.start_at(after(0))
        self.cluster = Obedient()

    def teardown(self) -> None:
        self.folder.cleanup()

    schedules = Bundle("schedules")

    @property
    def now(self) -> datetime:
        return self.clock.now()

    @rule(minutes=st.integers(1, 90))
    def time_passes(self, minutes: int) -> None:
        self.clock.wait(60 * minutes)

    @rule(target=schedules, shadow=st.booleans(), counts=st.lists(st.integers(3, 5), min_size=1, max_size=3))
    def record_schedule(self, shadow: bool, counts: list[int]) -> str:
        # No two schedules are made at the same moment: which of them is the newest would be anybody's guess.
        self.clock.wait(60)
        made = schedule_of(*(count + 100 * shadow for count in counts), made_at=self.now)
        return self.ledger.record_schedule(made, shadow=shadow)

    @rule(schedule=schedules)
    def approve(self, schedule: str) -> None:
        with contextlib.suppress(LedgerError):
            self.ledger.approve_schedule(schedule, at=self.now, by="anna", why="fair")

    @rule(schedule=schedules, expected=st.sampled_from(StepState), to=st.sampled_from(StepState))
    def transition(self, schedule: str, expected: StepState, to: StepState) -> None:
        with contextlib.suppress(LedgerError):
            self.ledger.transition(f"{schedule}-1", expected=expected, to=to, at=self.now, by="ben", why="a try")

    @rule(schedule=schedules)
    def resume(self, schedule: str) -> None:
        with contextlib.suppress(LedgerError):
            self.ledger.resume(f"{schedule}-1", expected=StepState.DEPLOYING, at=self.now, by="ben", why="a try")

    @rule()
    def expire(self) -> None:
        self.ledger.expire_steps(self.now, by="ben")

    @rule(schedule=schedules, position=st.integers(1, 3))
    def deploy(self, schedule: str, position: int) -> None:
        with contextlib.suppress(LedgerError, PlanError):
            deploy_step(
                f"{schedule}-{position}", self.ledger, self.cluster, self.clock, by="ben", patience=Patience(hold_s=0)
            )

    @rule()
    def deploy_what_is_due(self) -> None:
        for step in self.ledger.due_steps(self.now):
            deploy_step(step.id, self.ledger, self.cluster, self.clock, by="ben", patience=Patience(hold_s=0))

    @invariant()
    def no_shadow_step_comes_near_the_cluster(self) -> None:
        assert [plan.brief() for plan in self.cluster.asked if plan.instances > 100] == []
        shadows = [step for step in self.ledger.steps() if step.plan.instances > 100]
        assert {step.state for step in shadows} <= {StepState.SHADOW, StepState.SUPERSEDED}
        assert {step.attempt for step in shadows} <= {0}

    @invariant()
    def in_shadow_mode_nothing_of_a_schedule_waits(self) -> None:
        if self.ledger.shadow.span("calls") is not None:
            waiting = self.ledger.steps(states=(StepState.PROPOSED, StepState.APPROVED, StepState.DUE))
            assert waiting == []


TestShadowSteps = pytest.mark.slow(ShadowMachine.TestCase)
TestShadowSteps.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
