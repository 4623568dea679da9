"""What holds of a deployment on every engine, whatever cuts it short, and wherever: run again, it ends the same.

Every call of one undisturbed deployment is counted, those to the engine and those that write to the ledger. Then one
deployment for each of them is cut short there, or meets a fault there, and is run again as `forescale deploy` runs it.
"""

import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fault_benches.bench import GOOD_FOR, Bench, wired_ledger
from faulty_calls import FAULTS, KILLS, KilledError, Wire

from planner.deployment import Deployment, deploy_step
from planner.errors import ClusterError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

READ_FAULTS = ("no effect, then 500", "effect, then half an answer")
"""What a read meets, the first of each: others are told apart by changes alone."""
_MEMORY = Path("/dev/shm")
"""Where a ledger is written without waiting for a disk, where there is such a place."""


class FaultContract:
    """Subclass it as `Test…`, with the method `bench`, where there is a fixture `empty_ledger`: its file, made once."""

    def bench(self, folder: Path) -> Bench:
        """A new one, whose plan before runs and has settled."""
        raise NotImplementedError

    @pytest.fixture
    def cases(self, tmp_path: Path, empty_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Cases"]:
        monkeypatch.setattr("engines.http.PAUSES_S", (0.0, 0.0))
        with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else tmp_path) as folder:
            yield Cases(self, Path(folder), empty_ledger)

    def test_undisturbed__the_plan_is_deployed_and_verified(self, cases: "Cases") -> None:
        case = cases.new()
        told = case.run()
        assert told is not None
        assert told.state is StepState.VERIFIED, told.why
        assert case.bench.asked() == dict(case.bench.after.parallelism)
        assert case.bench.changes()

    def test_killed_anywhere__a_second_run_ends_as_if_nothing_had_happened(self, cases: "Cases") -> None:
        whole = cases.undisturbed()
        for kind, number, name in cuts(whole.calls):
            case = cases.new()
            assert case.run(Wire(kind, number)) is None, f"{kind} {number} {name}"
            case.ends(StepState.VERIFIED, f"{kind} {number} {name}")
            assert case.bench.asked() == dict(case.bench.after.parallelism)
            assert case.bench.changes() == whole.changes, f"{kind} {number} {name}"

    def test_killed_while_undoing__a_second_run_goes_on_undoing_and_tries_nothing_again(self, cases: "Cases") -> None:
        whole = cases.undisturbed(stuck=True)
        for kind, number, name in cuts(whole.calls, reads=False):
            case = cases.new(stuck=True)
            assert case.run(Wire(kind, number)) is None, f"{kind} {number} {name}"
            case.ends(StepState.ROLLED_BACK, f"{kind} {number} {name}")
            assert case.bench.asked() == dict(case.bench.before.parallelism), f"{kind} {number} {name}"
            assert case.bench.changes() == whole.changes, f"{kind} {number} {name}"

    @pytest.mark.parametrize("fault", FAULTS)
    def test_fault__a_second_run_ends_as_if_nothing_had_happened(self, cases: "Cases", fault: str) -> None:
        whole = cases.undisturbed()
        met = set[str]()
        for number, (name, changes) in enumerate(whole.calls, 1):
            if name.startswith("ledger") or not (changes or (fault in READ_FAULTS and name not in met)):
                continue
            met.add(name)
            case = cases.new()
            case.run(Wire(fault, number))
            what = f"{fault} {number} {name}"
            told = case.ended(what)
            case.is_consistent(told, what)
            if fault not in case.bench.refuses:
                assert told.state is StepState.VERIFIED, f"{what}: {told.why}"
                assert case.bench.changes() == whole.changes, what

    def test_killed_and_then_changed_by_somebody_else__is_left_to_them(self, cases: "Cases") -> None:
        whole = cases.undisturbed()
        for kind, number, name in cuts(whole.calls, reads=False):
            case = cases.new()
            case.run(Wire(kind, number))
            done = case.state is not StepState.DEPLOYING
            case.bench.others_ask()
            made = case.bench.changes()
            told = case.ended(f"{kind} {number} {name}")
            assert case.bench.asked() == dict(case.bench.other.parallelism), f"{kind} {number} {name}: {told.why}"
            assert case.bench.changes() == made, f"{kind} {number} {name}"
            # A floor is laid on what is there now, and so holds there.
            refused = told.state is StepState.ROLLED_BACK or case.bench.floor_within is not None
            assert done or refused, f"{kind} {number} {name}: {told.why}"

    def test_changed_by_somebody_else_meanwhile__is_left_to_them_but_between_a_look_and_its_request(
        self, cases: "Cases"
    ) -> None:
        """Engines without versions cannot tell what came between the look and the request; that is documented."""
        whole = cases.undisturbed()
        request = next(at for at, (name, changes) in enumerate(whole.calls, 1) if changes and "ledger" not in name)
        look = max(at for at, (name, _) in enumerate(whole.calls[: request - 1], 1) if name.startswith("ledger")) + 1
        for number, (name, changes) in enumerate(whole.calls, 1):
            if number > request + 1 and not changes:
                continue  # read after read, as long as it is verified
            case = cases.new()
            case.run(Wire("", number, case.bench.others_ask))
            theirs = case.bench.asked() == dict(case.bench.other.parallelism)
            blind = not case.bench.versions and (look < number <= request or changes)
            assert theirs or blind, f"before {number} {name}"

    def test_killed_and_taken_up_too_late__the_ledger_and_the_engine_agree(self, cases: "Cases") -> None:
        whole = cases.undisturbed()
        for kind, number, name in cuts(whole.calls, reads=False):
            case = cases.new()
            case.run(Wire(kind, number))
            case.bench.clock.at += GOOD_FOR + timedelta(seconds=1)
            told = case.ended(f"{kind} {number} {name}")
            case.is_consistent(told, f"{kind} {number} {name}")


