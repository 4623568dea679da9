"""Graphs whose latency a queue per operator does not say by itself, beside simulations of the whole graph.

Feed-forward graphs go operator by operator through Lindley's recursion: arrivals, ages and senders of all streams into
an operator, each sender routing in turn from a random start. Operators that share cores need events.
"""

import heapq
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from line_cases import Stage
from random_times import departures_s, two_phase

from modeling.arrays import Floats, Ints
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.queueing.bursts import Arrivals, Bursts

BURSTS = Bursts(0.2, 4.0, 2.0)


@dataclass(frozen=True)
class _Tuples:
    """Tuples in order of time. born: at the source. sender: the instance that they leave. number: of the source's
    tuple that they descend from.
    """

    at: Floats
    born: Floats
    sender: Ints
    number: Ints

    def of(self, chosen: Ints) -> "_Tuples":
        return _Tuples(self.at[chosen], self.born[chosen], self.sender[chosen], self.number[chosen])

    def joined(self, other: "_Tuples") -> "_Tuples":
        both = (
            np.concatenate(pair) for pair in ((self.at, other.at), (self.born, other.born), (self.sender, other.sender))
        )
        return _Tuples(*both, np.concatenate((self.number, other.number)))


@dataclass(frozen=True)
class GraphCase:
    """A plan of a topology under a load. waits_for_partner: an operator that handles a tuple of one source when both
    its copies have come. tuples: that all sources emit in a replication.
    """

    name: str
    profiles: Mapping[str, OperatorProfile]
    streams: tuple[Stream, ...]
    plan: PhysicalPlan
    load: Mapping[str, float]
    arrivals: Arrivals = field(default_factory=Arrivals)
    waits_for_partner: str = ""
    tuples: int = 300_000
    site: Site = NOWHERE

    @property
    def topology(self) -> Topology:
        return Topology(self.plan.topology, tuple(Operator(name) for name in self.profiles), self.streams)

    def latencies_s(self, rng: np.random.Generator) -> Floats:
        """Latencies of the tuples at all sinks, without the first tenth of the time."""
        if self.site.container.cores is not None:
            return _on_shared_cores(self, rng)
        topology, ends, until_s = self.topology, [], self.tuples / sum(self.load.values())
        left: dict[str, _Tuples] = {}
        for name in topology.order:
            streams = topology.inputs(name)
            if streams:
                arriving = [(stream, self._sent(rng, left[stream.upstream], stream)) for stream in streams]
            else:
                at = self._arrivals_s(rng, name, until_s)
                to = rng.integers(self.plan.parallelism[name], size=at.size)
                arriving = [(None, (_Tuples(at, at, to, np.arange(at.size)), to))]
            left[name] = self._served(rng, name, arriving)
            if not topology.outputs(name):
                ends.append(left[name])
        return np.concatenate([(end.at - end.born)[end.born > 0.1 * until_s] for end in ends])

    def _arrivals_s(self, rng: np.random.Generator, source: str, until_s: float) -> Floats:
        bursts, rate_per_s = self.arrivals.at(source).bursts, self.load[source]
        even = np.cumsum(rng.standard_exponential(int(1.3 * until_s * rate_per_s) + 1000)) / rate_per_s
        if bursts is not None and bursts.factor > 1:
            pause_s = bursts.mean_s * (1 / bursts.share - 1)
            spells = int(until_s / (bursts.mean_s + pause_s) * 2) + 100
            lengths = rng.exponential((pause_s, bursts.mean_s), (spells, 2)).ravel()
            levels = np.tile((float(bursts.levels.pause_factor), bursts.factor), spells)
            even = np.interp(even, np.cumsum(lengths * levels), np.cumsum(lengths))
        return np.asarray(even[even < until_s])

    def _sent(self, rng: np.random.Generator, left: _Tuples, stream: Stream) -> tuple[_Tuples, Ints]:
        """Tuples of a stream, and the instance that each goes to."""
        profile, receivers = self.profiles[stream.upstream], self.plan.parallelism[stream.downstream]
        made = profile.selectivity.get(stream.name, 1.0)
        if made < 1:
            sent = left.of(np.flatnonzero(rng.random(left.at.size) < made))
        elif stream.name in profile.selectivity_cv2:
            sent = left.of(np.repeat(np.arange(left.at.size), rng.geometric(1 / made, left.at.size)))
        else:
            sent = left.of(np.repeat(np.arange(left.at.size), int(made)))
        if stream.grouping is Grouping.FIELDS:
            return sent, rng.integers(receivers, size=sent.at.size)
        to = np.zeros(sent.at.size, dtype=np.int64)
        for sender in range(self.plan.parallelism[stream.upstream]):
            own = np.flatnonzero(sent.sender == sender)
            to[own] = (rng.integers(receivers) + np.arange(own.size)) % receivers
        return sent, to

    def _served(
        self, rng: np.random.Generator, name: str, arriving: list[tuple[Stream | None, tuple[_Tuples, Ints]]]
    ) -> _Tuples:
        profile, came, to, means_s = self.profiles[name], None, [], []
        for stream, (tuples, receiver) in arriving:
            came = tuples if came is None else came.joined(tuples)
            to.append(receiver)
            mean_s = (
                profile.service_s if stream is None else profile.stream_service_s.get(stream.name, profile.service_s)
            )
            means_s.append(np.full(receiver.size, mean_s))
        assert came is not None
        receiver, mean_s = np.concatenate(to), np.concatenate(means_s)
        if name == self.waits_for_partner:
            _, last = np.split(np.lexsort((came.at, came.number)).reshape(-1, 2), 2, axis=1)
            # The copy that comes last is handled with its partner's work.
            came, receiver, mean_s = came.of(last.ravel()), receiver[last.ravel()], mean_s[last.ravel()]
        order = np.argsort(came.at, kind="stable")
        came, receiver = came.of(order), receiver[order]
        services = (two_phase(rng, profile.service_cv2, (order.size,)) if profile.service_cv2 else 1.0) * mean_s[order]
        at = np.empty(order.size)
        for one in range(self.plan.parallelism[name]):
            own = np.flatnonzero(receiver == one)
            at[own] = departures_s(came.at[own], services[own])
        order = np.argsort(at, kind="stable")
        return _Tuples(at, came.born, receiver, came.number).of(order)

    def told(self) -> tuple[tuple[float, float], tuple[float, float], tuple[str, ...]]:
        """Mean and p95 in seconds by `evaluate` and by `evaluate_many`, and the estimate's notes."""
        topology, load = self.topology, {source: [rate] for source, rate in self.load.items()}
        one = evaluate(
            topology,
            self.profiles,
            self.plan,
            self.load,
            percentiles=True,
            arrival_cv2=self.arrivals,
            site=self.site,
        )
        many = evaluate_many(
            topology, self.profiles, [self.plan], load, arrival_cv2=self.arrivals, site=self.site
        ).latency
        assert one.latency is not None
        assert many is not None
        quick = float(many.mean_s[0, 0]), float(many.p95_s[0, 0])
        return (one.latency.mean_s, one.latency.p95_s), quick, one.notes


