"""One query on task managers with a quota each: init, calibration at one plan, predictions, measurements."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import yaml
from queries import QUERIES
from quotas import CpuSpan, Quotas

from forescale.files.topology import TopologyConfig
from forescale.jobs.init import DraftTarget, described_job, draft_topology
from forescale.local.demo.flink_measurement import bring_to, measured_bottleneck
from forescale.local.demo.modeled_job import logged_latencies_s, offer
from forescale.local.flink.example_job import SOURCES, example_job
from forescale.local.flink.local_cluster import LocalFlink
from forescale.local.flink.submission import cancel_job, submit_job
from forescale.settings import Settings
from forescale.situation.known_profiles import known_profiles
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.engine import JobRequest
from forescale.wiring.packing import known_site, placing_of
from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.flow.limits import ContainerLimit
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.topology import Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster
from planner.learned_warm_up import SpeedSample

JAVA = Path(__file__).with_name("java")
MAIN_CLASS = "nexmark.Nexmark"
CORES = "cores"
LOAD_SHARE = 0.6
FULL = 0.95
"""Share of its quota above which a task manager counts as out of cores."""
OVERLOAD_PER_S = 400_000.0
WARM_S = 3.0
COMPILE_S, SETTLE_S, SPAN_S = 6.0, 14.0, 20.0
"""A span has two checkpoints in it. Before it, windows (10 s and 1 s of lateness) and state become those of the load:
what an earlier plan took in is otherwise fired, kept and snapshotted by this one."""
STEADY, MAX_SPANS = 0.05, 4
"""A span counts once it takes in as much as the one before, within a share of that; the last of so many at most."""
EVEN_SPANS = 3
RISING_SPAN_S = 10.0
CALIBRATED_SPANS = 2
"""Under each of two loads: the machine's pace, which differs from span to span, is no part of the job."""
STATE_TTL_S = 10
LATE_S = 1.0
RESCALED_S = 120.0
COMPILING_CORES = 1.2
"""Of all task managers together while they compile: the rest is for the job manager, and for others."""
FIRST_DEPLOYED_S = 10.0
BUFFER_TIMEOUT_S = 0.1
"""Flink's default."""
POLLING = Polling(interval_s=0.005, most_per_poll=1_000_000)
"""Of the generator, which takes in what is due every 5 ms (POLL_MICROS in Nexmark.java)."""


class Pace(Protocol):
    """How much work a second of CPU does just now."""

    def mean_since(self, began_s: float) -> float:
        """Work per CPU second since a moment of time.monotonic()."""


@dataclass(frozen=True)
class Row:
    """A plan as predicted before it ran, and as measured. cores: of a task manager. Bottlenecks: an operator, or CORES.
    p95s and cores used: under LOAD_SHARE of the measured maximum. p95s are None for a query without dated results.
    others: cores that the rest of the machine kept busy meanwhile. again: whether this is the plan of the calibration,
    measured again at the end: what the error is of a measurement alone. steady: whether two spans at full load took
    in as much, and all sources kept up with even arrivals. full_pace, load_pace: events that the reference took in per
    CPU second during the span at full load, and during that at LOAD_SHARE, over those during the calibration.
    """

    query: str
    again: bool
    parallelism: dict[str, int]
    cores: float
    told_per_s: float
    measured_per_s: float
    told_bottleneck: str
    measured_bottleneck: str
    told_p95_s: float | None
    measured_p95_s: float | None
    told_cores: float
    measured_cores: float
    others: float
    steady: bool = True
    full_pace: float = 1.0
    load_pace: float = 1.0


@dataclass(frozen=True)
class Span:
    """Samples, what the groups used and how fast the machine was; whether the span before took in as much."""

    samples: Sequence[OperatorSample]
    used: CpuSpan
    pace: float
    steady: bool = True


@dataclass(frozen=True)
class Plan:
    counts: tuple[int, ...]
    cores: float


