"""Horizon plans of a topology, for given forecasts and what runs: what planning and the editing of a schedule ask."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.calibrate import PlanningProfiles, planning_profiles
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.learned_rescale import learned_planning
from forescale.jobs.measured_arrivals import MeasuredArrivals, measured_arrivals
from forescale.jobs.rungs import Basis
from forescale.jobs.violation_budget import paced_budget
from forescale.settings import Settings
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.parts import change_terms_of, clock_of, planned_limits_of, rules_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Cluster, ClusterState, Status
from planner.errors import ClusterError, PlanError
from planner.fallback import CALIBRATION
from planner.horizon.horizon_plan import Announced, Change, HorizonPlan, HorizonPlanner, Present
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule

STILL_TO_COME = frozenset({StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.SHADOW})
DAYS_CHANGES = 200


@dataclass(frozen=True)
class Start:
    """What a schedule begins with."""

    plan: PhysicalPlan
    running_since: datetime | None


def running_start(state: ClusterState) -> Start:
    """Raises ClusterError while it does not run."""
    if state.status is not Status.RUNNING:
        raise ClusterError(f"topology {state.topology!r} is {state.status} now; plan again when it runs")
    return Start(state.plan, state.running_since)


def derivation(config: TopologyConfig, basis: Basis, start: Start) -> dict[str, str]:
    """What a schedule follows from: made of the same again, it is the same one."""
    return {
        **basis.derived_from(),
        "shadow plan" if config.planning.shadow else "running plan": start.plan.plan_id,
        "topology file": hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:12],
    }


def announced_turns(ledger: Ledger, config: TopologyConfig, now: datetime) -> tuple[Announced, ...]:
    """Of the newest schedule, what is still to come and was not turned down; none of other operators."""
    for entry in ledger.schedules(config.topology, limit=1):
        steps = zip(ledger.steps(schedule_id=entry.id), entry.schedule.steps, strict=True)
        return tuple(
            Announced(
                (step.in_place_at - timedelta(seconds=step.downtime_s + step.catch_up_s)).timestamp(),
                step.plan.parallelism,
            )
            for kept, step in steps
            if kept.deploy_at > now
            and kept.state in STILL_TO_COME
            and set(step.plan.parallelism) == set(config.operators)
        )
    return ()


def changes_before(ledger: Ledger, topology: str, now: datetime) -> tuple[float, ...]:
    """Epoch seconds of the deployments of the last day that were verified."""
    verified = ledger.outcomes(topology, states=(StepState.VERIFIED,), limit=DAYS_CHANGES)
    moments = (known.verified_at for _, known in verified if known.verified_at is not None)
    return tuple(at.timestamp() for at in moments if now - timedelta(days=1) < at <= now)


class HorizonPlans:
    """notes: what a schedule tells of its planning's inputs."""

    def __init__(
        self,
        settings: Settings,
        config: TopologyConfig,
        ledger: Ledger,
        cluster: Cluster,
        forecasts: Mapping[str, Forecast],
        start: Start,
        now: datetime,
    ) -> None:
        learned = learned_planning(ledger, config)
        self.planning, self.start, self.now = learned.planning, start, now
        calibration = planning_profiles(settings, config, cluster, now)
        arrivals = measured_arrivals(settings, config.topology, forecasts, self.planning.arrival_cv2)
        joined = joint_forecasts(settings, config, forecasts)
        self.forecasts, self.terms = joined.forecasts, change_terms_of(self.planning)
        self.planner = HorizonPlanner(
            config.as_topology(),
            calibration.profiles,
            planned_limits_of(self.planning),
            self.terms,
            self.planning.rescale_cost_instance_hours,
            arrivals.arrival_cv2,
            self.planning.min_parallelism,
        )
        paced = paced_budget(config, ledger, cluster, now)
        self.budget = paced.budget
        self.rules = rules_of(self.planning, now, max(each.end for each in forecasts.values()))
        # What a shadow would have left waiting is not what waits.
        waiting = {} if self.planning.shadow else recorded_backlogs(config, cluster, ledger, clock_of(settings))()
        self.present = Present(
            now.timestamp(),
            start.plan.parallelism,
            sum(each.tuples or 0.0 for each in waiting.values()),
            0.0 if start.running_since is None else start.running_since.timestamp() + self.terms.apart_s,
            announced_turns(ledger, config, now),
            changes_before(ledger, config.topology, now),
        )
        self.notes = {**_notes(calibration, arrivals), **learned.notes, "budget": paced.note}
        if joined.note:
            self.notes["sources"] = joined.note

    def planned(self) -> HorizonPlan:
        """The best one. Raises PlanError where the forecasts are over."""
        planned = self.planner.planned(self.forecasts, self.present, self.budget, self.rules)
        if planned is None:
            raise self._over()
        return planned

    def followed(self, several: Sequence[Sequence[Change]], violation_h: float) -> list[HorizonPlan]:
        """What sequences of changes cost and violate, over one course; violation_h: price of a violation minute in
        instance-hours. Raises PlanError where the forecasts are over, or before one of the changes.
        """
        followed = self.planner.followed(self.forecasts, self.present, several, self.budget, violation_h)
        if followed is None:
            raise self._over()
        return followed

    def schedule(self, planned: HorizonPlan) -> ScalingSchedule:
        """It is derived from its notes alone."""
        return make_schedule(
            planned, self.planner.cheapest, self.start.plan, quantile=self.planning.quantile, derived_from=self.notes
        )

    def _over(self) -> PlanError:
        end = max(each.end for each in self.forecasts.values())
        return PlanError(
            f"it is {self.now}, and the forecast ended at {end}; forecast anew and hold the plan till then"
        )


def _notes(calibration: PlanningProfiles, arrivals: MeasuredArrivals) -> dict[str, str]:
    told = {
        CALIBRATION: calibration.note,
        "calibration version": calibration.model_version,
        "arrivals": "; ".join(arrivals.notes),
    }
    return {name: text for name, text in told.items() if text}
