"""The ledger against a model of it: whatever is asked of it in whatever order, steps go only where they may."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from ledger_decisions import after, plan_of, schedule_of

from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import FOLLOWS, WAITING, StepState


class LedgerMachine(RuleBasedStateMachine):
    """The model is a dictionary of states; now is in minutes after noon."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger(f"sqlite:///{Path(self.folder.name) / 'ledger.db'}")
        self.states: dict[str, StepState] = {}
        self.expiry: dict[str, int] = {}
        self.recorded: set[tuple[str, tuple[int, ...]]] = set()
        self.now = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    steps = Bundle("steps")

    @rule(minutes=st.integers(1, 60))
    def time_passes(self, minutes: int) -> None:
        self.now += minutes

    @rule(target=steps, topology=st.sampled_from(["calls", "mails"]), counts=st.lists(st.integers(3, 5), max_size=3))
    def record_schedule(self, topology: str, counts: list[int]) -> str:
        schedule = schedule_of(*counts, topology=topology, made_at=after(self.now))
        schedule_id = self.ledger.record_schedule(schedule)
        if (topology, tuple(counts)) not in self.recorded:
            self.recorded.add((topology, tuple(counts)))
            for step_id, state in self.states.items():
                of_topology = step_id.startswith(f"{topology}/") and "hand" not in step_id
                if of_topology and state is StepState.PROPOSED:
                    self.states[step_id] = StepState.SUPERSEDED
            for position in range(1, len(counts) + 1):
                step_id = f"{topology}/{schedule_id}-{position}"
                self.states[step_id] = StepState.PROPOSED
                # A step every hour, each good until the next one's time, the last one for an hour and a half.
                self.expiry[step_id] = 60 * position + (60 if position < len(counts) else 90)
        return f"{topology}/{schedule_id}-1"

    @rule(target=steps, request=st.integers(1, 3))
    def record_hand_made_step(self, request: int) -> str:
        deploy_at, expires_at, at = after(0), after(300), after(self.now)
        step_id = self.ledger.record_hand_made_step(
            f"request-{request}",
            plan_of(9),
            replaces=plan_of(2),
            deploy_at=deploy_at,
            expires_at=expires_at,
            at=at,
            by="anna",
            why="fair",
        )
        self.states.setdefault(f"calls/{step_id}", StepState.APPROVED)
        self.expiry[f"calls/{step_id}"] = 300
        return f"calls/{step_id}"

    @rule(step=steps, expected=st.sampled_from(StepState), to=st.sampled_from(StepState))
    def transition(self, step: str, expected: StepState, to: StepState) -> None:
        step_id = step.split("/")[1]
        move = {"expected": expected, "to": to, "at": after(self.now), "by": "ben", "why": "a try"}
        if self.states.get(step) is expected and to in FOLLOWS[expected]:
            assert self.ledger.transition(step_id, **move).state is to
            self.states[step] = to
        else:
            with pytest.raises(LedgerError):
                self.ledger.transition(step_id, **move)

    @rule(step=steps)
    def go_on(self, step: str) -> None:
        """The straight way, so that deep states are reached often."""
        way = [StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED]
        state = self.states.get(step)
        if state in way[:-1]:
            self.transition(step, state, way[way.index(state) + 1])

    @rule()
    def expire(self) -> None:
        late = {s for s, state in self.states.items() if state in WAITING and self.expiry[s] <= self.now}
        assert set(self.ledger.expire_steps(after(self.now), by="ben")) == {step.split("/")[1] for step in late}
        self.states |= dict.fromkeys(late, StepState.EXPIRED)

    @invariant()
    def agrees_with_the_model(self) -> None:
        steps = self.ledger.steps()
        assert {f"{step.topology}/{step.id}": step.state for step in steps} == self.states
        for step in steps:
            events = self.ledger.events(step.id)
            assert events[-1].to_state is step.state
            assert all(e.to_state in FOLLOWS[e.from_state] for e in events if e.from_state is not None)
            # Into `deploying` it went exactly as often as it was attempted.
            assert step.attempt == sum(event.to_state is StepState.DEPLOYING for event in events)


TestLedgerStates = pytest.mark.slow(LedgerMachine.TestCase)
TestLedgerStates.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
