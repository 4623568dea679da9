"""One policy on the real engine: the replay's policy sees the engine's metrics and asks Flink for plans."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from engine import READ, WORK, JobEndedError, Look, RacedEngine, RacedJob
from load import RaceLoad, new_topic, send_history, sending
from outcome import Raced, Totals, done_us, lags_s, minute_lags_s, totals

from modeling.arrays import Floats
from modeling.inputs.topology import Topology
from planner.errors import ClusterError
from planner.replay.load import MINUTE_S
from planner.replay.policy import Decision, MinuteMetrics, Policy, Seen
from planner.replay.run import Replayed, Taken

METRICS_S = 3.0
"""Seconds of the race over which a metric is averaged: Flink collects its counters once a second."""
LOOK_S = 0.5
HEAD_START_S, DRAINED_WITHIN_S = 5.0, 120.0


@dataclass(frozen=True)
class CourseTerms:
    """work_s, cores: of an event and of a task manager, in the race's time. capacity_per_s: of an instance, in the
    trace's. by_cpu: the policy sees how busy processors are, as Kubernetes does, and not instances. most: instances.
    """

    topology: Topology
    load: RaceLoad
    work_s: float
    cores: float
    capacity_per_s: float
    most: int
    by_cpu: bool = False


class Measured:
    """What a policy sees: minutes of the trace, before the race arrivals only."""

    def __init__(self, terms: CourseTerms) -> None:
        self._terms, past = terms, terms.load.past
        self._before = past.size
        size = past.size + terms.load.raced.size
        self._start_s = terms.load.start_s + MINUTE_S * np.arange(-past.size, terms.load.raced.size, dtype=np.float64)
        # up, arrivals, taken, backlog; then of both operators: into, busy, busiest, suspended; the stream.
        self._rows = np.zeros((size, 13))
        self._rows[: past.size, 1] = past / MINUTE_S

    def take(self, minute: int, looks: list[Look], up_share: float, backlog: float, arrivals: int) -> None:
        """looks: those of the last METRICS_S, oldest first."""
        row = self._rows[self._before + minute]
        row[0], row[1], row[3] = MINUTE_S * up_share, arrivals / MINUTE_S, backlog
        if minute:
            row[4:] = self._rows[self._before + minute - 1, 4:]  # known until there is something newer
        old, new = next(each for each in looks if each.running_since_s == looks[-1].running_since_s), looks[-1]
        if up_share > 0 and new.at_s > old.at_s:
            self._measure(row, old, new)
        row[2] = row[12] = row[4] * (up_share > 0)

    def _measure(self, row: Floats, old: Look, new: Look) -> None:
        """From the counters of two looks at the same instances."""
        span_s = new.at_s - old.at_s
        for at, name in enumerate((READ, WORK)):
            before, after = old.counters.get(name), new.counters.get(name)
            if before is None or after is None or (age_s := after.age_s - before.age_s) <= 0:
                return
            into = after.written - before.written if name == READ else after.read - before.read
            busy = (after.busy_s - before.busy_s) / age_s
            if name == WORK and self._terms.by_cpu:
                busy = (new.cpu_s - old.cpu_s) / span_s / (new.running * self._terms.cores)
            row[4 + at] = max(0.0, into) / span_s / self._terms.load.speed
            row[6 + at] = row[8 + at] = min(1.0, max(0.0, busy))
            row[10 + at] = max(0.0, after.backpressured_s - before.backpressured_s) / age_s

    def until(self, minute: int) -> MinuteMetrics:
        rows = slice(0, self._before + minute)
        part = self._rows[rows]
        return MinuteMetrics(
            self._terms.topology,
            self._start_s[rows],
            part[:, 0],
            part[:, 1:2],
            part[:, 2:3],
            part[:, 3:4],
            part[:, 4:6],
            part[:, 6:8],
            part[:, 8:10],
            part[:, 10:12],
            part[:, 12:13],
        )


def raced(
    name: str,
    engine: RacedEngine,
    terms: CourseTerms,
    first: int,
    policy_of: Callable[[str], Policy],
    say: Callable[[str], None],
) -> Raced:
    """policy_of: the policy, which may read the history from the topic of that name. first: instances at the start."""
    topic = f"race-{name.replace('@', '-')}"
    new_topic(engine.servers, topic)
    send_history(engine.servers, topic, terms.load)
    policy = policy_of(topic)
    first = dict(policy.first or {}).get(WORK, first)
    engine.hold(None)
    job = engine.job(topic, 1000 * terms.load.start_s, terms.work_s)
    job.bring(first)
    engine.hold(terms.cores)
    job.begin()
    began_s = time.time() + HEAD_START_S
    sender = sending(engine.servers, topic, terms.load, began_s)
    try:
        course = _Course(job, terms, policy, began_s, first)
        while course.minute < terms.load.raced.size:
            course.step()
            if sender.exitcode:
                raise JobEndedError(f"the process that sends the events of {topic} ended with {sender.exitcode}")
        sums = _drained(job, int(terms.load.raced.sum()))
    finally:
        sender.terminate()
        job.cancel()
    due = terms.load.due_us(began_s)
    done = done_us(job.folder, due)
    say(f"{name}: {course.rescales} rescales")
    return course.raced(name, due, done, totals(due, done, sums))


def _drained(job: RacedJob, sent: int) -> tuple[int, ...]:
    deadline, sums = time.monotonic() + DRAINED_WITHIN_S, ()
    while time.monotonic() < deadline:
        sums = job.sums() or sums
        if sums and sums[0] >= sent:
            time.sleep(2.0)  # for one that comes twice
            return job.sums() or sums
        time.sleep(0.5)
    return sums or (0, 0, 0)


class _Course:
    def __init__(self, job: RacedJob, terms: CourseTerms, policy: Policy, began_s: float, first: int) -> None:
        self._job, self._terms, self._policy, self._began_s = job, terms, policy, began_s
        self._measured = Measured(terms)
        self._looks: list[Look] = []
        self.minute, minutes = 0, terms.load.raced.size
        self._columns = {name: np.zeros(minutes) for name in ("down_s", "backlog", "utilisation")}
        self._instances = np.zeros(minutes, dtype=np.int64)
        self._asked, self._since_s = first, float(terms.load.start_s)
        self._decisions: list[Taken] = []
        self._decided_s = 0.0
        self._waiting = 0.0
        self._next_policy_s = 0.0

    @property
    def rescales(self) -> int:
        return len(self._decisions)

    def step(self) -> None:
        """Wait for the next look, record the minutes that ended before it, and let the policy decide."""
        if (ahead_s := self._ended_s(self.minute) - time.time()) > 0:
            time.sleep(min(ahead_s, LOOK_S))
        try:
            self._see(self._job.look())
        except JobEndedError:
            raise
        except ClusterError:
            return  # it answers again after the rescale
        before = self.minute
        while self.minute < self._terms.load.raced.size and self._looks[-1].at_s >= self._ended_s(self.minute):
            self._take_minute()
        if self.minute > before:
            self._decide()

    def _ended_s(self, minute: int) -> float:
        return self._began_s + (minute + 1) * MINUTE_S / self._terms.load.speed

    def _trace_s(self, at_s: float) -> float:
        return self._terms.load.start_s + (at_s - self._began_s) * self._terms.load.speed

    def _see(self, look: Look) -> None:
        recent = [each for each in self._looks[:-1] if each.at_s >= look.at_s - METRICS_S]
        self._looks = [*recent, *self._looks[-1:], look]
        before = self._looks[-2] if len(self._looks) > 1 else look
        # While the job is down, what comes waits.
        came = max(0, look.arrived - before.arrived)
        self._waiting = look.pending if look.pending is not None else self._waiting + came
        if look.runs and look.running == self._asked and look.running_since_s > self._began_s:
            self._since_s = max(self._since_s, self._trace_s(look.running_since_s))
            if self._decisions and self._decisions[-1].in_effect_s is None:
                self._decisions[-1] = replace(self._decisions[-1], in_effect_s=self._since_s)

    def _take_minute(self) -> None:
        at, newest = self.minute, self._looks[-1]
        up = float(newest.runs)
        self._measured.take(at, self._looks, up, self._waiting, int(self._terms.load.raced[at]))
        self._columns["down_s"][at] = MINUTE_S * (1 - up)
        self._columns["backlog"][at] = self._waiting
        row = self._measured.until(at + 1)
        self._columns["utilisation"][at] = row.busiest[-1, 1]
        self._instances[at] = newest.running or self._asked
        self.minute += 1

    def _decide(self) -> None:
        now_s = float(self._terms.load.start_s + MINUTE_S * self.minute)
        if now_s < self._next_policy_s:
            return
        self._next_policy_s = now_s + self._policy.every_s
        newest = self._looks[-1]
        changing = not (newest.runs and newest.running == newest.requested == self._asked)
        plan = {READ: 1, WORK: self._asked}
        began = time.process_time()
        decision = self._policy.decide(Seen(now_s, plan, self._since_s, changing, self._measured.until(self.minute)))
        self._decided_s += time.process_time() - began
        if decision is not None:
            self._carry_out(decision, now_s)

    def _carry_out(self, decision: Decision, now_s: float) -> None:
        wanted = max(1, min(decision.plan[WORK], self._terms.most))
        if wanted == self._asked:
            return
        self._job.ask(wanted)
        self._asked = wanted
        self._decisions.append(Taken(now_s, None, {READ: 1, WORK: wanted}, decision.why))

    def raced(self, name: str, due: np.ndarray, done: np.ndarray, counted: Totals) -> Raced:
        terms, load = self._terms, self._terms.load
        minutes = load.raced.size
        parallelism = np.column_stack([np.ones(minutes, dtype=np.int64), self._instances])
        seconds = int(minutes * MINUTE_S / load.speed)
        lags: Floats = minute_lags_s(due, done, self._began_s, minutes, load.speed)
        replayed = Replayed(
            name,
            0,
            terms.topology,
            load.start_s + MINUTE_S * np.arange(minutes, dtype=np.float64),
            load.raced / MINUTE_S,
            self._instances * terms.capacity_per_s,
            parallelism,
            self._columns["backlog"],
            lags,
            self._columns["down_s"],
            self._columns["utilisation"],
            tuple(self._decisions),
        )
        race_hours = seconds / 3600
        slot_hours = float(parallelism.sum(axis=1).mean()) * race_hours
        used = self._looks[-1].cpu_s / 3600
        second_lags = lags_s(due, done, self._began_s + np.arange(1.0, seconds + 1.0))
        return Raced(replayed, second_lags, slot_hours, slot_hours * terms.cores, used, self._decided_s, counted)