def _on_shared_cores(case: GraphCase, rng: np.random.Generator) -> Floats:
    """Operators in line in one container whose busy instances share its cores evenly, each with one thread."""
    cores, names = float(case.site.container.cores or 1), case.topology.order
    first = np.cumsum([0, *(case.plan.parallelism[name] for name in names)])
    stage_of = [stage for stage, name in enumerate(names) for _ in range(case.plan.parallelism[name])]
    waiting: list[deque[float]] = [deque() for _ in stage_of]
    rate_per_s = case.load[names[0]]
    count = case.tuples
    arrivals = np.cumsum(rng.exponential(1 / rate_per_s, count)).tolist()
    works = [iter(rng.exponential(case.profiles[name].service_s, count).tolist()) for name in names]
    entered = iter(rng.integers(case.plan.parallelism[names[0]], size=count).tolist())
    turns = rng.integers(1 << 20, size=len(stage_of)).tolist()
    # Under even sharing the work done for each busy thread grows at one speed: threads end in order of begin + work.
    ending: list[tuple[float, int]] = []
    done_each, now, at, found = 0.0, 0.0, 0, []

    def arrive(stage: int, turn: int, born: float) -> None:
        instance = int(first[stage]) + turn % case.plan.parallelism[names[stage]]
        waiting[instance].append(born)
        if len(waiting[instance]) == 1:
            heapq.heappush(ending, (done_each + next(works[stage]), instance))

    while at < count or ending:
        speed = min(1.0, cores / max(1, len(ending)))
        leaves = now + (ending[0][0] - done_each) / speed if ending else np.inf
        comes = arrivals[at] if at < count else np.inf
        if comes < leaves:
            done_each, now, at = done_each + (comes - now) * speed, comes, at + 1
            arrive(0, next(entered), comes)
            continue
        done_each, now = ending[0][0], leaves
        _, instance = heapq.heappop(ending)
        stage, born = stage_of[instance], waiting[instance].popleft()
        if waiting[instance]:
            heapq.heappush(ending, (done_each + next(works[stage]), instance))
        if stage + 1 < len(names):
            turns[instance] += 1
            arrive(stage + 1, turns[instance], born)
        else:
            found.append((born, now - born))
    born, latency = np.array(found).T
    return np.asarray(latency[born > 0.1 * now])


