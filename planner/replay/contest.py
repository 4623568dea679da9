"""Compares policies on one load: what each is given, and how all are run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, field, replace

import numpy as np

from modeling.errors import ModelError
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.services.pools import ServiceTerms
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.guard.terms import GuardTerms
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import NO_DISRUPTION, HorizonPlanner
from planner.horizon.prices import HOURLY_S, ChangeTerms, DisruptionPrices
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import PlanPricing
from planner.replay.forecasts import Forecasts, LevelForecasts, PerfectForecasts
from planner.replay.hindsight import hindsight_within, plan_ladder
from planner.replay.load import Load
from planner.replay.need import Need
from planner.replay.own_budget import own_budget, policy_of
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.policies.cron import CronByLastWeek
from planner.replay.policies.daedalus import Daedalus
from planner.replay.policies.dhalion import Dhalion
from planner.replay.policies.ds2 import Ds2, Ds2Settings
from planner.replay.policies.fixed_plans import AtMoments, StaticPlan
from planner.replay.policies.flink_autoscaler import TUNED, FlinkAutoscaler, FlinkAutoscalerSettings
from planner.replay.policies.forecast_only import ForecastOnly
from planner.replay.policies.guard import Guard
from planner.replay.policies.hpa import HorizontalPodAutoscaler
from planner.replay.policies.planned import Planned
from planner.replay.policies.with_floor import FlinkAutoscalerWithFloor, PodAutoscalerWithFloor
from planner.replay.policy import Policy
from planner.replay.reality import Differences, Reality
from planner.replay.run import Replayed, replay
from planner.replay.variation import POISSON, Variation
from planner.search.cheapest_plan import cheapest_plan

GUARD_SETTLE_S = 180.0
"""For a guard beside a schedule, which can judge its actions sooner."""
NEVER = 1_000_000


@dataclass(frozen=True)
class Contest:
    """Everything that the policies share.

    believed: known profiles of the operators. load: of the replay; past: known arrivals before it. limits: on any plan;
    headroom: the utilisation that our planner may plan for. rescale_h: instance-hours that avoiding a rescale is worth
    to our planner. slot_s, quantile: what policies plan for that use only quantiles of a forecast. engine: the true
    behaviour at a rescale. max_lag_s: of the target. metrics_delay_s: delay of a minute's metrics. forecasts: as the
    pipeline would have made them, None if no policy needs them. step_s, horizon_s: step and reach of a forecast.
    allowed_share: of the minutes, that may be in violation. variation: of arrivals within a step, for our planner.
    pricing, disruption: costs of plans, and of changes besides rescale_h, for our planner; pricing None counts
    instances. priced_by: equal for equal pricing. site, placing: where plans run, and how they are packed; placed_by:
    equal for equal site and packing. forecast_every_s: between forecasts. services: of micro-services, whose calls
    hold threads; None of a stream.
    """

    topology: Topology
    believed: Profiles
    load: Load
    past: Load | None
    limits: Limits
    engine: EngineTerms
    max_lag_s: float
    slot_s: int
    quantile: float
    step_s: int
    horizon_s: int
    headroom: float = FULL
    rescale_h: float = 1.0
    forecasts: Forecasts | None = None
    differences: Differences = field(default_factory=Differences)
    metrics_delay_s: float = 60.0
    allowed_share: float = 0.0
    variation: Variation = POISSON
    pricing: PlanPricing | None = None
    priced_by: str = ""
    disruption: DisruptionPrices = NO_DISRUPTION
    forecast_every_s: int = HOURLY_S
    site: Site = NOWHERE
    placing: Placing | None = None
    placed_by: str = ""
    services: ServiceTerms | None = None

    @property
    def model(self) -> PlanModel:
        """What is believed of plans; they run so, but for the differences."""
        return PlanModel(self.topology, self.believed, site=self.site, placing=self.placing, services=self.services)

    def within_budget_of(self, name: str) -> "Contest":
        """The same with the budget of violations in a policy's name, if it has one."""
        own = own_budget(name)
        return self if own is None else replace(self, allowed_share=own)

    def reality(self, seed: int, *, ahead: bool = False) -> Reality:
        """ahead: for a policy that orders instances in time, so that lead time does not matter."""
        engine = replace(self.engine, lead_s=0.0) if ahead else self.engine
        wrong = replace(self.differences, seed=seed)
        return Reality(self.model, engine, wrong, self.load.start_s, self.load.end_s, self.load.mean_per_s)

    def need(self, max_utilisation: float | None = None) -> Need:
        """By the believed profiles, with the limits' headroom by default."""
        headroom = max_utilisation or self.limits.max_utilisation
        return Need(self.model, replace(self.limits.with_free_latency(), max_utilisation=headroom))

    @property
    def most(self) -> dict[str, int]:
        """Maximum instances of each operator."""
        allowed = self.limits.max_parallelism
        return {
            operator.name: min(operator.max_parallelism, self.limits.max_instances, allowed.get(operator.name, 2**31))
            for operator in self.topology.operators
        }

    def peak(self, share: float = 1.0) -> Mapping[str, int]:
        """The plan for a share of the largest minute of the load."""
        return self.need().plan({source: rate * share for source, rate in self._peak_per_s().items()})

    def _peak_per_s(self) -> dict[str, float]:
        """Rates of the minute with the most arrivals in all."""
        at = int(np.sum(list(self.load.rate_per_s.values()), axis=0).argmax())
        return {source: float(rates[at]) for source, rates in self.load.rate_per_s.items()}

    def beyond_limits(self) -> str:
        """Why no plan within the limits carries the largest minute, so that every policy is late; empty if one does."""
        free, peak_per_s = self.need(FULL), self._peak_per_s()
        if isinstance(found := cheapest_plan(free.model, peak_per_s, free.limits), PhysicalPlan):
            return ""
        rates = ", ".join(f"{rate:.4g}/s at {source}" for source, rate in peak_per_s.items())
        return f"no policy can carry the largest minute, {rates}, within the limits of planning: {found}"

    def first(self) -> Mapping[str, int]:
        """The plan at the start: for the last hour before it, or for the first one if nothing is known."""
        known = self.past.rate_per_s if self.past is not None else self.load.rate_per_s
        hour = slice(-60, None) if self.past is not None else slice(0, 60)
        return self.need().plan({source: float(rates[hour].max()) for source, rates in known.items()})

    def perfect(self) -> Forecasts:
        return PerfectForecasts(self.topology.name, self.load, self.step_s, self.horizon_s)

    def level(self) -> Forecasts:
        if self.past is None or self.past.minutes < 24 * 60:
            raise PlanError("planner-level draws from earlier days; give the trace at least a day before --from")
        return LevelForecasts(self.topology.name, self.load, self.past, self.step_s, self.horizon_s)

    def asked(self) -> Forecasts:
        if self.forecasts is None:
            raise PlanError(
                "this policy asks for forecasts, and none were made; give the trace a history before --from"
            )
        return self.forecasts

    def asked_quantiles(self) -> Forecasts:
        """`asked` for policies that use only quantiles."""
        forecasts = self.asked()
        return forecasts.without_paths() if isinstance(forecasts, PipelineForecasts) else forecasts

    @property
    def restart_s(self) -> float:
        """Downtime for policies that know a single one: all state is restored, under the first plan."""
        if not self.engine.parallel_restore:
            return self.engine.whole_s
        first = self.first()
        return self.engine.change_s(self.topology, first, first)

    def ahead_s(self) -> float:
        """Time from requesting a plan until it runs."""
        return self.engine.lead_s + self.restart_s

    def flink_autoscaler(self, name: str, settings: FlinkAutoscalerSettings) -> FlinkAutoscaler:
        return FlinkAutoscaler(replace(settings, max_parallelism=max(self.most.values())), name)

    def guard_terms(self) -> GuardTerms:
        """With the guard's usual settings."""
        return GuardTerms(
            max_lag_s=self.max_lag_s,
            downtime_s=self.restart_s,
            limits=self.limits,
            model=self.model,
            warm_up=self.engine.warm_up,
        )

    def tuned(self, name: str) -> FlinkAutoscaler:
        """A user who tunes it knows how long the job is down."""
        return self.flink_autoscaler(name, replace(TUNED, restart_s=self.restart_s))

    def planned(self, name: str, forecasts: Forecasts, kind: type[Planned] = Planned) -> Planned:
        # Time for the guard to see an overload in its window, and for its instances to start.
        react_s = self.guard_terms().window_s + self.metrics_delay_s + self.engine.lead_s
        engine = self.engine
        terms = ChangeTerms(
            engine.lead_s,
            engine.downtime_s,
            engine.cooldown_s,
            self.max_lag_s,
            react_s,
            restore=engine.restore,
            replanned_s=self.forecast_every_s,
            rescue_utilisation=self.guard_terms().utilisation,
            drain_s=self.guard_terms().drain_s,
            warm_up=engine.warm_up,
            weighs_rescues=True,
        )
        limits = replace(self.limits, max_utilisation=self.headroom)
        planner = HorizonPlanner(
            self.model,
            limits,
            terms,
            self.rescale_h,
            pricing=self.pricing,
            disruption=self.disruption,
            headroom=Headroom.of_usual_load(limits),
        )
        # Never bar an action: the next forecast plans again anyway.
        guard = replace(self.guard_terms(), settle_s=GUARD_SETTLE_S, blacklist_after=NEVER)
        return kind(name, planner, forecasts, self.allowed_share, Guard(self.topology, guard), self.variation)


