"""Our policy against the library's own code: the same random metrics, minute by minute, and the same decisions."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from modeling.arrays import Floats
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.replay.policies.flink_autoscaler import TUNED, FlinkAutoscaler, FlinkAutoscalerSettings
from planner.replay.policy import MinuteMetrics, Seen

pytestmark = pytest.mark.slow

CASES, MINUTES = 240, 50

# Option of release 1.10, attribute of ours, how a value is written.
OPTIONS = (
    ("stabilization.interval", "stabilization_s", "{:.0f} s"),
    ("metrics.window", "window_s", "{:.0f} s"),
    ("target.utilization", "target_utilisation", "{}"),
    ("target.utilization.boundary", "utilisation_boundary", "{}"),
    ("catch-up.duration", "catch_up_s", "{:.0f} s"),
    ("restart.time", "restart_s", "{:.0f} s"),
    ("scale-down.interval", "scale_down_interval_s", "{:.0f} s"),
    ("scale-down.max-factor", "max_scale_down_factor", "{}"),
    ("scale-up.max-factor", "max_scale_up_factor", "{}"),
    ("vertex.min-parallelism", "min_parallelism", "{}"),
    ("vertex.max-parallelism", "max_parallelism", "{}"),
    ("backlog-processing.lag-threshold", "backlog_lag_s", "{:.0f} s"),
    ("observed-true-processing-rate.lag-threshold", "observed_lag_s", "{:.0f} s"),
    ("observed-true-processing-rate.switch-threshold", "observed_switch", "{}"),
    ("observed-true-processing-rate.min-observations", "observed_least", "{}"),
)

# Edges by place: chains, diamonds, a join whose inputs feed others too, two sources.
SHAPES: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0, 1),),
    ((0, 1), (1, 2)),
    ((0, 1), (1, 2), (2, 3)),
    ((0, 1), (0, 2), (1, 3), (2, 3)),
    ((0, 1), (0, 2), (1, 2)),
    ((0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4)),
    ((0, 2), (1, 2), (2, 3)),
)

Decisions = list[tuple[int, dict[str, int]]]


@dataclass(frozen=True)
class Case:
    """records_in, records_out: tuples in each minute, by operator, streams. busy, suspended: thousandths. lag: by
    source, at each minute's end. failures: minutes at whose start the job fails.
    """

    topology: Topology
    plan: dict[str, int]
    partitions: dict[str, int]
    settings: FlinkAutoscalerSettings | None
    down_minutes: int
    failures: tuple[int, ...]
    records_in: Floats
    records_out: Floats
    busy: Floats
    suspended: Floats
    lag: Floats

    def as_json(self) -> str:
        """What the library is told. Without settings it uses its defaults, which ours are then held to."""
        topology, minutes = self.topology, []
        for at in range(MINUTES):
            told = {
                name: {
                    "records_in": self.records_in[at, place],
                    "records_out": sum(
                        self.records_out[at, number]
                        for number, stream in enumerate(topology.streams)
                        if stream.upstream == name
                    ),
                    "busy_ms": self.busy[at, place],
                    "backpressured_ms": self.suspended[at, place],
                    "lag": self.lag[at, topology.sources.index(name)] if name in topology.sources else 0,
                }
                for place, name in enumerate(topology.order)
            }
            minutes.append(told)
        vertices = [
            {
                "name": name,
                "parallelism": self.plan[name],
                "max_parallelism": topology.max_parallelism[name],
                "partitions": self.partitions.get(name, 0),
                "inputs": {
                    stream.upstream: "HASH" if stream.grouping is Grouping.FIELDS else "REBALANCE"
                    for stream in topology.inputs(name)
                },
            }
            for name in topology.order
        ]
        settings = {
            f"job.autoscaler.{option}": written.format(getattr(self.settings, attribute))
            for option, attribute, written in (OPTIONS if self.settings else ())
        }
        return json.dumps(
            {
                "settings": settings,
                "down_minutes": self.down_minutes,
                "failures": self.failures,
                "vertices": vertices,
                "minutes": minutes,
            }
        )

    def decisions(self) -> Decisions:
        """What our policy asks for, in the same world."""
        policy = FlinkAutoscaler(self.settings, partitions=self.partitions)
        plan, running_since_s, decided = self.plan, 0.0, []
        up_s = np.zeros(MINUTES)
        for at in range(MINUTES):
            if at in self.failures:
                running_since_s = 60.0 * (at + self.down_minutes)
            up_s[at] = 60.0 if 60.0 * at >= running_since_s else 0.0
            now_s = 60.0 * (at + 1)
            seen = Seen(now_s, plan, running_since_s, now_s <= running_since_s, self._measured(up_s, at + 1))
            if decision := policy.decide(seen):
                plan = dict(decision.plan)
                decided.append((at, plan))
                running_since_s = now_s + 60.0 * self.down_minutes
        return decided

    def _measured(self, up_s: Floats, minutes: int) -> MinuteMetrics:
        sources = [self.topology.order.index(name) for name in self.topology.sources]
        start_s = 60.0 * np.arange(MINUTES)
        into, shares = self.records_in / 60, self.busy / 1000
        whole = MinuteMetrics(
            self.topology,
            start_s,
            up_s,
            into[:, sources],
            into[:, sources],
            self.lag,
            into,
            shares,
            shares,
            self.suspended / 1000,
            self.records_out / 60,
        )
        return whole.taken(slice(0, minutes))


def _case(rng: Random) -> Case:
    shape = rng.choice(SHAPES)
    names = [f"v{number}" for number in range(1 + max(below for _, below in shape))]
    operators = tuple(Operator(name, rng.choice([12, 30, 60, 128, 180, 720])) for name in names)
    groupings = (Grouping.FIELDS, Grouping.SHUFFLE)
    topology = Topology(
        "job", operators, tuple(Stream(names[above], names[below], rng.choice(groupings)) for above, below in shape)
    )
    plan = {operator.name: rng.randint(1, min(40, operator.max_parallelism)) for operator in operators}
    partitions = {name: rng.choice([7, 12, 48, 100]) for name in topology.sources if rng.random() < 0.4}
    records_in = np.zeros((MINUTES, len(names)))
    busy, suspended, lag = records_in.copy(), records_in.copy(), np.zeros((MINUTES, len(topology.sources)))
    records_out = np.zeros((MINUTES, len(shape)))
    rates = {name: rng.uniform(0.05, 4) for name in (stream.name for stream in topology.streams)}
    # Levels hold for a while, so that surpluses last and windows are steady; some are idle, some saturated.
    at = 0
    while at < MINUTES:
        until = at + rng.randint(4, 20)
        arrivals = {name: rng.choice([0, 100, 20_000, 900_000]) * rng.uniform(0.5, 2) for name in topology.sources}
        load = {name: rng.choice([rng.uniform(0, 300), rng.uniform(300, 950), 1000]) for name in names}
        held, trend = rng.choice([0, 0, 200, 700, 1000]), rng.choice([-2.0, -0.5, 0.0, 0.0, 0.4])
        for minute in range(at, min(until, MINUTES)):
            for place, name in enumerate(topology.order):
                if name in topology.sources:
                    taken = round(arrivals[name] * rng.uniform(0.9, 1.1))
                    source = topology.sources.index(name)
                    before = lag[minute - 1, source] if minute else rng.choice([0, 0, 7]) * taken
                    lag[minute, source] = max(0, before + round(trend * taken))
                    suspended[minute, place] = min(1000, round(held * rng.uniform(0.8, 1.0)))
                else:
                    taken = sum(
                        records_out[minute, number]
                        for number, stream in enumerate(topology.streams)
                        if stream.downstream == name
                    )
                records_in[minute, place] = taken
                busy[minute, place] = min(1000, round(load[name] * rng.uniform(0.9, 1.1)))
                for number, stream in enumerate(topology.streams):
                    if stream.upstream == name:
                        records_out[minute, number] = round(taken * rates[stream.name] * rng.uniform(0.95, 1.05))
        at = until
    return Case(
        topology,
        plan,
        partitions,
        rng.choice([_settings(rng), _settings(rng), TUNED, None]),
        rng.randint(1, 2),
        tuple(rng.sample(range(1, MINUTES), rng.choice([0, 0, 1]))),
        records_in,
        records_out,
        busy,
        suspended,
        lag,
    )


def _settings(rng: Random) -> FlinkAutoscalerSettings:
    return FlinkAutoscalerSettings(
        stabilization_s=rng.choice([0, 60, 150, 300]),
        window_s=rng.choice([60, 150, 300, 600]),
        target_utilisation=rng.choice([0.55, 0.7, 0.8, 0.93]),
        utilisation_boundary=rng.choice([0.05, 0.1, 0.3, 0.6]),
        catch_up_s=rng.choice([0, 300, 900, 1800]),
        restart_s=rng.choice([0, 30, 60, 300]),
        scale_down_interval_s=rng.choice([0, 120, 600, 1200]),
        max_scale_down_factor=rng.choice([0.3, 0.6, 1.0]),
        max_scale_up_factor=rng.choice([0.5, 2.0, 100_000.0]),
        min_parallelism=rng.choice([1, 1, 11]),
        max_parallelism=rng.choice([25, 200, 200]),
        backlog_lag_s=rng.choice([30, 300]),
        observed_lag_s=rng.choice([10, 30]),
        observed_switch=rng.choice([0.0, 0.15]),
        observed_least=rng.choice([1, 2, 4]),
    )


def test_defaults__are_those_of_the_library(library: Callable[..., list[str]]) -> None:
    theirs = json.loads(library([], "defaults")[0])
    ours = FlinkAutoscalerSettings()
    for option, attribute, written in OPTIONS:
        assert theirs[f"job.autoscaler.{option}"] == written.format(getattr(ours, attribute)), option
    for option in ("scaling.effectiveness.detection.enabled", "restart.time-tracking.enabled", "memory.tuning.enabled"):
        assert theirs[f"job.autoscaler.{option}"] == "false", option
    assert theirs["job.autoscaler.metrics.busy-time.aggregator"] == "MAX"


def test_decisions__are_those_of_the_library_in_every_case(library: Callable[..., list[str]]) -> None:
    rng = Random(20181008)
    cases = [_case(rng) for _ in range(CASES)]
    theirs = [[(at, plan) for at, plan in json.loads(line)] for line in library([case.as_json() for case in cases])]
    seen: Counter[str] = Counter()
    for number, (case, expected) in enumerate(zip(cases, theirs, strict=True)):
        assert case.decisions() == expected, f"case {number}: {case.topology.streams}, {case.settings}"
        plans = [case.plan, *(plan for _, plan in expected)]
        for before, after in pairwise(plans):
            seen.update("up" if after[name] > before[name] else "down" for name in after if after[name] != before[name])
        seen["default" if case.settings is None else "set"] += len(expected)
    # What the cases reach, so that none of the rules goes unasked.
    assert min(seen["up"], seen["down"]) > 200
    assert min(seen["default"], seen["set"]) > 20
