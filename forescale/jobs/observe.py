"""Observations of a topology in shadow mode: its running plan, and backlog and lag where measured."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from forescale.codec import Moment
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import backlogs
from planner.clusters.cluster import Cluster
from planner.clusters.waiting import longest_lag_s
from planner.errors import PlanError
from planner.ledger.entries import Observation
from planner.ledger.ledger import Ledger
from planner.shadow.observed import observations_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Observed:
    """The newest observation. plan: parallelism of each operator, in brief. backlog: tuples, of the sources where it is
    known. lag_s: None if not measured, for the reason in `unmeasured`. recorded: number of observations added; a
    cluster that keeps a record, such as the simulator, also reports the minutes since the last one.
    """

    topology: str
    observed_at: Moment
    plan: str
    status: str
    backlog: Mapping[str, float]
    lag_s: float | None
    unmeasured: str
    recorded: int


def observe(workspace: Workspace, topology: str) -> Observed:
    """Record what runs. Raises PlanError if the topology is not in shadow mode, and ClusterError."""
    config = in_shadow_mode(workspace.config(topology))
    return record_observation(config, workspace.ledger, workspace.cluster(config))


def record_observation(config: TopologyConfig, ledger: Ledger, cluster: Cluster) -> Observed:
    """Record what the cluster reports for now and for the time before. Raises ClusterError."""
    found = _minutes(ledger, cluster) or [_present(config, cluster)]
    last, added = found[-1], ledger.shadow.record_observations(config.topology, found)
    lags_s = [(each.observed_at, each.lag_s) for each in found if each.lag_s is not None]
    ledger.minutes.record(config.topology, lags_s, max_lag_s=config.planning.max_lag_s)
    logger.info("observed %s: %s, %s", last.topology, last.plan.brief(), last.unmeasured or f"lag {last.lag_s:g} s")
    return Observed(
        last.topology,
        last.observed_at,
        last.plan.brief(),
        last.status,
        last.backlog,
        last.lag_s,
        last.unmeasured,
        added,
    )


def in_shadow_mode(config: TopologyConfig) -> TopologyConfig:
    """Raises PlanError if it is not."""
    if not config.planning.shadow:
        raise PlanError(
            f"topology {config.topology!r} is not in shadow mode; set planning.mode: shadow in its file, then run "
            f"`forescale plan {config.topology}`"
        )
    return config


def shadow_topologies(workspace: Workspace, names: Iterable[str]) -> list[str]:
    """Topologies in shadow mode. Includes topologies that cannot be read: observing such a one then fails by itself,
    and the others go on.
    """
    return [name for name in names if _may_be_in_shadow(workspace, name)]


def _may_be_in_shadow(workspace: Workspace, name: str) -> bool:
    try:
        return workspace.config(name).planning.shadow
    except FileError:
        return True


def _minutes(ledger: Ledger, cluster: Cluster) -> list[Observation]:
    """Whole minutes since the last observation; empty for a cluster that keeps no record of them."""
    state = cluster.state()
    since = ledger.shadow.last_observed(state.topology) or state.observed_at - timedelta(minutes=1)
    record = cluster.record(since.replace(second=0, microsecond=0), state.observed_at)
    return [] if record is None else observations_of(state.topology, record)


def _present(config: TopologyConfig, cluster: Cluster) -> Observation:
    """The observation of this moment."""
    told = backlogs(config, cluster)
    state = cluster.state()  # afterwards: measuring backlogs takes some seconds
    unmeasured = "; ".join(dict.fromkeys(each.unmeasured for each in told.values() if each.unmeasured))
    return Observation(
        state.topology,
        state.observed_at,
        state.plan,
        str(state.status),
        {source: each.tuples for source, each in told.items() if each.tuples is not None},
        longest_lag_s(told),
        unmeasured,
    )