def plans(topology: Topology, cores: float) -> tuple[Plan, list[Plan]]:
    """The plan to calibrate at, and plans to predict: equal and unequal, other cores; last the first again.

    Of several operators, the first plan has task managers with the source alone, which tell whose CPU it is.
    """
    first, *rest = (topology.operator(name).max_parallelism for name in topology.order)

    def plan(source: int, others: int, of_cores: float = cores) -> Plan:
        return Plan((min(source, first), *(min(others, most) for most in rest)), of_cores)

    if not rest:
        return plan(2, 0), [plan(1, 0), plan(8, 0), plan(4, 0), plan(3, 0), plan(2, 0, 2 * cores), plan(2, 0)]
    return plan(4, 2), [plan(1, 1), plan(8, 8), plan(2, 4), plan(2, 2), plan(2, 2, 2 * cores), plan(4, 2)]


def sustained_per_s(samples: Sequence[OperatorSample], source: str) -> float:
    """Arrivals a second that every instance of the source keeps up with, as they are shared out evenly. Instances whose
    task managers run the same operators are alike, and their mean counts.
    """
    within: dict[str | None, set[str]] = defaultdict(set)
    for sample in samples:
        within[sample.container].add(sample.operator)
    rates_per_s: dict[frozenset[str], list[float]] = defaultdict(list)
    for sample in samples:
        if sample.operator == source:
            rates_per_s[frozenset(within[sample.container])].append(sample.records_in / sample.span_s)
    return sum(map(len, rates_per_s.values())) * min(float(np.mean(alike)) for alike in rates_per_s.values())


class Unpaced:
    """The machine taken to be as fast always."""

    def mean_since(self, _began_s: float) -> float:
        return 1.0