def _hindsight(contest: Contest, seed: int) -> Policy:
    reality = contest.reality(seed, ahead=True)
    model = contest.model.believing(reality.profiles, contest.model.arrival_cv2)
    true = Need(model, replace(contest.limits.with_free_latency(), max_utilisation=FULL))
    ladder = plan_ladder(true, contest.load)
    found = hindsight_within(contest.load, reality, ladder, contest.max_lag_s, contest.allowed_share)
    # Replayed without lead time: with full knowledge, instances are ordered in time.
    return AtMoments("hindsight", found.changes, "the plan that proved best")


POLICIES: Mapping[str, Callable[[Contest, int], Policy]] = {
    "static-peak": lambda c, _: StaticPlan("static-peak", c.peak()),
    "static-half": lambda c, _: StaticPlan("static-half", c.peak(0.5)),
    "cron": lambda c, _: CronByLastWeek(c.need(), c.ahead_s()),
    "hpa-35": lambda c, _: HorizontalPodAutoscaler(c.topology, 0.35, c.most),
    "hpa-50": lambda c, _: HorizontalPodAutoscaler(c.topology, 0.50, c.most),
    "hpa-70": lambda c, _: HorizontalPodAutoscaler(c.topology, 0.70, c.most),
    "dhalion": lambda c, _: Dhalion(c.topology, c.most),
    # Three evaluations of five minutes: with one of one minute, as published, it flaps on noisy metrics.
    "ds2": lambda c, _: Ds2(Ds2Settings(300.0, 1, 3), "ds2"),
    "flink-autoscaler": lambda c, _: c.flink_autoscaler("flink-autoscaler", FlinkAutoscalerSettings()),
    "flink-autoscaler-tuned": lambda c, _: c.tuned("flink-autoscaler-tuned"),
    "hpa-70-planned": lambda c, _: PodAutoscalerWithFloor(
        "hpa-70-planned", HorizontalPodAutoscaler(c.topology, 0.70, c.most), c.planned("schedule", c.asked())
    ),
    "flink-autoscaler-planned": lambda c, _: FlinkAutoscalerWithFloor(
        "flink-autoscaler-planned",
        c.flink_autoscaler("flink-autoscaler", FlinkAutoscalerSettings()),
        c.planned("schedule", c.asked()),
    ),
    "flink-autoscaler-tuned-planned": lambda c, _: FlinkAutoscalerWithFloor(
        "flink-autoscaler-tuned-planned", c.tuned("flink-autoscaler-tuned"), c.planned("schedule", c.asked())
    ),
    "guard": lambda c, _: Guard(c.topology, c.guard_terms()),
    "daedalus": lambda c, _: Daedalus(c.need(FULL), c.asked_quantiles(), c.restart_s),
    "forecast-only": lambda c, _: ForecastOnly(c.need(), c.asked(), c.ahead_s(), c.slot_s, c.quantile),
    "planner": lambda c, _: c.planned("planner", c.asked()),
    "planner-perfect": lambda c, _: c.planned("planner-perfect", c.perfect()),
    "planner-level": lambda c, _: c.planned("planner-level", c.level()),
    "hindsight": _hindsight,
}
"""By name; each replay with a seed creates its own. Rules and sources: docs/replay.md."""

