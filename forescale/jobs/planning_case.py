"""All that a schedule is worked out from but the forecasts, as one value: it can be planned again, in any process."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.calibrate import PlanningProfiles, planning_profiles
from forescale.jobs.learned_rescale import learned_planning
from forescale.jobs.measured_arrivals import MeasuredArrivals, measured_arrivals
from forescale.jobs.violation_budget import paced_budget
from forescale.settings import Settings
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.parts import change_terms_of, clock_of, planned_limits_of
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from planner.clusters.cluster import Cluster, ClusterState, Status
from planner.errors import ClusterError, PlanError
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import HorizonPlanner, Present
from planner.horizon.prices import ChangeTerms
from planner.ledger.entries import ForecastEntry
from planner.ledger.ledger import Ledger
from planner.limits import Limits
from planner.scaling_schedule import ScalingSchedule
from planner.schedule import make_schedule


@dataclass(frozen=True)
class Start:
    """What a schedule begins with."""

    plan: PhysicalPlan
    running_since: datetime | None


@dataclass(frozen=True)
class PlanningCase:
    """current: the plan that runs, with its packing. quantile: of the peaks that steps tell as their load. notes: what
    the schedule says that it was derived from.
    """

    topology: Topology
    profiles: Profiles
    limits: Limits
    terms: ChangeTerms
    rescale_h: float
    arrival_cv2: float | Arrivals
    present: Present
    budget: Budget
    current: PhysicalPlan
    quantile: float
    notes: Mapping[str, str]

    def planner(self, at_most: int | None = None) -> HorizonPlanner:
        """at_most: instances over the whole horizon, where that is fewer than the limits allow."""
        most = self.limits.max_instances if at_most is None else min(at_most, self.limits.max_instances)
        limits = replace(self.limits, max_instances=most)
        return HorizonPlanner(self.topology, self.profiles, limits, self.terms, self.rescale_h, self.arrival_cv2)

    def schedule(self, forecasts: Mapping[str, Forecast], at_most: int | None = None) -> ScalingSchedule:
        """Pure. forecasts: joined. Raises PlanError where they are over, PlanError or ModelError for what does not fit
        together.
        """
        planner = self.planner(at_most)
        planned = planner.planned(forecasts, self.present, self.budget)
        if planned is None:
            now, end = datetime.fromtimestamp(self.present.at_s, UTC), max(each.end for each in forecasts.values())
            raise PlanError(f"it is {now}, and the forecast ended at {end}; forecast anew and hold the plan till then")
        return make_schedule(planned, planner.cheapest, self.current, quantile=self.quantile, derived_from=self.notes)


def planning_case(
    settings: Settings,
    config: TopologyConfig,
    ledger: Ledger,
    cluster: Cluster,
    forecasts: Mapping[str, Forecast],
    start: Start,
    now: datetime,
) -> PlanningCase:
    """As calibrated on the cluster now, and with what past deployments teach."""
    learned = learned_planning(ledger, config)
    planning = learned.planning
    calibration = planning_profiles(settings, config, cluster, now)
    arrivals = measured_arrivals(settings, config.topology, forecasts, planning.arrival_cv2)
    terms = change_terms_of(planning)
    # What a shadow would have left waiting is not what waits.
    waiting = {} if planning.shadow else recorded_backlogs(config, cluster, ledger, clock_of(settings))()
    present = Present(
        now.timestamp(),
        start.plan.parallelism,
        sum(each.tuples or 0.0 for each in waiting.values()),
        0.0 if start.running_since is None else start.running_since.timestamp() + terms.apart_s,
    )
    paced = paced_budget(config, ledger, cluster, now)
    return PlanningCase(
        config.as_topology(),
        calibration.profiles,
        planned_limits_of(planning),
        terms,
        planning.rescale_cost_instance_hours,
        arrivals.arrival_cv2,
        present,
        paced.budget,
        start.plan,
        planning.quantile,
        {**_notes(calibration, arrivals), **learned.notes, "budget": paced.note},
    )


def running_start(state: ClusterState) -> Start:
    """Raises ClusterError while it does not run."""
    if state.status is not Status.RUNNING:
        raise ClusterError(f"topology {state.topology!r} is {state.status} now; plan again when it runs")
    return Start(state.plan, state.running_since)


def derivation(config: TopologyConfig, entries: Mapping[str, ForecastEntry], start: Start) -> dict[str, str]:
    """What a schedule follows from: made of the same again, it is the same one."""
    return {
        "forecasts": " ".join(entry.id for entry in entries.values()),
        "history": " ".join(entry.history_digest[:12] for entry in entries.values()),
        "shadow plan" if config.planning.shadow else "running plan": start.plan.plan_id,
        "topology file": hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:12],
    }


def _notes(calibration: PlanningProfiles, arrivals: MeasuredArrivals) -> dict[str, str]:
    told = {
        "calibration": calibration.note,
        "calibration version": calibration.model_version,
        "arrivals": "; ".join(arrivals.notes),
    }
    return {name: text for name, text in told.items() if text}
