"""The simulator, each of whose methods is one transaction of its file: who is killed leaves it or nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from contract.test_simulator_contract import words_simulator
from fault_benches.bench import Bench, SteppingClock
from faulty_calls import MethodFailures, Wire

from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Cluster, Failed, Pending, Refusal, Verified


def words(split: int) -> PhysicalPlan:
    return PhysicalPlan("words", {"sentences": 1, "split": split, "count": 1})


class SimulatorBench(Bench):
    before, after, other = words(2), words(4), words(3)
    versions = True  # a look and its request are one transaction

    def __init__(self, folder: Path) -> None:
        self.simulator, traced = words_simulator(folder)
        self.traced = traced
        self.clock = cast(SteppingClock, TracedClock(traced))
        self.made: list[dict[str, int]] = []
        self.simulator.state()
        super().__init__()

    def cluster(self, wire: Wire) -> Cluster:
        return cast(Cluster, WiredSimulator(self, wire))

    def asked(self) -> Mapping[str, int]:
        return dict(self.simulator.state().plan.parallelism)

    def changes(self) -> list[Any]:
        return list(self.made)

    def others_ask(self) -> None:
        self.settle()
        self.simulator.apply(self.other, expected=self.simulator.state().plan)


class TracedClock:
    """The clock of the simulator, which can be set like the others."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    @property
    def at(self) -> Any:
        return self._clock.now()

    @at.setter
    def at(self, moment: Any) -> None:
        self._clock.advance_to(moment)


class WiredSimulator:
    def __init__(self, bench: SimulatorBench, wire: Wire) -> None:
        self._bench, self._simulator, self._wire = bench, bench.simulator, wire

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._simulator, name)
        return lambda *given, **named: self._wire.passed(
            name, lambda: method(*given, **named), MethodFailures(), changes=False
        )

    def apply(self, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
        return self._changed("apply", lambda: self._simulator.apply(plan, expected=expected))

    def undo(self, accepted: Accepted) -> Accepted | Refusal:
        return self._changed("undo", lambda: self._simulator.undo(accepted))

    def progress(self, accepted: Accepted) -> Verified | Pending | Failed:
        answer = self._wire.passed(
            "progress", lambda: self._simulator.progress(accepted), MethodFailures(), changes=False
        )
        if self._bench.stuck and accepted.plan.same_parallelism(self._bench.after):
            return Pending("it does not come up")
        return cast("Verified | Pending | Failed", answer)

    def _changed(self, name: str, do: Any) -> Accepted | Refusal:
        def counted() -> Accepted | Refusal:
            before = self._bench.asked()
            answer = cast("Accepted | Refusal", do())
            if (now := self._bench.asked()) != before:
                self._bench.made.append(dict(now))
            return answer

        return cast("Accepted | Refusal", self._wire.passed(name, counted, MethodFailures(), changes=True))
