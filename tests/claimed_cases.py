"""Schedules over loads that are drawn at random, and what the simulator shows of them: claims against what came."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.state import Restored
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from planner.clusters.engine_terms import EngineTerms
from planner.guard.terms import GuardTerms
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.outlook import CAPACITY_ERROR, PATHS
from planner.horizon.prices import HOURLY_S, ChangeTerms
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel
from planner.replay.contest import GUARD_SETTLE_S, NEVER
from planner.replay.load import Load
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.policies.guard import Guard
from planner.replay.policies.planned import Planned
from planner.replay.policy import Policy, Seen
from planner.replay.reality import Differences, Reality
from planner.replay.run import replay

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP_S, STEPS = 300, 48
FORECAST_PATHS, DRAWN = 4 * PATHS, 5 * PATHS
"""Of the paths that are drawn alike, those that the forecast has, and all; what comes is one of the others."""

LIMITS = Limits(max_utilisation=FULL, max_instances=200)
RESCALE_H, SHARES = (0.1, 0.5, 1.0), (0.002, 0.005, 0.02, 0.05)

SEEN_S = {"act": GuardTerms().window_s, "advise": HOURLY_S, "off": HOURLY_S}
"""By planning.guard.mode: for how long an overload lasts until somebody acts, the guard or the next forecast."""


@dataclass(frozen=True)
class DrawnCase:
    """paths_per_s: shape (DRAWN, STEPS). running: the plan at the beginning. share: of minutes that may be late."""

    topology: Topology
    profiles: dict[str, OperatorProfile]
    paths_per_s: Floats
    terms: ChangeTerms
    running: dict[str, int]
    rescale_h: float
    share: float

    @property
    def forecasts(self) -> dict[str, Forecast]:
        return {self.topology.sources[0]: _forecast(self.topology, self.paths_per_s[:FORECAST_PATHS])}

    def simulated_minutes(self, planned: HorizonPlan, path: int, capacity_factor: float) -> int:
        """Minutes beyond the target's lag where this path comes and each operator carries so many times what is
        believed of it.
        """
        load = self._load(path)
        plans = [(turn.asked_s + load.start_s, planned.plan_of(turn)) for turn in planned.found.turns]
        changes = [(load.start_s, self.running), *((at_s, dict(plan.parallelism)) for at_s, plan in plans)]
        return self._late_minutes(AtMoments("schedule", changes, "as planned"), load, capacity_factor)

    def guarded_minutes(self, seed: int, mode: str, path: int, capacity_factor: float) -> tuple[HorizonPlan, int]:
        """The same where a planner with one forecast plans as in a replay, and somebody adds instances by the rule of
        that mode of the guard: itself, or whoever plans anew once an overload has lasted for an hour. With the one
        plan that was made.
        """
        rng = np.random.default_rng([seed, 4])
        planner, share = self._guarded_planner(mode, float(rng.choice(RESCALE_H))), float(rng.choice(SHARES))
        limits, model = Limits(max_utilisation=planner.terms.rescue_utilisation), planner.cheapest.model
        guard = GuardTerms(
            window_s=SEEN_S[mode],
            settle_s=GUARD_SETTLE_S,
            utilisation=planner.terms.rescue_utilisation,
            drain_s=planner.terms.drain_s,
            blacklist_after=NEVER,
            max_lag_s=planner.terms.max_lag_s,
            downtime_s=planner.terms.downtime_s,
            limits=limits,
            model=model,
        )
        reacting = Guard(self.topology, guard) if planner.terms.withholds else _Unmeasured(self.topology, guard)
        policy = Planned("planner", planner, _Once(self.forecasts), share, reacting)
        came = self._late_minutes(policy, self._load(path), capacity_factor)
        (planned,) = planner.plans
        return planned, came

    def _guarded_planner(self, mode: str, rescale_h: float) -> "_Remembering":
        """It counts on what is done by that mode of the guard."""
        # The guard sees a minute when it has ended.
        react_s = SEEN_S[mode] + 60.0 + self.terms.lead_s
        terms = replace(self.terms, react_s=react_s, withholds=mode != "off", weighs_rescues=mode == "act")
        headroom = Headroom.of_usual_load(LIMITS) if mode == "act" else Headroom.of(LIMITS, 0.95)
        return _Remembering(PlanModel(self.topology, self.profiles), LIMITS, terms, rescale_h, headroom=headroom)

    def _load(self, path: int) -> Load:
        minutes = np.repeat(self.paths_per_s[path], STEP_S // 60)
        return Load(int(START.timestamp()), {self.topology.sources[0]: minutes})

    def _late_minutes(self, policy: Policy, load: Load, capacity_factor: float) -> int:
        true = {name: profile.slower(1.0 / capacity_factor) for name, profile in self.profiles.items()}
        restore = self.terms.restore
        terms = EngineTerms(
            self.terms.downtime_s,
            lead_s=self.terms.lead_s,
            restore_s_per_gib=restore.s_per_gib,
            state_gib=restore.state_gib,
            restored=restore.restored,
            parallel_restore=restore.parallel,
        )
        reality = Reality(PlanModel(self.topology, true), terms, Differences(), load.start_s, load.end_s)
        done = replay(policy, load, reality, self.running)
        return int(np.count_nonzero(done.lag_s > self.terms.max_lag_s))


class _Remembering(HorizonPlanner):
    """Keeps what it plans."""

    def planned(self, *inputs: Any, **more: Any) -> HorizonPlan | None:
        planned = super().planned(*inputs, **more)
        assert planned is not None
        self.plans = [*getattr(self, "plans", ()), planned]
        return planned


@dataclass(frozen=True)
class _Once:
    """One forecast, and no later one."""

    forecasts: Mapping[str, Forecast]

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        return self.forecasts


class _Unmeasured(Guard):
    """Where the guard is off, nothing is measured and nothing withheld."""

    def withheld(self, plan: Mapping[str, int], issued_s: float, seen: Seen) -> None:
        return None


@cache
def drawn_case(seed: int) -> DrawnCase:
    """A chain or a fork of one to three operators behind a source, a load with a level, a walk and spikes, and terms,
    target, state and budget, all drawn by seed.
    """
    rng = np.random.default_rng(seed)
    topology, profiles = _job(rng)
    paths = _paths(rng)
    terms = ChangeTerms(
        lead_s=float(rng.choice([60, 120, 300, 600])),
        downtime_s=float(rng.choice([30, 60, 120, 180])),
        apart_s=0.0,
        max_lag_s=float(rng.choice([60, 90, 180])),
        restore=_restore(topology, np.random.default_rng([seed, 2])),
    )
    rescale_h = float(rng.choice(RESCALE_H))
    planner = HorizonPlanner(PlanModel(topology, profiles), LIMITS, terms, rescale_h)
    first = float(np.median(paths[:, 0]) * rng.uniform(0.8, 1.5))
    running = dict(planner.cheapest.plan({topology.sources[0]: first}).parallelism)
    return DrawnCase(topology, profiles, paths, terms, running, rescale_h, float(rng.choice(SHARES)))


def planned_case(seed: int) -> tuple[DrawnCase, HorizonPlan]:
    """With its schedule, where nobody but the schedule acts."""
    case = drawn_case(seed)
    planner = HorizonPlanner(PlanModel(case.topology, case.profiles), LIMITS, case.terms, case.rescale_h)
    planned = planner.planned(case.forecasts, _now(case.running), Budget(case.share))
    assert planned is not None
    return case, planned


def capacity_factor(rng: np.random.Generator) -> float:
    """True over believed capacity, as the planner takes it to be distributed."""
    return float(np.exp(CAPACITY_ERROR * rng.standard_normal()))


def spike_minutes(rates_per_s: Floats, carried_per_s: float) -> tuple[float, int]:
    """Claimed and simulated minutes beyond 90 s of lag under one plan, whose load is known."""
    topology = Topology("claims", (Operator("source"), Operator("work0")), (Stream("source", "work0"),))
    profiles = {"source": OperatorProfile("source", 1e-6), "work0": OperatorProfile("work0", 1.0 / carried_per_s)}
    terms, running = ChangeTerms(0.0, 60.0, 0.0, 90.0), {"source": 1, "work0": 1}
    planner = HorizonPlanner(PlanModel(topology, profiles), Limits(max_utilisation=FULL), terms, 1.0)
    forecasts = {"source": _forecast(topology, rates_per_s[None])}
    planned = planner.followed(forecasts, _now(running), [[]], Budget(0.0), 1.0)
    assert planned is not None
    case = DrawnCase(topology, profiles, rates_per_s[None], terms, running, 1.0, 0.0)
    return planned[0].found.violation_minutes, case.simulated_minutes(planned[0], 0, 1.0)


def _now(running: dict[str, int]) -> Present:
    return Present(START.timestamp(), running)


def _job(rng: np.random.Generator) -> tuple[Topology, dict[str, OperatorProfile]]:
    count = int(rng.integers(1, 4))
    names = [f"work{number}" for number in range(count)]
    fork = count == 3 and rng.random() < 0.5
    ways = [("source", names[0]), *((names[0 if fork else at - 1], names[at]) for at in range(1, count))]
    topology = Topology("claims", tuple(map(Operator, ["source", *names])), tuple(Stream(*way) for way in ways))
    profiles = {"source": OperatorProfile("source", 1e-6)}
    # At 10/s, the middle of what comes, each operator needs two to six instances.
    profiles |= {name: OperatorProfile(name, float(rng.uniform(0.2, 0.6))) for name in names}
    return topology, profiles


def _restore(topology: Topology, rng: np.random.Generator) -> StateRestore:
    """None in half of the cases."""
    if rng.random() < 0.5:
        return NO_RESTORE
    state_gib = {name: float(rng.uniform(0, 4)) for name in topology.order[1:]}
    restored = list(Restored)[int(rng.integers(len(Restored)))]
    return StateRestore(float(rng.uniform(5, 40)), state_gib, restored, bool(rng.random() < 0.5))


def _paths(rng: np.random.Generator) -> Floats:
    hours = np.arange(STEPS) * STEP_S / 3600.0
    wave = 1.0 + rng.uniform(0.0, 0.7) * np.sin(hours * rng.uniform(0.4, 2.0) + rng.uniform(0, 6))
    shape = (DRAWN, STEPS)
    level = rng.uniform(0.0, 0.1) * rng.standard_normal((DRAWN, 1))
    walk = rng.uniform(0.0, 0.03) * rng.standard_normal(shape).cumsum(axis=1)
    noise = rng.uniform(0.0, 0.1) * rng.standard_normal(shape)
    begins = rng.random(shape) < rng.choice([0.0, 0.003, 0.01])
    spikes = np.where(begins, rng.uniform(1.2, 3.0, shape), 1.0)
    longer = rng.random(shape) < 0.5
    spikes[:, 1:] = np.where(longer[:, 1:] & begins[:, :-1], spikes[:, :-1], spikes[:, 1:])
    return np.asarray(10.0 * wave * np.exp(level + walk + noise) * spikes)


def _forecast(topology: Topology, paths: Floats) -> Forecast:
    horizon_s = STEP_S * paths.shape[1]
    return Forecast(
        issued_at=START,
        topology=topology.name,
        source=topology.sources[0],
        start=START,
        step_s=STEP_S,
        quantiles=(0.5,),
        rate_per_s=np.median(paths, axis=0)[:, None],
        peak_per_s={horizon_s: np.array([float(paths.max())])},
        paths_per_s=paths,
        forecaster={horizon_s: "drawn"},
        trained_from=START - timedelta(days=7),
        trained_to=START,
        history_digest="",
        seed=0,
    )