def _plan(**parallelism: int) -> PhysicalPlan:
    return PhysicalPlan("case", parallelism)


def _line(stages: Mapping[str, Stage]) -> tuple[dict[str, OperatorProfile], tuple[Stream, ...], PhysicalPlan]:
    names = list(stages)
    after = dict(zip(names, [*names[1:], None], strict=True))
    profiles = {name: stage.profile(name, after[name]) for name, stage in stages.items()}
    streams = tuple(Stream(name, to) for name, to in after.items() if to)
    return profiles, streams, _plan(**{name: stage.instances for name, stage in stages.items()})


def _sharing(used: float, instances: int = 2, cores: int = 2) -> GraphCase:
    """Three operators in line whose instances share the cores of one container."""
    names = "abc"
    profiles = {name: OperatorProfile(name, 0.01, cpu_s=0.01) for name in names}
    together = Container(1, tuple(Instance(name, index) for name in names for index in range(instances)))
    plan = PhysicalPlan("case", dict.fromkeys(names, instances), (together,))
    return GraphCase(
        f"3 × {instances} instances share {cores} cores at {used:g}",
        profiles,
        (Stream("a", "b"), Stream("b", "c")),
        plan,
        {"a": used * cores / 0.03},
        tuples=100_000,
        site=Site(ContainerSize(cores=float(cores))),
    )


def _join(name: str, bursty: str) -> GraphCase:
    service = {"a->join": 0.012, "b->join": 0.002}
    profiles = {
        "a": OperatorProfile("a", 0.0),
        "b": OperatorProfile("b", 0.0),
        "join": OperatorProfile("join", 0.007, stream_service_s=service),
    }
    arrivals = Arrivals(by_source={each: Arrivals(1.0, BURSTS if each in bursty else None) for each in "ab"})
    streams = (Stream("a", "join"), Stream("b", "join"))
    return GraphCase(
        name, profiles, streams, _plan(a=1, b=1, join=1), {"a": 40.0, "b": 40.0}, arrivals, tuples=2_000_000
    )


def _even_join(name: str, bursty: str) -> GraphCase:
    case = _join(name, bursty)
    return replace(case, profiles={**case.profiles, "join": OperatorProfile("join", 0.007)})


def _later_join(name: str, first_s: float, second_s: float, load: Mapping[str, float]) -> GraphCase:
    """Each source, of which the first is bursty, has an operator of its own before the join."""
    services_s = {"a": 0.0, "b": 0.0, "x": first_s, "y": second_s, "join": 0.005}
    streams = (Stream("a", "x"), Stream("b", "y"), Stream("x", "join"), Stream("y", "join"))
    profiles = {operator: OperatorProfile(operator, seconds) for operator, seconds in services_s.items()}
    plan = PhysicalPlan("case", dict.fromkeys(services_s, 1))
    return replace(_join(name, "a"), profiles=profiles, streams=streams, plan=plan, load=load)