def cuts(calls: list[tuple[str, bool]], *, reads: bool = True) -> Iterator[tuple[str, int, str]]:
    """Kind, number and name of the call at which a process is killed: before each, and after each that may change
    something. After a read is before the next call. reads: whether also before each read; otherwise before the first
    of those between two changes.
    """
    before, after = KILLS
    for number, (name, changes) in enumerate(calls, 1):
        first = number == 1 or calls[number - 2][1]
        if changes or first or reads:
            yield before, number, name
        if changes:
            yield after, number, name


class Cases:
    def __init__(self, contract: FaultContract, folder: Path, empty_ledger: Path) -> None:
        self._contract, self._folder, self._empty = contract, folder, empty_ledger
        self._file = folder / "ledger.db"
        shutil.copy(empty_ledger, self._file)
        self._ledger = Ledger(f"sqlite:///{self._file}")

    def new(self, *, stuck: bool = False) -> "Case":
        """Which ends the ones before: to empty the ledger is quicker than to open another."""
        for path in self._folder.glob("ledger.db*"):
            path.unlink()
        shutil.copy(self._empty, self._file)
        return Case(self._contract.bench(Path(tempfile.mkdtemp(dir=self._folder))), self._ledger, stuck)

    def undisturbed(self, *, stuck: bool = False) -> "Whole":
        """The same at each time, and so done once."""
        kind = type(self._contract), stuck
        if kind not in _undisturbed:
            _undisturbed[kind] = self._undisturbed(stuck)
        return _undisturbed[kind]

    def _undisturbed(self, stuck: bool) -> "Whole":
        case, wire = self.new(stuck=stuck), Wire()
        told = case.run(wire)
        assert told is not None
        assert told.state is (StepState.ROLLED_BACK if stuck else StepState.VERIFIED), told.why
        return Whole(wire.calls, case.bench.changes())


class Whole:
    """What an undisturbed deployment called, and what it changed."""

    def __init__(self, calls: list[tuple[str, bool]], changes: list[object]) -> None:
        self.calls, self.changes = calls, changes


_undisturbed: dict[tuple[type[FaultContract], bool], Whole] = {}


class Case:
    """One job, its ledger, and the step that is deployed, each time by another process."""

    def __init__(self, bench: Bench, ledger: Ledger, stuck: bool) -> None:
        self.bench = bench
        bench.stuck = stuck
        self._ledger = ledger
        self._step = bench.step(self._ledger)

    @property
    def state(self) -> StepState:
        return self._ledger.step(self._step).state

    def run(self, wire: Wire | None = None) -> Deployment | None:
        """None where it was killed, or the engine failed it."""
        wire = wire or Wire()
        try:
            return deploy_step(
                self._step,
                wired_ledger(self._ledger, wire),
                self.bench.cluster(wire),
                self.bench.clock,
                by="test",
                patience=self.bench.patience,
                floor_within=self.bench.floor_within,
            )
        except (KilledError, ClusterError):
            return None

    def ended(self, what: str) -> Deployment:
        told = self.run()
        assert told is not None, what
        return told

    def ends(self, state: StepState, what: str) -> None:
        told = self.ended(what)
        assert told.state is state, f"{what}: {told.why}"

    def is_consistent(self, told: Deployment, what: str) -> None:
        """The plan after is asked for where the step is verified, that before everywhere else."""
        plan = self.bench.after if told.state is StepState.VERIFIED else self.bench.before
        assert self.bench.asked() == dict(plan.parallelism), f"{what}: {told.state}, {told.why}"
        assert told.state is not StepState.DEPLOYING, what
