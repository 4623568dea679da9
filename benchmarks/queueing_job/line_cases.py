"""Cases that two moments per operator do not describe, and full buffers, beside Lindley's recursion."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_times import departures_s, two_phase

from modeling.arrays import Floats
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.pauses import Pauses
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.queueing.bursts import Arrivals, Bursts
from modeling.queueing.service_shape import ServiceShape


@dataclass(frozen=True)
class Stage:
    """One operator of a line. made: tuples out per tuple in; drawn: whether that number is geometric with this mean.
    services: draws service times of that many tuples, in seconds.
    """

    service_s: float
    cs2: float = 1.0
    instances: int = 1
    made: int = 1
    drawn: bool = False
    slow: float = 1.0
    """A random twentieth of the services takes this many times as long as the others."""
    pauses: Pauses | None = None
    together: bool = False
    """Whether all stages pause at once."""

    def profile(self, name: str, after: str | None, **more: Any) -> OperatorProfile:
        made = {f"{name}->{after}": float(self.made)} if after else {}
        if self.drawn:
            more["selectivity_cv2"] = {f"{name}->{after}": 1 - 1 / self.made}
        more["pauses"] = self.pauses
        if self.slow > 1:
            shape = ServiceShape((1.0, self.slow), (0.95, 0.05))
            return OperatorProfile(name, self.service_s, made, service_cv2=shape.cv2, service_shape=shape, **more)
        return OperatorProfile(name, self.service_s, made, service_cv2=self.cs2, **more)

    def services_s(self, rng: np.random.Generator, count: int) -> Floats:
        if self.slow > 1:
            services = np.where(rng.random(count) < 0.05, self.slow, 1.0) / (0.95 + 0.05 * self.slow)
        else:
            services = two_phase(rng, self.cs2, (count,)) if self.cs2 else np.ones(count)
        return np.asarray(services * self.service_s)

    def served(self, rng: np.random.Generator, came: Floats) -> Floats:
        """Departure times of tuples that come in this order and are routed in turn."""
        services = self.services_s(rng, came.size)
        left = np.empty(came.size)
        for one in range(self.instances):
            own = slice(one, None, self.instances)
            if self.pauses is None:
                left[own] = departures_s(came[own], services[own])
            else:
                clock = _StoppedClock(self.pauses, 0.0 if self.together else rng.random(), came[-1])
                # Service times include pauses, as busy times do.
                awake_s = services[own] * (1 - self.pauses.share)
                left[own] = clock.time_s(departures_s(clock.worked_s(came[own]), awake_s))
        return left


class _StoppedClock:
    """The time that a server works, which stands still in its pauses. phase: of the first one's interval."""

    def __init__(self, pauses: Pauses, phase: float, until_s: float) -> None:
        self._length_s = pauses.length_s
        self._starts_s = np.arange(phase * pauses.interval_s, 1.5 * until_s + pauses.interval_s, pauses.interval_s)

    def worked_s(self, at_s: Floats) -> Floats:
        number = np.searchsorted(self._starts_s, at_s, side="right") - 1
        inside_s = np.where(number >= 0, np.minimum(at_s - self._starts_s[number], self._length_s), 0.0)
        return np.asarray(at_s - np.maximum(number, 0) * self._length_s - inside_s)

    def time_s(self, worked_s: Floats) -> Floats:
        begin_s = self._starts_s - np.arange(self._starts_s.size) * self._length_s
        return np.asarray(worked_s + np.searchsorted(begin_s, worked_s) * self._length_s)


