"""All inputs of a schedule except the forecasts, as one value that any process can plan from."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

from forecasting.forecast import Forecast
from forescale.files.site import site_digest
from forescale.files.topology import TopologyConfig
from forescale.jobs.calibrate import planning_profiles
from forescale.jobs.measured_arrivals import measured_arrivals
from forescale.jobs.review_time import ReviewTime, review_time, waits_for_review
from forescale.jobs.rungs import Basis
from forescale.jobs.violation_budget import budget_facts, record_lags
from forescale.situation.decision_grounds import decision_grounds
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.known_profiles import drift_digest
from forescale.situation.known_situation import recalibrated
from forescale.situation.plan_pricing import PricedPlans
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.planning_terms import (
    change_terms_of,
    disruption_prices_of,
    headroom_of,
    rules_of,
)
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Cluster, ClusterState, Status
from planner.decision_basis import NOTHING_KNOWN, CalibrationFacts, DecisionBasis
from planner.errors import ClusterError, PlanError
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import (
    NO_DISRUPTION,
    Announced,
    Change,
    ChangeRules,
    HorizonPlan,
    HorizonPlanner,
    Present,
)
from planner.horizon.prices import ChangeTerms, DisruptionPrices
from planner.ledger.entries import ScheduleEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import TO_DEPLOY, StepState
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule

APPROVED = frozenset(TO_DEPLOY)
STILL_TO_COME = APPROVED | {StepState.PROPOSED, StepState.SHADOW}
DAYS_CHANGES = 200
HELD_IN_A_ROW = 48
"""Schedules searched for the newest that had anything to plan by: two days of hourly ones."""


@dataclass(frozen=True)
class Start:
    """What a schedule begins with."""

    plan: PhysicalPlan
    running_since: datetime | None


@dataclass(frozen=True)
class PlanningCase:
    """model: of what plans carry, as packed. min_parallelism: instances that operators must have. current: the running
    plan, with its packing. quantile: of the peaks that steps report as their load. basis: the schedule's. candidates:
    plans proposed by a person, by name. priced: cost and placement of plans; disruption: cost of a change, added to
    rescale_h. headroom: of every plan in a step, None if the budget alone decides it. review: of changes by a person,
    None if there is none.
    """

    model: PlanModel
    limits: Limits
    terms: ChangeTerms
    rescale_h: float
    min_parallelism: Mapping[str, int]
    present: Present
    budget: Budget
    rules: ChangeRules
    current: PhysicalPlan
    quantile: float
    basis: DecisionBasis
    candidates: Mapping[str, PhysicalPlan] = field(default_factory=dict)
    priced: PricedPlans = field(default_factory=PricedPlans)
    disruption: DisruptionPrices = NO_DISRUPTION
    headroom: Headroom | None = None
    review: ReviewTime | None = None

    def decided(self, forecasts: Mapping[str, Forecast], at_most: int | None = None) -> ScalingSchedule:
        """The best schedule; with the basis of this case. forecasts: joined. at_most: instances over the whole horizon,
        if fewer than the limits allow. It leaves time for a review unless the load comes sooner: the violations that
        waiting would add would break the budget.

        Raises PlanError if the forecasts are over, PlanError or ModelError for inputs that do not fit together.
        """
        planner = self._planner(at_most)
        made = self.schedule(self._planned(planner, forecasts, self.rules))
        if self.review is None:
            return made
        if self.review.is_short(made):
            later = self.schedule(self._planned(planner, forecasts, self._reviewed_rules()))
            made = later if waits_for_review(made, later) else made
        return replace(made, review_s=self.review.review_s)

    def planned_as(self, made: ScalingSchedule, forecasts: Mapping[str, Forecast]) -> HorizonPlan:
        """The best turns, with time for a review if that schedule leaves it. Raises as `decided`."""
        waits = self.review is not None and not self.review.is_short(made)
        rules = self._reviewed_rules() if waits else self.rules
        return self._planned(self._planner(), forecasts, rules)

    def _reviewed_rules(self) -> ChangeRules:
        review_s = 0.0 if self.review is None else self.review.review_s
        return replace(self.rules, asked_from_s=self.present.at_s + review_s)

    def _planned(self, planner: HorizonPlanner, forecasts: Mapping[str, Forecast], rules: ChangeRules) -> HorizonPlan:
        candidates = [plan.parallelism for plan in self.candidates.values()]
        planned = planner.planned(forecasts, self.present, self.budget, rules, candidates)
        if planned is None:
            raise self._over(forecasts)
        return planned

    def followed(
        self, forecasts: Mapping[str, Forecast], several: Sequence[Sequence[Change]], violation_h: float
    ) -> list[HorizonPlan]:
        """Cost and violations of several sequences of changes, over the same paths; violation_h: price of a violation
        minute in instance-hours. Raises PlanError if the forecasts are over, or if a change is due before now.
        """
        followed = self._planner().followed(forecasts, self.present, several, self.budget, violation_h)
        if followed is None:
            raise self._over(forecasts)
        return followed

    def schedule(self, planned: HorizonPlan) -> ScalingSchedule:
        """The schedule, with the basis of this case."""
        return make_schedule(
            planned,
            self.current,
            quantile=self.quantile,
            basis=self.basis,
            candidates=self.candidates,
            placing=self.priced.placing,
        )

    def _planner(self, at_most: int | None = None) -> HorizonPlanner:
        most = self.limits.max_instances if at_most is None else min(at_most, self.limits.max_instances)
        return HorizonPlanner(
            self.model,
            replace(self.limits, max_instances=most),
            self.terms,
            self.rescale_h,
            self.min_parallelism,
            self.priced.pricing,
            self.disruption,
            self.headroom,
        )

    def _over(self, forecasts: Mapping[str, Forecast]) -> PlanError:
        now, end = datetime.fromtimestamp(self.present.at_s, UTC), max(each.end for each in forecasts.values())
        return PlanError(f"it is {now}, and the forecast ended at {end}; forecast again and hold the plan till then")


def announced_turns(ledger: Ledger, config: TopologyConfig, now: datetime) -> tuple[Announced, ...]:
    """The coming steps of the newest schedule that had anything to plan by, without rejected ones; empty if it is of
    other operators. A plan held for want of a forecast announces nothing and calls nothing off.
    """
    newest = ledger.schedules(config.topology, limit=1)
    if newest and not _planned(newest[0]):
        newest = [entry for entry in ledger.schedules(config.topology, limit=HELD_IN_A_ROW) if _planned(entry)][:1]
    for entry in newest:
        steps = zip(ledger.steps(schedule_id=entry.id), entry.schedule.steps, strict=True)
        return tuple(
            Announced(
                (step.in_place_at - timedelta(seconds=step.downtime_s + step.catch_up_s)).timestamp(),
                step.plan.parallelism,
                kept.state in APPROVED,
            )
            for kept, step in steps
            if kept.deploy_at > now
            and kept.state in STILL_TO_COME
            and set(step.plan.parallelism) == set(config.operators)
        )
    return ()


def _planned(entry: ScheduleEntry) -> bool:
    return entry.schedule.basis.rung.plans


def changes_before(ledger: Ledger, topology: str, now: datetime) -> tuple[float, ...]:
    """Epoch seconds of the verified deployments of the last day."""
    verified = ledger.outcomes(topology, states=(StepState.VERIFIED,), limit=DAYS_CHANGES)
    moments = (known.verified_at for _, known in verified if known.verified_at is not None)
    return tuple(at.timestamp() for at in moments if now - timedelta(days=1) < at <= now)


@dataclass(frozen=True)
class CalibratedSituation:
    """facts: of the calibration."""

    situation: Situation
    facts: CalibrationFacts = NOTHING_KNOWN.calibration


def calibrated_situation(workspace: Workspace, situation: Situation, cluster: Cluster) -> CalibratedSituation:
    """Calibrated on the cluster now, with the lags that the cluster has recorded."""
    measured = planning_profiles(workspace, situation.config, cluster, situation.past.at)
    record_lags(situation.config, workspace.ledger, cluster, situation.past.at)
    return CalibratedSituation(recalibrated(situation, workspace.settings), measured.facts)


def planning_case(
    workspace: Workspace,
    calibrated: CalibratedSituation,
    cluster: Cluster,
    forecasts: Mapping[str, Forecast],
    start: Start,
    question: DecisionBasis = NOTHING_KNOWN,
) -> PlanningCase:
    """question: what it is to answer."""
    situation = calibrated.situation
    config, now = situation.config, situation.past.at
    learned = situation.learned
    planning = learned.planning
    priced = situation.priced
    arrivals = measured_arrivals(situation, forecasts, planning.arrival_cv2)
    terms = change_terms_of(planning, config.forecast.every_s, learned.restore, learned.warmed.warm_up)
    budget = situation.budget
    # The backlog that a shadow would have is not the measured one.
    waiting = {} if planning.shadow else recorded_backlogs(config, cluster, workspace.ledger, workspace.clock)()
    present = Present(
        now.timestamp(),
        start.plan.parallelism,
        sum(each.tuples or 0.0 for each in waiting.values()),
        0.0 if start.running_since is None else start.running_since.timestamp() + terms.apart_s,
        announced_turns(workspace.ledger, config, now),
        changes_before(workspace.ledger, config.topology, now),
        -inf if start.running_since is None else start.running_since.timestamp(),
    )
    rules = rules_of(planning, now, max(each.end for each in forecasts.values()))
    return PlanningCase(
        replace(situation.model, arrival_cv2=arrivals.arrival_cv2),
        situation.limits,
        terms,
        planning.rescale_cost_instance_hours,
        planning.min_parallelism,
        present,
        budget,
        rules,
        start.plan,
        planning.quantile,
        replace(
            question,
            calibration=calibrated.facts,
            arrivals=arrivals.facts,
            learned=learned.facts,
            prices=priced.facts,
            budget=budget_facts(planning, budget),
            bounded=tuple(rules.bounded),
            stands_on=(
                *grounds(situation),
                *rescale_grounds(situation),
                *decision_grounds(situation, forecasts, arrivals.arrival_cv2),
            ),
        ),
        priced=priced,
        disruption=disruption_prices_of(planning),
        headroom=headroom_of(planning),
        review=review_time(workspace, config, present),
    )


def running_start(state: ClusterState) -> Start:
    """Raises ClusterError while the topology does not run."""
    if state.status is not Status.RUNNING:
        raise ClusterError(f"topology {state.topology!r} is {state.status} now; plan again when it runs")
    return Start(state.plan, state.running_since)


def question_of(workspace: Workspace, config: TopologyConfig, basis: Basis, start: Start) -> DecisionBasis:
    """What a schedule is to answer: equal for equal inputs, which give the same schedule. Raises FileError for a site
    file that cannot be read.
    """
    site = config.packing.site if config.packing is not None else None
    return replace(
        basis.facts(),
        starts_from=start.plan.plan_id,
        shadow=config.planning.shadow,
        floor=config.planning.floor,
        topology_digest=hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:12],
        site_digest=site_digest(Path(workspace.settings.below_home(site))) if site else "",
        calibration_digest=drift_digest(config, workspace.settings),
    )