ALL_KNOWING = frozenset({"planner-perfect", "planner-level", "hindsight"})
"""Policies that know the future, as bounds on what is possible."""

WITH_FLOOR = frozenset({"hpa-70-planned", "flink-autoscaler-planned", "flink-autoscaler-tuned-planned"})
"""Scalers of others with our schedule as a lower bound."""

ON_REQUEST = WITH_FLOOR | {"planner-level"}
"""Policies that are replayed only where they are named."""

USUAL = tuple(name for name in POLICIES if name not in ON_REQUEST)
"""Policies that are replayed where none are named."""

OURS = frozenset({"planner", "planner-perfect", "planner-level"})
"""Our planner, with the forecasts of its pipeline, with perfect ones and with those of a perfect level."""

BUDGETED = OURS | WITH_FLOOR | {"hindsight"}
"""Policies that use the allowed share of violations."""

FORECASTING = WITH_FLOOR | {"daedalus", "forecast-only", "planner"}
"""Policies that use the pipeline's forecasts."""

SLOW_RULES = frozenset({"flink-autoscaler", "flink-autoscaler-tuned", "guard", "hindsight"})
"""Policies without a forecast whose replay takes long."""


def _takes(name: str) -> int:
    """Rank of a policy by duration of its replay."""
    return 2 * (name in OURS | WITH_FLOOR) + (name in FORECASTING | SLOW_RULES)