class Query:
    """A submitted query, and what the product knows of it."""

    def __init__(self, name: str, flink: LocalFlink, held: Quotas, cores: float, pace: Pace | None = None) -> None:
        """pace: None for a query whose speed is not compared."""
        self.name, self._flink, self._held, self._pace = name, flink, held, pace or Unpaced()
        self._cores, self._calibrated_pace = cores, 1.0
        self._folder = flink.folder / name
        self._folder.mkdir(exist_ok=True)  # a reference runs beside several
        (self._folder / "query.sql").write_text(QUERIES[name], encoding="utf-8")
        self._clock = RealClock()
        offer(self._folder, {"events": OVERLOAD_PER_S})
        jar = example_job(flink.java, flink.distribution, flink.folder, SOURCES, JAVA)
        arguments = {
            "query": str(self._folder / "query.sql"),
            "rates": str(self._folder),
            "latencies": str(self._folder),
            "state-ttl-s": str(STATE_TTL_S),
            "job-name": name,
        }
        self._job = submit_job(flink.url, jar, arguments, main_class=MAIN_CLASS)
        self._clock.wait(FIRST_DEPLOYED_S)
        self._config, self._settings = self._init()
        self.topology = self._config.as_topology()
        self.at, self.unseen = plans(self.topology, cores)
        self.profiles: dict[str, OperatorProfile] = known_profiles(self._config, {})

    def _init(self) -> tuple[TopologyConfig, Settings]:
        """As `forescale init` writes it; a person adds the quota and the buffer timeout, which Flink does not tell."""
        workspace = Workspace(Settings(home=self._folder))
        described = described_job("flink", JobRequest(self._flink.url, self.name))
        drafted = draft_topology(workspace, described, DraftTarget(str(self._folder / f"{self.name}.yaml")))
        fields = yaml.safe_load(drafted.path.read_text(encoding="utf-8"))
        site = self._folder / "site.yaml"
        site.write_text(yaml.safe_dump({"buffer_timeout_s": BUFFER_TIMEOUT_S}), encoding="utf-8")
        fields["packing"] = {"packer": "flink_slots", "cores": self._cores, "slots": 1, "site": str(site)}
        drafted.path.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
        return workspace.config(str(drafted.path)), workspace.settings

    def calibrate(self) -> list[str]:
        """At one plan: full, and at LOAD_SHARE of that. Returns notes."""
        widest, source = self.unseen[1], self.topology.sources[0]
        self._bring(self.at)
        self._bring(widest)  # every task manager compiles the code
        taken_per_s = sustained_per_s(self._cluster(widest.cores).operator_samples(SPAN_S), source)
        self._bring(self.at, taken_per_s * self.at.counts[0] / widest.counts[0])
        full = [self._full(), *(self._span() for _ in range(1, CALIBRATED_SPANS))]
        full_per_s = float(np.mean([sustained_per_s(each.samples, source) for each in full]))
        offer(self._folder, {"events": LOAD_SHARE * full_per_s})
        self._clock.wait(SETTLE_S)
        calm = [self._span() for _ in range(CALIBRATED_SPANS)]
        samples = [sample for each in (*full, *calm) for sample in each.samples]
        self._calibrated_pace = float(np.mean([each.pace for each in (*full, *calm)]))
        made = calibrated(self.topology, samples, self.profiles, warm_s=WARM_S)
        self.profiles = {**made.profiles, source: replace(made.profiles[source], polling=POLLING)}
        unsteady = [] if full[0].steady else [f"no two of {MAX_SPANS} spans at full load took in as much"]
        return [*unsteady, *(f"{name}: {note}" for name, one in made.operators.items() for note in one.notes)]

    def row(self, plan: Plan) -> Row:
        told = self.told(plan, 1.0)
        self._bring(plan, next(iter(told.mst_per_s.values())))
        full = self._full()
        measured_per_s, steady, full_pace = self._even(full)
        load_per_s = LOAD_SHARE * measured_per_s
        offer(self._folder, {"events": load_per_s})
        self._clock.wait(SETTLE_S)
        began, since_s = self._held.begun(), time.time()
        self._clock.wait(SPAN_S)
        used = self._held.since(began)
        load_pace = self._pace.mean_since(began[0]) / self._calibrated_pace
        latencies_s = logged_latencies_s(self._folder, since_s, time.time() - LATE_S)
        at_load = self.told(plan, load_per_s)
        parallelism = dict(zip(self.topology.order, plan.counts, strict=True))
        by_use, count = sorted(used.cores, reverse=True), max(plan.counts)
        out_of_cores = max(full.used.cores) >= FULL * plan.cores
        return Row(
            query=self.name,
            again=plan == self.at,
            parallelism=parallelism,
            cores=plan.cores,
            told_per_s=next(iter(told.mst_per_s.values())),
            measured_per_s=measured_per_s,
            told_bottleneck=CORES if isinstance(told.bottleneck, ContainerLimit) else str(told.bottleneck),
            measured_bottleneck=CORES if out_of_cores else measured_bottleneck(self.topology, full.samples),
            told_p95_s=None if at_load.latency is None else at_load.latency.p95_s,
            measured_p95_s=float(np.quantile(latencies_s, 0.95)) if latencies_s.size else None,
            told_cores=0.0 if at_load.resources is None else at_load.resources.total_cores,
            measured_cores=sum(by_use[:count]),
            others=full.used.others,
            steady=steady,
            full_pace=full_pace / self._calibrated_pace,
            load_pace=load_pace,
        )

    def speeds(self, plan: Plan, for_s: float) -> list[tuple[SpeedSample, float]]:
        """What it takes in after a rescale, span by span, where its quotas hold from the first second on; and the
        machine's pace in each span.
        """
        self._held.hold(plan.cores)
        offer(self._folder, {"events": OVERLOAD_PER_S})
        cluster = self._cluster(plan.cores, warm_s=0.0)
        parallelism = dict(zip(self.topology.order, plan.counts, strict=True))
        bring_to(cluster, PhysicalPlan(self.topology.name, parallelism), self._clock, RESCALED_S)
        found: list[tuple[SpeedSample, float]] = []
        while not found or found[-1][0].until_s < for_s:
            began_s = time.monotonic()
            spans = cluster.operator_samples(RISING_SPAN_S)
            samples = [each for each in spans if each.operator == self.topology.sources[0]]
            state = cluster.state()
            assert state.running_since is not None
            until_s = (state.observed_at - state.running_since).total_seconds()
            from_s = max(0.0, until_s - float(np.mean([each.span_s for each in samples])))
            taken_per_s = sum(each.records_in / each.span_s for each in samples)
            sample = SpeedSample(from_s, until_s, taken_per_s, capacity_per_s=0.0)
            found.append((sample, self._pace.mean_since(began_s)))
        return found

    def _full(self) -> Span:
        """A span at full load, once it takes in as much as the one before."""
        source, before_per_s = self.topology.sources[0], 0.0
        for _ in range(MAX_SPANS):
            span = self._span()
            now_per_s = sustained_per_s(span.samples, source)
            if abs(now_per_s - before_per_s) <= STEADY * before_per_s:
                return span
            before_per_s = now_per_s
        return replace(span, steady=False)

    def _even(self, full: Span) -> tuple[float, bool, float]:
        """Arrivals a second, shared out evenly, that the plan keeps up with; whether that is sure, and the pace then.

        full: while each source takes what it can. One that shares its cores with a reader of all takes less than the
        others, of whose tuples that reader then has more than of even arrivals: these are searched between.
        """
        span, source = full, self.topology.sources[0]
        for _ in range(EVEN_SPANS):
            even_per_s = sustained_per_s(span.samples, source)
            taken_per_s = sum(each.records_in / each.span_s for each in span.samples if each.operator == source)
            if taken_per_s <= (1 + STEADY) * even_per_s:
                return even_per_s, span.steady, span.pace
            offer(self._folder, {"events": (taken_per_s + even_per_s) / 2})
            self._clock.wait(SETTLE_S)
            span = self._span()
        return sustained_per_s(span.samples, source), False, span.pace

    def _span(self) -> Span:
        # With cores of which the machine has room for all task managers: samples name theirs then.
        cluster, began = self._cluster(self._cores), self._held.begun()
        samples = cluster.operator_samples(SPAN_S)
        return Span(samples, self._held.since(began), self._pace.mean_since(began[0]))

    def fill(self) -> None:
        """As it was submitted, full within its quota, once its code is compiled."""
        self._clock.wait(COMPILE_S)
        self._held.hold(self._cores)

    def taken_per_s(self, span_s: float) -> float:
        samples = self._cluster(self._cores, warm_s=0.0).operator_samples(span_s)
        return sustained_per_s(samples, self.topology.sources[0])

    def told(self, plan: Plan, load_per_s: float) -> Estimate:
        """What `forescale model evaluate` says of the plan."""
        where = known_site(self._config, self._settings)[0]
        placing = placing_of(self._config, where, self.profiles)
        assert placing is not None
        placed = placing.plan(dict(zip(self.topology.order, plan.counts, strict=True)))
        site = where.site.with_cores(plan.cores)
        load = {self.topology.sources[0]: load_per_s}
        return evaluate(self.topology, self.profiles, placed, load, site=site, percentiles=True)

    def _bring(self, plan: Plan, compiling_per_s: float = OVERLOAD_PER_S) -> None:
        """Runs the plan until its code is compiled, with the machine's cores; then full, with its quotas.

        compiling_per_s: offered meanwhile, about what the quotas let through, so that no more state piles up.
        """
        self._held.hold(max(plan.cores, COMPILING_CORES / max(plan.counts)))
        for log in self._folder.glob("*.latencies"):
            log.unlink()
        cluster = self._cluster(plan.cores)
        parallelism = dict(zip(self.topology.order, plan.counts, strict=True))
        running = cluster.state().plan
        if dict(running.parallelism) != parallelism:
            bring_to(cluster, type(running)(self.topology.name, parallelism), self._clock, RESCALED_S)
        offer(self._folder, {"events": compiling_per_s})
        self._clock.wait(COMPILE_S)
        self._held.hold(plan.cores)
        offer(self._folder, {"events": OVERLOAD_PER_S})
        self._clock.wait(SETTLE_S)

    def _cluster(self, cores: float, warm_s: float = WARM_S) -> FlinkCluster:
        entry = self._config.cluster_section
        return FlinkCluster(
            self._flink.url,
            self.name,
            self.topology,
            getattr(entry, "operators", {}),
            warm_s=warm_s,
            container_cores=cores,
            timeout_s=60.0,
        )

    def stop(self) -> None:
        cancel_job(self._flink.url, self._job)
