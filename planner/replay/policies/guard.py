"""The guard alone, without a schedule: the same detectors, diagnosers and resolvers as on a real job."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.inputs.topology import Topology
from planner.guard.actions import Action, Schedule
from planner.guard.assessment import Pair, assessed
from planner.guard.judgement import VerdictKind, judged, keeps_failing
from planner.guard.look import Look, OperatorLook, Waiting
from planner.guard.symptoms import calls_for_nothing, windows_call_for_nothing
from planner.guard.terms import GuardTerms
from planner.guard.window import MIN_LOOKS, Window, window_of
from planner.guard.withheld import withheld
from planner.guard_facts import ActionKind, Reason
from planner.replay.policies.true_rates import MINUTE_S
from planner.replay.policy import Decision, MinuteMetrics, Seen

_ROUNDING = 1e-9
"""Where sums in another order could say otherwise, `decide` is asked."""


@dataclass(frozen=True)
class _Open:
    action: Action
    decided_s: float


class Guard:
    """Arrivals and backlog are known, as from a queue before the job. One minute is one look.

    A replay has metrics of the busiest instance and of the mean: the other instances are assumed equal. A barred pair
    stays barred, as there is no person to lift it.
    """

    name = "guard"
    every_s = MINUTE_S
    first: Mapping[str, int] | None = None

    def __init__(self, topology: Topology, terms: GuardTerms) -> None:
        self._topology, self._terms = topology, terms
        self._window_s = max(terms.window_s, MIN_LOOKS * MINUTE_S)
        self._open: _Open | None = None
        self._verdicts: dict[Pair, list[VerdictKind]] = defaultdict(list)
        self._barred = set[Pair]()
        self._looks: dict[tuple[float, tuple[int, ...]], Look] = {}
        # The least load, by source, at which the plan that began to run at a moment was found to be needed.
        self._needed: tuple[float, Floats] | None = None

    def decide(self, seen: Seen) -> Decision | None:
        terms = self._terms
        # Metrics are delayed: a plan has settled once they show that.
        known_s = _known_s(seen)
        if seen.changing or known_s < seen.running_since_s + terms.settle_s:
            return None
        if self._open is None and self._is_calm(seen):
            return None
        window = self._window(seen, terms.warm_up.warm_s)
        if window is None:
            return None
        if self._open is not None:
            action = self._open.action
            if dict(seen.plan) == dict(action.plan or {}) and seen.running_since_s > self._open.decided_s:
                verdict = judged(action.kind, action.before, action.expected, window, terms)
                verdicts = self._verdicts[action.diagnosis.kind, action.kind]
                verdicts.insert(0, verdict.kind)
                if keeps_failing(verdicts, terms.blacklist_after):
                    self._barred.add((action.diagnosis.kind, action.kind))
                else:
                    self._barred.discard((action.diagnosis.kind, action.kind))
            self._open = None
        assessment = assessed(window, terms, Schedule(), self._barred, known_s - seen.running_since_s)
        chosen = assessment.action
        if chosen is None or chosen.plan is None:
            if known_s - seen.running_since_s >= terms.min_dwell_s:
                self._needed = seen.running_since_s, self._mean_load_per_s(seen)
            return None
        self._open = _Open(chosen, seen.at_s)
        return Decision(chosen.plan, f"{chosen.kind}: {chosen.diagnosis.kind}")

    def rests(self, seen: Seen, known: Ints) -> int:
        """As `decide` does, for many moments at once."""
        if seen.changing:
            return len(known)
        if not seen.measured.minutes:
            return 0
        ends_s = np.where(known > 0, seen.measured.start_s[known - 1] + MINUTE_S, 0.0)
        settles = ends_s < seen.running_since_s + self._terms.settle_s
        calm = self._are_calm(seen, known, ends_s) if self._open is None else np.zeros(len(known), dtype=bool)
        rests = settles | calm
        return len(known) if rests.all() else int(rests.argmin())

    def withdraw(self) -> None:
        """The newest decision is not deployed."""
        self._open = None

    def withheld(self, plan: Mapping[str, int], issued_s: float, seen: Seen) -> Reason | None:
        """Why a plan waits whose forecasts were issued at issued_s (epoch seconds); None if it does not."""
        settles_s = 0.0
        if self._open is not None and seen.running_since_s > issued_s:
            action = self._open.action
            if action.kind is ActionKind.SCALE_UP and dict(action.plan or {}) == dict(seen.plan):
                settles_s = seen.running_since_s + self._terms.settle_s - _known_s(seen)
        return withheld(plan, seen.plan, self._window(seen), self._terms, settles_s)

    def _is_calm(self, seen: Seen) -> bool:
        known, rows = seen.measured, seen.measured.rows_of_last(self._window_s, seen.running_since_s)
        if not known.start_s[rows].size:
            return True
        busiest = np.maximum(known.busy[rows], known.busiest[rows])
        several = np.array([seen.plan[name] > 1 for name in self._topology.order])
        needed = (
            self._needed is not None
            and self._needed[0] == seen.running_since_s
            and bool((self._mean_load_per_s(seen) >= self._needed[1]).all())
        )
        return calls_for_nothing(busiest, known.suspended[rows], known.backlog[-1], several, self._terms, needed=needed)

    def _are_calm(self, seen: Seen, known: Ints, ends_s: Floats) -> Flags:
        """What `_is_calm` says once so many minutes are known."""
        measured = seen.measured
        since_s = np.maximum(ends_s - self._window_s, seen.running_since_s)
        begins = np.minimum(measured.start_s.searchsorted(since_s), known)

        # Pairs of the first row of a window and the one after its last.
        used = slice(int(begins[0]), int(known[-1]))
        ends = np.column_stack([begins, known]).ravel() - used.start

        def over_looks(reduce: np.ufunc, values: Floats) -> Floats:
            padded = np.concatenate([values[used], values[-1:]])
            # What lies between two windows is left out.
            return np.asarray(reduce.reduceat(padded, ends, axis=0)[::2])

        busiest = np.maximum(measured.busy, measured.busiest)
        needed = np.zeros(len(known), dtype=bool)
        if self._needed is not None and self._needed[0] == seen.running_since_s:
            mean_per_s = over_looks(np.add, measured.arrivals_per_s) / np.maximum(known - begins, 1)[:, None]
            needed = np.asarray((mean_per_s >= self._needed[1] * (1 + _ROUNDING)).all(axis=1))
        calm = windows_call_for_nothing(
            over_looks(np.minimum, busiest),
            over_looks(np.maximum, busiest),
            over_looks(np.minimum, measured.suspended),
            measured.backlog[known - 1],
            np.array([seen.plan[name] > 1 for name in self._topology.order]),
            self._terms,
            needed,
        )
        return np.asarray(calm | (begins == known))

    def _mean_load_per_s(self, seen: Seen) -> Floats:
        known = seen.measured
        rows = known.rows_of_last(self._window_s, seen.running_since_s)
        mean_per_s: Floats = known.arrivals_per_s[rows].mean(axis=0)
        return mean_per_s

    def _window(self, seen: Seen, warms_up_s: float = 0.0) -> Window | None:
        """warms_up_s: time after the start whose minutes do not count."""
        minutes = seen.measured.last(self._window_s, seen.running_since_s)
        looks, since = self._looked(minutes, seen.plan), _moment(seen.running_since_s + warms_up_s)
        return window_of(self._topology, looks, seen.plan, since, _moment(_known_s(seen)), self._terms.window_s)

    def _looked(self, minutes: MinuteMetrics, plan: Mapping[str, int]) -> list[Look]:
        """A look for each minute under this plan; earlier ones are cached."""
        known, counts = self._looks, tuple(plan.values())
        keys = [(float(start_s), counts) for start_s in minutes.start_s]
        self._looks = {key: known.get(key) or _look(minutes, row, plan) for row, key in enumerate(keys)}
        return list(self._looks.values())


def _known_s(seen: Seen) -> float:
    """End of the last known minute, in epoch seconds."""
    return float(seen.measured.start_s[-1]) + MINUTE_S if seen.measured.minutes else 0.0


def _moment(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)


def _look(minutes: MinuteMetrics, row: int, plan: Mapping[str, int]) -> Look:
    topology = minutes.topology
    operators = {}
    for at, name in enumerate(topology.order):
        source = topology.sources.index(name) if name in topology.sources else None
        received = minutes.records_in_per_s[row, at] if source is None else minutes.taken_per_s[row, source]
        count = plan[name]
        busy = _instances(float(minutes.busy[row, at]), float(minutes.busiest[row, at]), count)
        all_busy = sum(busy)
        by_share = float(received) / all_busy if all_busy > 0 else 0.0
        shares = tuple([share * by_share for share in busy]) if all_busy > 0 else (float(received) / count,) * count
        given = {
            stream.name: float(minutes.streams_per_s[row, number])
            for number, stream in enumerate(topology.streams)
            if stream.upstream == name
        }
        waits = float(minutes.suspended[row, at])
        operators[name] = OperatorLook(busy, (waits,) * count, shares, given)
    offered = dict(zip(topology.sources, minutes.arrivals_per_s[row].tolist(), strict=True))
    backlog = dict(zip(topology.sources, minutes.backlog[row].tolist(), strict=True))
    end = _moment(float(minutes.start_s[row])) + timedelta(seconds=MINUTE_S)
    return Look(end, MINUTE_S, operators, Waiting(offered, backlog))


def _instances(mean: float, busiest: float, count: int) -> tuple[float, ...]:
    """Busy shares with this mean and maximum, equal except for one."""
    if count == 1:
        return (mean,)
    others = max(0.0, (count * mean - busiest) / (count - 1))
    return (max(mean, busiest), *(min(others, busiest),) * (count - 1))