def check_policy(name: str) -> None:
    """Raises PlanError for an unknown policy, or a budget for one that uses none."""
    if (base := policy_of(name)) not in POLICIES:
        raise PlanError(f"--policies names {base!r}; known are {', '.join(POLICIES)}")
    if own_budget(name) is not None and base not in BUDGETED:
        raise PlanError(
            f"--policies names {name!r}, but {base} uses no budget of violations; those that do are "
            f"{', '.join(sorted(BUDGETED))}"
        )


def run_one(contest: Contest, name: str, seed: int) -> Replayed:
    """Replay one policy with one seed. Raises PlanError or ModelError, naming the policy."""
    base, contest = policy_of(name), contest.within_budget_of(name)
    replayed = replay(
        POLICIES[base](contest, seed),
        contest.load,
        contest.reality(seed, ahead=base == "hindsight"),
        contest.first(),
        past=contest.past,
        metrics_delay_s=contest.metrics_delay_s,
        most=contest.most,
        max_instances=contest.limits.max_instances,
    )
    return replace(replayed, policy=name)


def run_all(
    contest: Contest, wanted: Sequence[tuple[str, int]], executor: Executor
) -> Iterator[tuple[str, int, Replayed | str]]:
    """Replay policies with their seeds; yields results as they finish, or why one cannot be replayed.

    Closing the iterator cancels replays that have not begun. The longest begin first, so that no process runs one alone
    at the end.
    """
    order = sorted(wanted, key=lambda each: _takes(policy_of(each[0])), reverse=True)
    waiting = {executor.submit(run_one, contest, name, seed): (name, seed) for name, seed in order}
    try:
        for future in as_completed(waiting):
            name, seed = waiting[future]
            try:
                yield name, seed, future.result()
            except (PlanError, ModelError) as error:
                yield name, seed, str(error)
    finally:
        for future in waiting:
            future.cancel()
