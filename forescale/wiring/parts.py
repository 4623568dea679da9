"""Builds the parts that settings and a topology file name: the clock, the cluster, the limits."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from math import inf
from pathlib import Path

from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.seal import Seal
from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig, find_topology_file, read_topology_file
from forescale.settings import Settings
from forescale.wiring.clock import clock_of_kind
from forescale.wiring.engines.registry import cluster_kind
from forescale.wiring.lost_ledger import check_not_lost
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from planner.clock import Clock
from planner.clusters.cluster import Cluster
from planner.errors import ClusterError
from planner.guard.terms import GuardTerms
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import ChangeRules
from planner.horizon.prices import ChangeTerms, DisruptionPrices
from planner.ledger.ledger import Ledger
from planner.limits import FULL, Limits
from planner.plan_model import PlanModel

METRICS_S = 60.0
"""Seconds until the metrics of a minute are available."""


def topology_config(name: str, settings: Settings) -> TopologyConfig:
    """The topology file of that name (or path). Raises FileError."""
    return read_topology_file(find_topology_file(name, settings.topologies))


def clock_of(settings: Settings) -> Clock:
    return clock_of_kind(settings.clock, settings.clock_file)


def ledger_of(settings: Settings, opened: Callable[[str, Path], Ledger] = Ledger) -> Ledger:
    """opened: opens a ledger by its URL and its home, and checks its tables.

    Raises LedgerError if the ledger was lost, before a new one is made.
    """
    check_not_lost(settings)
    settings.home.mkdir(parents=True, exist_ok=True)
    return opened(settings.ledger_sqlalchemy_url, settings.home.resolve())


def tracker_of(settings: Settings) -> MlflowTracker:
    seal = Seal(settings.home / "trained.key")
    return MlflowTracker(settings.tracking_uri, settings.artifact_root, settings.mlflow_ui, seal)


def cluster_of(config: TopologyConfig, settings: Settings, clock: Clock) -> Cluster:
    """The topology's cluster, without a request to it. Raises ClusterError if a secret of its login is missing."""
    try:
        return cluster_kind(config.cluster).connect(config, config.cluster, settings, clock)
    except ValueError as error:
        raise ClusterError(f"section cluster of {config.topology}: {error}") from None


def limits_of(planning: Planning) -> Limits:
    """Limits with the default headroom if the file sets none."""
    given = planning.model_dump(include={field.name for field in fields(Limits)}, exclude_none=True)
    return Limits(**given)


def planned_limits_of(planning: Planning) -> Limits:
    """Limits for planning: if the file sets none, `headroom_of` and the violation budget decide."""
    return replace(limits_of(planning), max_utilisation=planning.max_utilisation or FULL)


def guard_terms_of(config: TopologyConfig, downtime_s: float, model: PlanModel | None) -> GuardTerms:
    """downtime_s: of a rescale, as used in planning. model: of what plans carry, None if it is not known."""
    planning = config.planning
    return GuardTerms(
        **planning.guard.model_dump(exclude={"mode"}),
        max_lag_s=planning.max_lag_s,
        downtime_s=downtime_s,
        limits=limits_of(planning),
        model=model,
    )


def change_terms_of(planning: Planning, replanned_s: float, restore: StateRestore = NO_RESTORE) -> ChangeTerms:
    """replanned_s: from one forecast to the next. restore: of state, added to the section's downtime. An overload is
    acted on once the guard has seen it, or with the next forecast.
    """
    acts = planning.guard_mode == "act"
    seen_s = planning.guard.window_s + METRICS_S if acts else replanned_s
    return ChangeTerms(
        planning.lead_s,
        planning.downtime_s,
        planning.min_dwell_s,
        planning.max_lag_s,
        seen_s + planning.lead_s,
        planning.max_step or inf,
        planning.scale_out_only,
        restore,
        replanned_s,
        planning.guard.utilisation if acts else limits_of(planning).max_utilisation,
        planning.guard.drain_s,
        planning.guard_mode != "off",
    )


def headroom_of(planning: Planning) -> Headroom | None:
    """None where somebody adds what is missing at once, the guard or the scaler above a floor: then the budget alone
    decides how full a plan may be.
    """
    if planning.guard_mode == "act" or planning.mode == "floor":
        return None
    return Headroom.of(planned_limits_of(planning), planning.quantile)


def disruption_prices_of(planning: Planning) -> DisruptionPrices:
    return DisruptionPrices(planning.started_cost_instance_hours, planning.moved_state_cost_instance_hours_per_gib)


def rules_of(planning: Planning, start: datetime, end: datetime) -> ChangeRules:
    """Rules over a horizon."""
    closed = [span for window in planning.freeze for span in window.spans(start, end)]
    return ChangeRules([(begins.timestamp(), ends.timestamp()) for begins, ends in closed], planning.max_rescales_a_day)
