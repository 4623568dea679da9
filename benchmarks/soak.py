"""Whether forescale survives two weeks of faults: hourly operation of many topologies with injected faults.

    nice python benchmarks/soak.py [--topologies 20] [--days 14] [--work DIR] [--out FILE.json] [--quick]

In each hour of the trace's clock a sixth of the topologies decide (arrivals from a real Prometheus, forecast, plan,
approval) and the guard looks at them, so that each does every six hours or so, another sixth at each fault; due steps
of every topology are deployed at their time; each day old data is pruned. Every kind of fault comes every 30 hours
(benchmarks/soaking/faults.py): metrics gone, MLflow gone, cluster gone, scheduler killed, disk full, clock jump, a
machine's clock three days off, servers that send a byte a second, poisoned series, two planners. Lost and doubled
decisions and steps, and topologies that nothing is done for without an error, are counted from the ledger and the
simulator (benchmarks/soaking/reckoning.py). Exits with 1 if there is one, or if a job ended in an internal error.

The clock is the trace's, so the 14 days need no waiting. With --work an interrupted run goes on. The fault of a full
disk needs root, for a file system of its own; without root it is left out and reported as such. Needs prometheus and
promtool. --quick: six topologies for two days.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

# Each job has a core for itself alone, and a fork starts without threads.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
# A script's own folder comes first, and one file in it is named like a package.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("soaking")))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import START, TICK, Bench, install, names_of, unmounted
from faults import (
    DAYS_OFF,
    JUMPS,
    NO_DECISION,
    NO_DEPLOYMENT,
    ROUND_H,
    Fault,
    Kind,
    calendar,
    due,
    injected,
    ledger_checked,
    mended,
    poison,
)
from jobs import decided, deployed, guarded, learnt, planned, pruned
from reckoning import (
    Deployed,
    Hour,
    Reckoning,
    Span,
    SteppedStep,
    doubled_places,
    reckoned_decisions,
    reckoned_steps,
    silent_stops,
)
from roles import DECISION, Answer, Role
from soak_record import Record, Survived, shown
from world import Interference

from forescale.wiring.parts import ledger_of
from planner.clusters.simulator_store import SimulatorStore
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, UNDER_WAY

HOUR = timedelta(hours=1)
AGAIN = timedelta(minutes=5)
"""Time until a held step is looked at again."""
KEPT, KEPT_FOR = 24, timedelta(days=1)
"""Daily pruning keeps the last day, and this many runs and models of each topology."""
AT_ONCE = max(1, min(8, os.cpu_count() or 1))
"""Number of topologies decided on in parallel."""
IN_MOTION = (*TO_DEPLOY, *UNDER_WAY)


class Soak:
    """One run, hour by hour."""

    def __init__(self, bench: Bench, days: int, record: Record) -> None:
        self.bench, self.days, self.record = bench, days, record
        self.faults = calendar(days)
        self.random = random.Random(days)
        settings = bench.settings
        jobs = {
            "decide": lambda topology: decided(settings, topology),
            "learn": lambda topology: learnt(settings, topology),
            "plan": lambda topology: planned(settings, topology),
            "due": lambda topology: deployed(settings, topology),
            "prune": lambda _: pruned(settings, KEPT_FOR, KEPT),
        }
        log = bench.work / "jobs.log"
        self.scheduler, self.second = (Role(jobs, log) for _ in range(2))
        self.deployer = Role(jobs, log, forks=False)
        self.schedulers = (self.scheduler, self.second, *(Role(jobs, log) for _ in range(2, AT_ONCE)))[:AT_ONCE]
        guards = {"guard": lambda topology: guarded(settings, topology)}
        self.guards = tuple(Role(guards, log, forks=False) for _ in range(AT_ONCE))

    @property
    def hour(self) -> int:
        return (self.bench.clock.now() - START) // HOUR

    def run(self) -> None:
        while self.hour < 24 * self.days:
            day, fault = self.hour // 24, self._fault()
            self._one_hour(fault)
            if self.hour // 24 > day or self.hour >= 24 * self.days:
                self._end_of_day(day)
            self.record.write()
            print(f"{self.bench.clock.now():%d %b %H:%M} {fault.kind if fault else ''}", flush=True)

    def end(self) -> None:
        for role in {*self.schedulers, self.scheduler, self.second, self.deployer, *self.guards}:
            role.kill()

    def _begun(self, fault: Fault) -> bool:
        """Whether the fault has begun before: a clock that jumps back reaches the same hour again."""
        return (str(fault.kind), fault.hour) in self.record.open_faults

    def _fault(self) -> Fault | None:
        return next((fault for fault in self.faults if fault.lasts(self.hour)), None)

    def _one_hour(self, fault: Fault | None) -> None:
        clock = self.bench.clock
        before = clock.now()
        clock.advance_to(START + self.hour * HOUR + TICK)
        if fault is not None and fault.kind is Kind.JUMP and not self._begun(fault):
            clock.start_at(clock.now() + JUMPS[fault.turn % len(JUMPS)])
        begin, names = clock.now(), due(self.hour, self.bench.topologies)
        end = START + (self.hour + 1) * HOUR
        kind = fault.kind if fault else None
        with ExitStack() as during:
            if fault is not None and not (fault.kind is Kind.FULL and not self.bench.limited):
                during.enter_context(injected(fault, self.bench))
            if fault is not None and fault.kind is Kind.DAYS_OFF and not self._begun(fault):
                self._by_a_wrong_clock(DAYS_OFF[fault.turn % len(DAYS_OFF)], names)
            # What runs is known only from the latest observation on: nobody can decide for an earlier moment.
            hour = self._decisions(names, begin, kind, nobody_can=kind in NO_DECISION or begin < before)
            self._deployments(end, kind)
            clock.advance_to(end - AGAIN)
            for answer in self._at_once("guard", names, self.guards).values():
                self._note(answer, kind, of_guard=True)
            self._deployments(end, kind)  # the guard's steps are due at once
            clock.advance_to(end)
        if kind in NO_DEPLOYMENT:
            self.record.hindered.append(Span(min(before, begin) - HOUR, max(before, clock.now())))
        self.record.hours.append(hour)
        self._survival(fault, hour)

    def _decisions(self, names: Sequence[str], begin: datetime, kind: Kind | None, *, nobody_can: bool) -> Hour:
        if kind is Kind.KILLED:
            self._kill(self.scheduler, "decide", self.random.choice(names))
        began = time.monotonic()
        if kind is Kind.PLANNERS:  # both plan at once by the same forecasts
            answers = {name: [answer] for name, answer in self._at_once("learn", names, self.schedulers).items()}
            for topology in names:
                for role in (self.scheduler, self.second):
                    role.begin("plan", [topology])
                answers[topology] += [role.answers()[0] for role in (self.scheduler, self.second)]
        else:
            answers = {name: [answer] for name, answer in self._at_once("decide", names, self.schedulers).items()}
            self.record.wall_s["decide"] = (time.monotonic() - began) * len(self.schedulers) / len(names)
        for answer in chain.from_iterable(answers.values()):
            self._note(answer, kind)
        decisions = {name: frozenset(each.decision for each in told if each.decision) for name, told in answers.items()}
        if not nobody_can:
            self._look_for_doubled_places()
        excused = frozenset(self.bench.topologies if nobody_can else set(self.bench.topologies) - set(names))
        return Hour(begin, self._recorded(decisions, begin), excused)

    @staticmethod
    def _at_once(job: str, topologies: Sequence[str], roles: Sequence[Role]) -> dict[str, Answer]:
        """Answers by topology; the topologies are divided among the roles."""
        shares = [topologies[first :: len(roles)] for first in range(len(roles))]
        busy = [(share, role) for share, role in zip(shares, roles, strict=True) if share]
        for share, role in busy:
            role.begin(job, share)
        return {name: answer for share, role in busy for name, answer in zip(share, role.answers(), strict=True)}

    def _recorded(self, decisions: dict[str, frozenset[str]], begin: datetime) -> dict[str, frozenset[str]]:
        """These decisions as the ledger has them, with any others that it got meanwhile."""
        try:
            ledger, found = self._ledger(), {}
            for topology, said in decisions.items():
                newest = ledger.schedules(topology, limit=4)
                found[topology] = frozenset(
                    each.id for each in newest if each.id in said or each.schedule.made_at >= begin
                )
            return found
        except LedgerError:
            return {}

    def _by_a_wrong_clock(self, off: timedelta, topologies: Sequence[str]) -> None:
        """Each job once for these topologies. The rest of the hour goes on with the right time, and owes a decision."""
        hours_off = Interference(self.bench.settings.home).hours_off
        hours_off.write_text(str(off / HOUR))
        try:
            for job, roles in (("decide", self.schedulers), ("due", (self.deployer,)), ("guard", self.guards)):
                for answer in self._at_once(job, topologies, roles).values():
                    self._note(answer, Kind.DAYS_OFF, of_guard=job == "guard")
        finally:
            hours_off.unlink()

    def _kill(self, role: Role, job: str, topology: str) -> None:
        """Kill the role in the middle of a job and start it again."""
        role.begin(job, [topology])
        time.sleep(self.random.uniform(0.1, max(0.2, self.record.wall_s.get(job, 1.0))))
        role.kill()
        role.start()

    def _deployments(self, end: datetime, kind: Kind | None) -> None:
        """Deploy every step at its time, as a check each minute would."""
        clock, kills = self.bench.clock, kind is Kind.KILLED
        again: dict[str, datetime] = {}
        while True:
            try:
                waiting = self._ledger().steps(states=IN_MOTION)
            except LedgerError:
                return
            due = {step.id: (max(step.deploy_at, again.get(step.topology, step.deploy_at)), step) for step in waiting}
            at, step = min(due.values(), key=lambda each: (each[0], each[1].id), default=(end, None))
            if step is None or max(at, clock.now()) >= end:
                return
            clock.advance_to(at)
            if kills:
                self._kill(self.deployer, "due", step.topology)
                kills = False
            began = time.monotonic()
            self._note(self.deployer.run("due", step.topology), kind)
            self.record.wall_s["due"] = time.monotonic() - began
            again[step.topology] = clock.now() + AGAIN

    def _look_for_doubled_places(self) -> None:
        ledger = self._ledger()
        for topology in self.bench.topologies:
            self.record.places += doubled_places(topology, ledger.steps(topology=topology, states=IN_MOTION))

    def _note(self, answer: Answer, kind: Kind | None, *, of_guard: bool = False) -> None:
        self.record.note(answer, str(kind) if kind else "", self.hour // 24, of_guard=of_guard)

    def _survival(self, fault: Fault | None, hour: Hour) -> None:
        """Record in the first fault-free hour whether every topology due got a decision and the ledger is whole."""
        record = self.record
        if fault is None:
            self._look_for_silent_stops()
        else:
            if (begun := (str(fault.kind), fault.hour)) not in record.open_faults:
                record.open_faults.append(begun)
            return
        if record.open_faults:
            whole = ledger_checked(self.bench) == ""
            again = all(
                len(hour.decisions.get(topology, ())) == 1 for topology in set(self.bench.topologies) - hour.excused
            )
            record.faults += [Survived(kind, whole and again) for kind, _ in record.open_faults]
            record.open_faults.clear()

    def _look_for_silent_stops(self) -> None:
        ledger, now = self._ledger(), self.bench.clock.now()
        for topology in self.bench.topologies:
            newest = next(iter(ledger.schedules(topology, limit=1)), None)
            if newest is not None and newest.replaced_by is None:
                self.record.places += silent_stops(topology, ledger.steps(schedule_id=newest.id), now)

    def _end_of_day(self, day: int) -> None:
        self._note(self.scheduler.run("prune", ""), None)
        for name, folder in self.bench.grows.items():
            self.record.sizes.setdefault(name, []).append(_mib(folder))
        print(f"day {day + 1}: {self.record.peaks_mib.get(day, 0):.0f} MiB at most in a job", flush=True)

    def _ledger(self) -> Ledger:
        return ledger_of(self.bench.settings)


def reckoned(bench: Bench, record: Record) -> Reckoning:
    ledger = ledger_of(bench.settings)
    total = record.places
    for topology in bench.topologies:
        steps = [SteppedStep(step, ledger.events(step.id)) for step in ledger.steps(topology=topology)]
        rescales = _rescales(bench, topology)
        total += reckoned_decisions(topology, record.hours)
        total += reckoned_steps(topology, Deployed(steps, record.hindered, rescales, bench.clock.now()))
    return total


def _rescales(bench: Bench, topology: str) -> int:
    store = SimulatorStore(bench.settings.home / "simulator" / topology / "simulator.db")
    with store.transaction() as transaction:
        loaded = transaction.load()
    return 0 if loaded is None else loaded[1].change


def _mib(folder: Path) -> float:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


def warmed_up(scratch: Path, topologies: int) -> None:
    """Make one decision in a home of its own, so that every role forked from here has its imports and compiled code."""
    bench = install(scratch, topologies, 1, 0, ())
    bench.prometheus.start()
    try:
        name = bench.topologies[0]
        bench.clock.advance_to(START + TICK)
        for job in (decided, deployed, guarded):
            told = job(bench.settings, name)
            if told.keys() - {DECISION}:
                raise SystemExit(f"the decision that warms up fails: {told}")
            bench.clock.wait(600)
    finally:
        bench.prometheus.end()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topologies", type=int, default=20)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--quick", action="store_true", help="Six topologies for two days.")
    parser.add_argument(
        "--disk-mib", type=int, default=0, help="Of the disk that may be full; 0: by the size of the run."
    )
    parser.add_argument("--work", type=Path, help="A folder to go on in; without it a temporary one.")
    parser.add_argument("--out", type=Path, help="Write the figures here as JSON.")
    asked = parser.parse_args()
    if lacking := [program for program in ("prometheus", "promtool") if shutil.which(program) is None]:
        sys.exit(f"{' and '.join(lacking)} not found; install Debian's package prometheus")
    topologies, days = (ROUND_H, 2) if asked.quick else (asked.topologies, asked.days)
    if topologies < ROUND_H:
        sys.exit(f"--topologies {topologies}: at least {ROUND_H}, as a sixth of them decides in each hour")
    work = (asked.work or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    scratch = Path(tempfile.mkdtemp(prefix="soak-warm-"))
    try:
        warmed_up(scratch, 1)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    wrong = poison(calendar(days), names_of(topologies))
    bench = install(work, topologies, days, asked.disk_mib or 1024 * (1 + topologies), wrong)
    mended(bench)
    record = Record.of(work / "soak.json")
    soak = Soak(bench, days, record)
    begun = time.monotonic()
    try:
        bench.prometheus.start()
        soak.run()
        result = reckoned(bench, record)
    finally:
        soak.end()
        bench.prometheus.end()
    figures = record.figures(result, topologies, days, limited=bench.limited)
    print(shown(figures))
    print(f"{time.monotonic() - begun:.0f} s")
    if asked.out:
        asked.out.write_text(json.dumps(figures, indent=1) + "\n")
    if asked.work is None:
        unmounted(bench)
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if result.lost or result.doubled or result.stopped or figures["internal_errors"] else 0)


if __name__ == "__main__":
    main()
