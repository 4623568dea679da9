"""A job on an engine that a deployment may be cut short on: what a fault contract asks of each engine's stand-in."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from faulty_calls import MethodFailures, Wire

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Cluster
from planner.deployment import Patience
from planner.ledger.ledger import Ledger

GOOD_FOR = timedelta(hours=1)
WRITES = frozenset({"transition", "resume", "remark", "assume", "record_outcome"})


class SteppingClock:
    """Stands still until somebody waits on it; on_wait: what the engine does meanwhile."""

    def __init__(self, at: datetime, on_wait: Callable[[float], object] = lambda seconds: None) -> None:
        self.at, self.on_wait = at, on_wait

    def now(self) -> datetime:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += timedelta(seconds=max(0.0, seconds))
        self.on_wait(seconds)


class Bench:
    """before runs, after is to be deployed, other is what somebody else asks for meanwhile.

    refuses: faults that the engine's adapter takes for a refusal, so that the step ends rolled back at once, with the
    plan before. versions: whether a change can never be laid on what somebody else changed since the look.
    clock: a SteppingClock, or one that is as good. stuck: the plan after never comes up.
    """

    before: PhysicalPlan
    after: PhysicalPlan
    other: PhysicalPlan
    clock: SteppingClock
    refuses: frozenset[str] = frozenset()
    versions: bool = False
    floor_within: int | None = None
    patience = Patience(timeout_s=40.0, poll_s=20.0, hold_s=10.0)

    def __init__(self) -> None:
        self.stuck = False

    def cluster(self, wire: Wire) -> Cluster:
        """As another process connects to it, all calls through its wire."""
        raise NotImplementedError

    def asked(self) -> Mapping[str, int]:
        """What the engine was asked to run last, by whomever."""
        raise NotImplementedError

    def changes(self) -> list[Any]:
        """All that forescale changed, oldest first."""
        raise NotImplementedError

    def others_ask(self) -> None:
        """Somebody else brings the other plan about."""
        raise NotImplementedError

    def settle(self) -> None:
        """Time enough for the engine to come to what it was asked for."""
        self.clock.wait(120.0)

    def step(self, ledger: Ledger) -> str:
        """An approved step from before to after that is due now."""
        now = self.clock.now()
        times = {"deploy_at": now, "expires_at": now + GOOD_FOR, "at": now}
        return ledger.record_hand_made_step("step", self.after, replaces=self.before, by="test", why="a test", **times)


class WiredLedger:
    """A ledger whose writes go through a wire."""

    def __init__(self, ledger: Ledger, wire: Wire) -> None:
        self._ledger, self._wire = ledger, wire

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ledger, name)
        if name not in WRITES:
            return method

        def write(*positional: Any, **named: Any) -> Any:
            return self._wire.passed(
                f"ledger {name}", lambda: method(*positional, **named), MethodFailures(), changes=True
            )

        return write


def wired_ledger(ledger: Ledger, wire: Wire) -> Ledger:
    return cast(Ledger, WiredLedger(ledger, wire))
