"""Schedules over loads that are drawn at random, and what the simulator shows of them: claims against what came."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

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
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.outlook import CAPACITY_ERROR, PATHS
from planner.horizon.prices import ChangeTerms
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel
from planner.replay.contest import GUARD_SETTLE_S, NEVER
from planner.replay.load import Load
from planner.replay.policies.at_moments import AtMoments
from planner.replay.policies.guard import Guard
from planner.replay.policies.planned import Planned
from planner.replay.policy import Policy
from planner.replay.reality import Differences, Reality
from planner.replay.run import replay

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP_S, STEPS = 300, 48
FORECAST_PATHS, DRAWN = 4 * PATHS, 5 * PATHS
"""Of the paths that are drawn alike, those that the forecast has, and all; what comes is one of the others."""

GUARD_WINDOW_S = GuardTerms().window_s


@dataclass(frozen=True)
class ClaimedCase:
    """paths_per_s: shape (DRAWN, STEPS). running: the plan at the beginning."""

    topology: Topology
    profiles: dict[str, OperatorProfile]
    paths_per_s: Floats
    terms: ChangeTerms
    planned: HorizonPlan
    running: dict[str, int]

    def simulated_minutes(self, path: int, capacity_factor: float) -> int:
        """Minutes beyond the target's lag where this path comes and each operator carries so many times what is
        believed of it.
        """
        load = self._load(path)
        plans = [(turn.asked_s + load.start_s, self.planned.plan_of(turn)) for turn in self.planned.found.turns]
        changes = [(load.start_s, self.running), *((at_s, dict(plan.parallelism)) for at_s, plan in plans)]
        return self._late_minutes(AtMoments("schedule", changes, "as planned"), load, capacity_factor)

    def guarded_minutes(self, path: int, capacity_factor: float, planner: HorizonPlanner, share: float) -> int:
        """The same where a planner with one forecast and this share of minutes plans as in a replay, and its guard adds
        instances.
        """
        forecast = _forecast(self.topology, self.paths_per_s[:FORECAST_PATHS])
        limits, model = Limits(max_utilisation=planner.terms.rescue_utilisation), planner.cheapest.model
        guard = GuardTerms(
            window_s=GUARD_WINDOW_S,
            settle_s=GUARD_SETTLE_S,
            utilisation=planner.terms.rescue_utilisation,
            drain_s=planner.terms.drain_s,
            blacklist_after=NEVER,
            max_lag_s=planner.terms.max_lag_s,
            downtime_s=planner.terms.downtime_s,
            limits=limits,
            model=model,
        )
        forecasts = _Once({self.topology.sources[0]: forecast})
        policy = Planned("planner", planner, forecasts, share, Guard(self.topology, guard))
        return self._late_minutes(policy, self._load(path), capacity_factor)

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


@dataclass(frozen=True)
class _Once:
    """One forecast, and no later one."""

    forecasts: Mapping[str, Forecast]

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        return self.forecasts


def guarded_case(seed: int) -> tuple[ClaimedCase, Callable[[], HorizonPlanner], float]:
    """`claimed_case` with a schedule that counts on a guard which acts; how its planner is made, and the share of
    minutes that it allows.
    """
    case, rng = claimed_case(seed), np.random.default_rng([seed, 4])
    # The guard sees a minute when it has ended.
    react_s = GUARD_WINDOW_S + 60.0 + case.terms.lead_s
    terms, rescale_h = replace(case.terms, react_s=react_s), float(rng.choice([0.1, 0.5, 1.0]))
    share = float(rng.choice([0.002, 0.005, 0.02, 0.05]))

    def planner() -> HorizonPlanner:
        limits = Limits(max_utilisation=FULL, max_instances=200)
        return HorizonPlanner(PlanModel(case.topology, case.profiles), limits, terms, rescale_h)

    forecast = _forecast(case.topology, case.paths_per_s[:FORECAST_PATHS])
    planned = planner().planned({case.topology.sources[0]: forecast}, _now(case.running), Budget(share))
    assert planned is not None
    return replace(case, terms=terms, planned=planned), planner, share


def claimed_case(seed: int) -> ClaimedCase:
    """A chain or a fork of one to three operators behind a source, a load with a level, a walk and spikes, and terms,
    target, state and budget, all drawn by seed. Nobody but the schedule acts.
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
    planner = HorizonPlanner(
        PlanModel(topology, profiles),
        Limits(max_utilisation=FULL, max_instances=200),
        terms,
        float(rng.choice([0.1, 0.5, 1.0])),
    )
    first = float(np.median(paths[:, 0]) * rng.uniform(0.8, 1.5))
    running = dict(planner.cheapest.plan({topology.sources[0]: first}).parallelism)
    budget = Budget(float(rng.choice([0.002, 0.005, 0.02, 0.05])))
    planned = planner.planned({topology.sources[0]: _forecast(topology, paths[:FORECAST_PATHS])}, _now(running), budget)
    assert planned is not None
    return ClaimedCase(topology, profiles, paths, terms, planned, running)


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
    case = ClaimedCase(topology, profiles, rates_per_s[None], terms, planned[0], running)
    return planned[0].found.violation_minutes, case.simulated_minutes(0, 1.0)


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
