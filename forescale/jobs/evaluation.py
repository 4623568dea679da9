"""Evaluation of plans: estimates with uncertainty, probability of missing targets, and remedies."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from forescale.files.site import SiteFile
from forescale.jobs.evaluation_load import EvaluatedLoad
from forescale.jobs.services import most_per_s, saturated, saturation, service_notes
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluated_remedy import Packed, Trial, with_room
from modeling.excuse import Excuse
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Topology
from modeling.least_on_site import Together
from modeling.queueing.bursts import Arrivals
from modeling.remedies import combined_change, excuses
from modeling.rescaling.plan_change import PlanChange, rescale_estimate
from modeling.rescaling.warm_up import WARM, WarmUp
from modeling.services.pools import ServiceSaturation, ServiceTerms
from modeling.uncertainty.estimate_intervals import EstimateIntervals, estimate_intervals
from modeling.uncertainty.parameter_draws import parameter_draws
from modeling.uncertainty.violation import violations
from planner.limits import MAX_UTILISATION

STEADY_S = 3600.0
"""Assumed duration of a load given as a rate, for the probability of missing targets."""


@dataclass(frozen=True)
class Missed:
    """Probability that a target is missed within horizon_s, its standard error, and the expected seconds missed."""

    probability: float
    error: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """One plan. missed: by target. time_to_violation_s: until the lag exceeds its target, infinite if it never does.
    drain_wait_s: how long a tuple waits behind the given backlog. enough: for a plan that does not carry the load, the
    result of `enough_instances`. saturation: of micro-services, with the waits of their callers; None for other
    operators, or if unknown.
    """

    estimate: Estimate
    intervals: EstimateIntervals
    missed: Mapping[str, Missed]
    horizon_s: float
    excuses: tuple[Excuse, ...]
    max_lag_s: float
    time_to_violation_s: float
    drain_wait_s: float
    enough: Mapping[str, int] | Excuse
    saturation: ServiceSaturation | None = None


@dataclass(frozen=True)
class Terms:
    """The terms under which plans are evaluated. targets: without max_utilisation, excuses go by the headroom that
    plans keep. draws: of the parameters' errors; seed: reproduces them. warm_up: after a change from the
    running plan. services: None if operators are no micro-services. together: operators that share slots.
    """

    load: EvaluatedLoad
    where: SiteFile
    targets: Targets
    running: PhysicalPlan | None = None
    backlog: Mapping[str, float] = field(default_factory=dict)
    packed: Packed | None = None
    draws: int = 400
    seed: int = 7
    warm_up: WarmUp = WARM
    services: ServiceTerms | None = None
    together: Together = ()

    @property
    def change(self) -> PlanChange | None:
        """None if nothing runs that a plan would replace."""
        return None if self.running is None else replace(self.where.change_from(self.running), warm_up=self.warm_up)


def evaluation(topology: Topology, profiles: Profiles, plan: PhysicalPlan, terms: Terms) -> Evaluation:
    """Evaluate one plan. Raises ModelError if plan, load or profiles do not fit the topology."""
    load, where = terms.load, terms.where
    rates_per_s, site, cv2 = load.rate_per_s, where.site, load.arrival_cv2
    max_lag_s = float("inf") if terms.targets.max_lag_s is None else terms.targets.max_lag_s
    told = evaluate(
        topology,
        profiles,
        plan,
        rates_per_s,
        arrival_cv2=cv2,
        site=site,
        change=terms.change,
        backlog=terms.backlog,
        percentiles=True,
    )
    full = None if terms.services is None else saturation(topology, profiles, plan, rates_per_s, terms.services)
    through = 1.0
    if isinstance(full, ServiceSaturation) and most_per_s(full) < sum(told.mst_per_s.values()) < np.inf:
        stream_factor, told = told.headroom_factor, saturated(told, full)
        through = told.headroom_factor / stream_factor
        if terms.change is not None:
            state_gib = {name: profiles[name].state_gib for name in topology.order}
            rates = sum(rates_per_s.values()), sum(told.mst_per_s.values())
            caught_up = rescale_estimate(topology, state_gib, terms.change, plan, *rates, sum(terms.backlog.values()))
            told = replace(told, rescale=caught_up)
    rng = np.random.default_rng(terms.seed)
    paths = load.paths_per_s or {source: np.array([[rate]]) for source, rate in rates_per_s.items()}
    step_s = load.step_s or STEADY_S
    found = violations(
        topology,
        profiles,
        [plan],
        paths,
        step_s,
        parameter_draws(profiles, rng, terms.draws),
        terms.targets,
        downtime_s=0.0 if told.rescale is None else told.rescale.downtime_s,
        warm_ups=[terms.warm_up] if told.rescale is not None and told.rescale.lost_s else [],
        backlog_s=_waiting_s(told, terms.backlog),
        let_through=through,
        arrival_cv2=cv2,
        site=site,
    )
    p95_s = None if told.latency is None else told.latency.p95_s
    intervals = estimate_intervals(
        topology,
        profiles,
        plan,
        rates_per_s,
        rng,
        terms.draws,
        arrival_cv2=cv2,
        site=site,
        p95_s=p95_s,
        let_through=through,
    )
    kept = replace(terms.targets, max_utilisation=terms.targets.max_utilisation or MAX_UTILISATION)
    notes = (*told.notes, *load.notes, *(() if full is None else service_notes(full, rates_per_s)))
    return Evaluation(
        estimate=replace(told, notes=notes),
        intervals=intervals,
        missed={
            target: Missed(*(float(each[target][0]) for each in (found.probability, found.error, found.seconds)))
            for target in found.probability
        },
        horizon_s=step_s * next(iter(paths.values())).shape[1],
        excuses=_shortfalls(topology, profiles, plan, told, replace(terms, targets=kept)),
        max_lag_s=max_lag_s,
        time_to_violation_s=told.time_to_violation_s(max_lag_s, terms.backlog),
        drain_wait_s=told.drain_wait_s(terms.backlog),
        enough={}
        if told.stable
        else enough_instances(topology, profiles, plan, rates_per_s, cv2, site, terms.packed, terms.together),
        saturation=None if isinstance(full, str) else full,
    )


def enough_instances(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    arrival_cv2: float | Arrivals,
    site: Site,
    packed: Packed | None = None,
    together: Together = (),
) -> Mapping[str, int] | Excuse:
    """The smallest change of parallelism with which the plan carries the load, without headroom; or why there is none.

    What does not help on the fastest of the plan's nodes helps nowhere. The change holds as `packed` places it; without
    that, and if nodes differ in speed, it is empty, as it would depend on where new instances are placed.
    """
    factors = {site.service_factor.get(container.node, 1.0) for container in plan.packing} or {1.0}
    fastest = Site(service_factor={container.node: min(factors) for container in plan.packing})
    found = excuses(topology, profiles, plan, load_per_s, Targets(), arrival_cv2=arrival_cv2, site=fastest)
    hopeless = next((excuse for excuse in found if not excuse.mendable), None)
    if hopeless is not None or (packed is None and len(factors) > 1):
        return hopeless or {}
    by_operators = excuses(
        topology,
        profiles,
        plan,
        load_per_s,
        Targets(),
        arrival_cv2=arrival_cv2,
        site=site,
        packed=packed,
        together=together,
    )
    if by_operators or packed is None:
        return combined_change(by_operators)
    before = plan.parallelism
    trial = Trial(topology, profiles, load_per_s, Targets(), arrival_cv2, site, packed, together)
    counts = trial.raised(before, before) or {}
    return {name: count for name, count in counts.items() if count != before[name]}


def _shortfalls(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, estimate: Estimate, terms: Terms
) -> tuple[Excuse, ...]:
    """Of the targets that the plan misses, and of its full containers and links."""
    load_per_s, cv2, site = terms.load.rate_per_s, terms.load.arrival_cv2, terms.where.site
    targets, packed, together = terms.targets, terms.packed, terms.together
    missed = excuses(
        topology, profiles, plan, load_per_s, targets, arrival_cv2=cv2, site=site, packed=packed, together=together
    )
    full = _crowded(plan, estimate)
    if packed is None or not all(each.mendable for each in missed):
        return missed + full
    trial = Trial(topology, profiles, load_per_s, targets, cv2, site, packed, together)
    return missed + with_room(full, combined_change(missed), trial)


def _waiting_s(estimate: Estimate, backlog: Mapping[str, float]) -> float:
    """Work waiting when processing resumes, in seconds at full rate: the backlog, and what is replayed."""
    wait_s = estimate.drain_wait_s(backlog)
    again_s = 0.0 if estimate.rescale is None else estimate.rescale.replayed_s / estimate.headroom_factor
    return (wait_s if np.isfinite(wait_s) else 0.0) + again_s


def _crowded(plan: PhysicalPlan, estimate: Estimate) -> tuple[Excuse, ...]:
    """Saturated containers and links."""
    return tuple(
        Excuse(plan, "throughput", "", 1 / scale, 1.0, f"{what} is {1 / scale:.0%} full", what.remedy)
        for what, scale in estimate.other_limits.items()
        if scale <= 1
    )