def _diamond(name: str, made: float, drawn: bool, partner: bool = False) -> GraphCase:
    arms = {"s->x": made, "s->y": made}
    cv2 = dict.fromkeys(arms, 1 - 1 / made) if drawn else {}
    rate_per_s = 50.0 / made
    profiles = {
        "s": OperatorProfile("s", 0.002, arms, selectivity_cv2=cv2),
        "x": OperatorProfile("x", 0.012, {"x->j": 1.0}),
        "y": OperatorProfile("y", 0.006, {"y->j": 1.0}),
        "j": OperatorProfile("j", 0.004 if partner else 0.006),
    }
    grouping = Grouping.FIELDS if partner else Grouping.SHUFFLE
    streams = (Stream("s", "x"), Stream("s", "y"), Stream("x", "j", grouping), Stream("y", "j", grouping))
    waits = "j" if partner else ""
    return GraphCase(name, profiles, streams, _plan(s=1, x=1, y=1, j=1), {"s": rate_per_s}, waits_for_partner=waits)


def _in_turn(parallelism: tuple[int, ...], cs2: float, used: float) -> GraphCase:
    names = "abcdefgh"[: len(parallelism)]
    stages = {name: Stage(0.01, cs2, instances=count) for name, count in zip(names, parallelism, strict=True)}
    profiles, streams, plan = _line(stages)
    load = {"a": used * min(parallelism) / 0.01}
    name = f"round robin through {'·'.join(map(str, parallelism))} of cv² {cs2:g} at {used:g}"
    return GraphCase(name, profiles, streams, plan, load)


def graph_cases() -> list[GraphCase]:
    return [
        *(_sharing(used) for used in (0.49, 0.7, 0.85, 0.94)),
        _join("join of 12 and 2 ms, the first source bursty", "a"),
        _join("the same, the second bursty", "b"),
        _even_join("join of two sources, one bursty", "a"),
        _even_join("the same, each bursts on its own", "ab"),
        _later_join("join behind 12 ms (bursty) and 2 ms", 0.012, 0.002, {"a": 40.0, "b": 40.0}),
        _later_join("the same, 5 times as many steady tuples", 0.012, 0.002, {"a": 20.0, "b": 100.0}),
        _diamond("diamond of unequal arms", 1.0, False),
        _diamond("the same, its join waits for partners", 1.0, False, partner=True),
        _diamond("the same, 1 → 5 into both arms", 5.0, False),
        _diamond("the same, geometric", 5.0, True),
        _diamond("the same, geometric 1 → 10", 10.0, True),
        *(_in_turn((count,) * 4, cs2, used) for count in (3, 8) for cs2 in (0.0, 0.1) for used in (0.6, 0.9)),
        *(_in_turn((8, 6, 4, 3), 0.0, used) for used in (0.6, 0.9)),
        *(_sharing(used, 8, 4) for used in (0.5, 0.7, 0.85)),
    ]


def graphs_against_simulation(replications: int, seed: int) -> None:
    print("\n| graph | mean ms | `evaluate` | `evaluate_many` | p95 ms | `evaluate` | `evaluate_many` | notes |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(seed)
    for case in graph_cases():
        runs = [1000 * case.latencies_s(rng) for _ in range(replications)]
        exact, quick, notes = case.told()
        cells = [case.name]
        for at, each in enumerate(
            (np.array([run.mean() for run in runs]), np.array([np.quantile(run, 0.95) for run in runs]))
        ):
            cells.append(f"{each.mean():.3g} ± {each.std(ddof=1):.2g}")
            cells += [f"{100 * (1000 * way[at] / each.mean() - 1):+.1f} %" for way in (exact, quick)]
        # Memory, which no case has, is noted with cores.
        print(
            f"| {' | '.join(cells)} | {'; '.join(note for note in notes if not note.startswith('memory'))} |",
            flush=True,
        )