@dataclass(frozen=True)
class Case:
    """Stages in line behind a source that takes no time. bursts: of Poisson arrivals. period_s, keys: of a window
    before the stages that fires all keys at once; beside_per_s: rate of tuples that bypass the window.
    """

    name: str
    stages: tuple[Stage, ...]
    rate_per_s: float
    bursts: Bursts | None = None
    period_s: float = 0.0
    keys: int = 0
    beside_per_s: float = 0.0
    tuples: int = 400_000

    def latencies_s(self, rng: np.random.Generator) -> Floats:
        """Latencies of the tuples at the end of the line, without the first tenth."""
        born = self._arrivals_s(rng)
        at = born
        for stage in self.stages:
            at = stage.served(rng, at)
            if stage.made > 1:
                made = rng.geometric(1 / stage.made, at.size) if stage.drawn else np.full(at.size, stage.made)
                at, born = np.repeat(at, made), np.repeat(born, made)
            order = np.argsort(at, kind="stable")
            at, born = at[order], born[order]
        return (at - born)[at.size // 10 :]

    def _arrivals_s(self, rng: np.random.Generator) -> Floats:
        if self.keys:
            firings = np.arange(max(20, self.tuples // self.keys)) * self.period_s
            beside = rng.random(int(firings[-1] * self.beside_per_s)) * firings[-1]
            return np.sort(np.concatenate([np.repeat(firings, self.keys), beside]))
        made = float(np.prod([stage.made for stage in self.stages]))
        clock = np.cumsum(rng.standard_exponential(int(self.tuples / made))) / self.rate_per_s
        if self.bursts is None:
            return clock
        pause_s = self.bursts.mean_s * (1 / self.bursts.share - 1)
        spells = int(clock[-1] / (self.bursts.mean_s + pause_s) * 2) + 100
        lengths = rng.exponential((self.bursts.mean_s, pause_s), (spells, 2)).ravel()
        levels = np.tile((self.bursts.factor, float(self.bursts.levels.pause_factor)), spells)
        return np.interp(clock, np.cumsum(lengths * levels), np.cumsum(lengths))

    def model(self) -> tuple[tuple[float, float], tuple[float, float], tuple[str, ...]]:
        """Mean and p95 by `evaluate` and by `evaluate_many`, and the estimate's notes."""
        names = [f"o{number}" for number in range(len(self.stages))]
        streams = [Stream(a, b) for a, b in itertools.pairwise(names)]
        profiles = {
            name: stage.profile(name, after)
            for name, stage, after in zip(names, self.stages, [*names[1:], None], strict=True)
        }
        load, counts = {names[0]: self.rate_per_s}, {n: s.instances for n, s in zip(names, self.stages, strict=True)}
        if self.keys:
            output = WindowedOutput(WindowKind.TUMBLING, self.period_s, self.keys)
            profiles |= {
                "events": OperatorProfile("events", 0.0),
                "window": OperatorProfile("window", 0.0, windowed={f"window->{names[0]}": output}),
            }
            streams += [Stream("events", "window"), Stream("window", names[0])]
            # Enough tuples that every key is in every window.
            load, counts = {"events": 50 * self.keys / self.period_s}, {"events": 1, "window": 1, **counts}
            if self.beside_per_s:
                profiles["beside"] = OperatorProfile("beside", 0.0)
                streams.append(Stream("beside", names[0]))
                load["beside"], counts["beside"] = self.beside_per_s, 1
        topology = Topology("case", tuple(Operator(name) for name in profiles), tuple(streams))
        plan = PhysicalPlan("case", counts)
        told = evaluate(topology, profiles, plan, load, percentiles=True, arrival_cv2=Arrivals(bursts=self.bursts))
        many = evaluate_many(
            topology, profiles, [plan], {k: [v] for k, v in load.items()}, arrival_cv2=Arrivals(bursts=self.bursts)
        ).latency
        assert told.latency is not None
        assert many is not None
        exact, quick = (told.latency.mean_s, told.latency.p95_s), (float(many.mean_s[0, 0]), float(many.p95_s[0, 0]))
        return exact, quick, told.notes


def cases() -> list[Case]:
    split = Stage(0.001, made=20)
    found = [
        Case(f"flatMap 1 → 20, 3 ms counter at {rho:g}", (split, Stage(0.003)), rho / 0.06) for rho in (0.05, 0.3, 0.85)
    ]
    found += [
        Case("the same, 4 counters at 0.3", (split, Stage(0.003, instances=4)), 0.3 / 0.06 * 4),
        Case("the same, geometric 1 → 10", (Stage(0.001, made=10, drawn=True), Stage(0.003)), 0.3 / 0.03),
        Case("the same, and a 4 ms sink", (split, Stage(0.003), Stage(0.004)), 0.4 / 0.08),
    ]
    for rho, cs2, many in ((0.85, 0.0, 3), (0.85, 0.1, 5), (0.85, 0.25, 5), (0.85, 0.5, 5), (0.5, 0.1, 5)):
        found.append(Case(f"{many} in line at {rho:g}, cv² {cs2:g}", (Stage(0.01, cs2),) * many, rho / 0.01))
    for rho, slow in ((0.2, 10.0), (0.4, 50.0), (0.7, 50.0)):
        found.append(Case(f"5 % records {slow:g} times as slow at {rho:g}", (Stage(0.01, slow=slow),), rho / 0.01))
    for rho, bursts in (
        (0.2, Bursts(0.5, 2.0, 2.0)),
        (0.4, Bursts(0.5, 2.0, 2.0)),
        (0.6, Bursts(0.5, 2.0, 0.2)),
        (0.2, Bursts(0.2, 5.0, 0.2)),
        (0.4, Bursts(0.2, 3.0, 1.0)),
    ):
        name = f"bursts of {bursts.mean_s:g} s, {bursts.factor:g} times the rate, {bursts.share:.0%} of the time, at "
        found.append(Case(f"{name}{rho:g}", (Stage(0.002),), rho / 0.002, bursts))
    found.append(
        Case("the same through 3 of cv² 0.5", (Stage(0.002, 0.5),) * 3, 200.0, Bursts(0.2, 3.0, 1.0), tuples=10**6)
    )
    pauses = Pauses(10.0, 0.5)
    for rho in (0.3, 0.6, 0.8):
        found.append(Case(f"pauses of .5 s every 10 s at {rho:g}", (Stage(0.01, pauses=pauses),), rho / 0.01))
    found += [
        Case("the same in 3 in line at 0.6", (Stage(0.01, pauses=pauses),) * 3, 60.0),
        Case("the same, at the same time", (Stage(0.01, pauses=pauses, together=True),) * 3, 60.0),
        Case("window of 2,000 keys, 1 ms reader", (Stage(0.001),), 0.0, None, 60.0, 2000),
        Case("the same, 4 readers", (Stage(0.001, instances=4),), 0.0, None, 60.0, 2000),
        Case("the same, every 5 s, beside 300/s", (Stage(0.001),), 0.0, None, 5.0, 2000, 300.0),
        Case("the same, 0.5 ms reader, 2 ms sink", (Stage(0.0005), Stage(0.002)), 0.0, None, 20.0, 2000),
    ]
    return found


def cases_against_simulation(replications: int, seed: int) -> None:
    print(
        "\n| case | mean ms, simulated | `evaluate` | `evaluate_many` | p95 ms | `evaluate` | `evaluate_many` | notes |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(seed)
    for case in cases():
        runs = [1000 * case.latencies_s(rng) for _ in range(replications)]
        exact, quick, notes = case.model()
        cells = [case.name]
        for at, each in enumerate(
            (np.array([run.mean() for run in runs]), np.array([np.quantile(run, 0.95) for run in runs]))
        ):
            cells.append(f"{each.mean():.3g} ± {2.36 * each.std(ddof=1) / np.sqrt(replications):.2g}")
            cells += [f"{100 * (1000 * way[at] / each.mean() - 1):+.1f} %" for way in (exact, quick)]
        print(f"| {' | '.join(cells)} | {len(notes)} |", flush=True)


def full_line_per_s(rng: np.random.Generator, stations: int, cs2: float, buffered: int, lines: int = 20) -> Floats:
    """Throughput of many lines of stations with services of mean 1 whose first station is never idle.

    A tuple stays where it was served until the next buffer has room (blocking after service).
    """
    tuples = 20_000
    services = two_phase(rng, cs2, (tuples, stations, lines)) if cs2 else np.ones((tuples, stations, lines))
    left = np.zeros((stations, tuples, lines))
    for n in range(tuples):
        before = np.zeros(lines)
        for j in range(stations):
            done = np.maximum(left[j, n - 1], before) + services[n, j]
            # A place is free once the tuple that many before it leaves: the buffered ones and the one in service.
            if j < stations - 1 and n > buffered:
                done = np.maximum(done, left[j + 1, n - buffered - 1])
            left[j, n] = before = done
    tenth = tuples // 10
    return (tuples - tenth) / (left[-1, -1] - left[-1, tenth - 1])


def full_buffers_against_simulation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    print("\n| line of equal stations, 16-tuple buffers | throughput over that of one | model says 1 |\n|---|---|---|")
    for count, cs2 in ((2, 1.0), (3, 0.25), (3, 1.0), (3, 4.0), (5, 4.0)):
        each = full_line_per_s(rng, count, cs2, 16)
        half = 2.09 * each.std(ddof=1) / np.sqrt(each.size)
        exact = f", exactly {18 / 19:.3f}" if (count, cs2) == (2, 1.0) else ""
        print(f"| {count} of cv² {cs2:g} | {each.mean():.3f} ± {half:.3f}{exact} | {100 / each.mean() - 100:+.1f} % |")


@dataclass(frozen=True)
class FullPair:
    """An operator that makes `made` tuples of one puts them one by one into a buffer before another as full."""

    name: str
    made: int
    buffered: int
    drawn: bool = False
    slow: float = 1.0

    def throughput(self, rng: np.random.Generator, tuples: int) -> float:
        """Of the second, over that of one which is never idle; services are exponential, or partly slow."""
        one, other = Stage(float(self.made)), Stage(1.0, slow=self.slow)
        batches = tuples // self.made
        made = rng.geometric(1 / self.made, batches) if self.drawn else np.full(batches, self.made)
        split_s, counted_s = one.services_s(rng, batches).tolist(), other.services_s(rng, int(made.sum())).tolist()
        left: list[float] = []
        at = after = 0.0
        for split, count in zip(split_s, made.tolist(), strict=True):
            at += split
            for _ in range(count):
                # The place of the tuple that many before is free once it has been counted.
                if len(left) > self.buffered:
                    at = max(at, left[-self.buffered - 1])
                after = max(after, at) + counted_s[len(left)]
                left.append(after)
        return len(left) / left[-1]

    def notes(self) -> tuple[str, ...]:
        profiles = {
            "split": Stage(float(self.made), made=self.made, drawn=self.drawn).profile("split", "count"),
            "count": Stage(1.0, slow=self.slow).profile("count", None),
        }
        topology = Topology("case", tuple(map(Operator, profiles)), (Stream("split", "count"),))
        # Flink's 2 + 8 buffers of 32 KiB before one reader hold this many tuples.
        site = Site(bytes_per_tuple={"split->count": 10 * 32 * 1024 / self.buffered})
        plan = PhysicalPlan("case", dict.fromkeys(profiles, 1))
        return evaluate(topology, profiles, plan, {"split": 0.9 / self.made}, site=site).notes


def full_pairs_against_simulation(seed: int, tuples: int = 200_000) -> None:
    rng = np.random.default_rng(seed)
    print("\n| full pair | throughput over that of one | model says 1 | its note |\n|---|---|---|---|")
    for pair in (
        FullPair("1 → 20, a buffer of 32", 20, 32),
        FullPair("1 → 20, a buffer of 200", 20, 200),
        FullPair("geometric 1 → 10, a buffer of 32", 10, 32, drawn=True),
        FullPair("5 % records 10 times as slow, 8", 1, 8, slow=10.0),
        FullPair("5 % records 50 times as slow, 8", 1, 8, slow=50.0),
    ):
        each = np.array([pair.throughput(rng, tuples) for _ in range(4)])
        note = next((note for note in pair.notes() if note.startswith("buffers")), "")
        print(
            f"| {pair.name} | {each.mean():.3f} ± {each.std(ddof=1):.3f} | {100 / each.mean() - 100:+.1f} % | {note} |"
        )
