"""Backlogs at the sources of a topology, from its cluster or else from Kafka."""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace

from forecasting.errors import HistoryError
from forescale.files.topology import TopologyConfig
from forescale.wiring.arrivals import consumer_group
from forescale.wiring.engines.registry import cluster_kind
from planner.clock import Clock
from planner.clusters.cluster import Backlogs, Cluster, SourceBacklog
from planner.clusters.waiting import longest_lag_s
from planner.errors import ClusterError, LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MINUTE_S

logger = logging.getLogger(__name__)


def backlogs(config: TopologyConfig, cluster: Cluster) -> Mapping[str, SourceBacklog]:
    """Backlog of every source; with the reason if it is unknown or the cluster does not answer."""
    try:
        told = cluster.backlogs()
    except ClusterError as error:
        told = dict.fromkeys(config.as_topology().sources, SourceBacklog(None, None, str(error)))
    if config.cluster_section is not None and not cluster_kind(config.cluster_section).reads_arrivals:
        return told
    return {name: each if each.lag_s is not None else _unread(config, name, each) for name, each in told.items()}


def recorded_backlogs(config: TopologyConfig, cluster: Cluster, ledger: Ledger, clock: Clock) -> Backlogs:
    """A function that measures the backlogs, and records in the ledger one lag per minute if the lag of all sources is
    known. A failing ledger does not stop the caller.
    """

    max_lag_s = config.planning.max_lag_s
    kept: set[tuple[int, bool]] = set()

    def told() -> Mapping[str, SourceBacklog]:
        waits = backlogs(config, cluster)
        if (lag_s := longest_lag_s(waits)) is not None:
            at = clock.now()
            # A deployment measures every few seconds, more often than the ledger needs.
            mark = (math.ceil(at.timestamp() / MINUTE_S), lag_s > max_lag_s)
            if mark not in kept:
                try:
                    ledger.minutes.record(config.topology, [(at, lag_s)], max_lag_s=max_lag_s)
                    kept.add(mark)
                except LedgerError as error:
                    logger.warning("the lag of %s is not recorded: %s", config.topology, error)
        return waits

    return told


def _unread(config: TopologyConfig, source: str, reported: SourceBacklog) -> SourceBacklog:
    """The consumer group's unread messages; `reported` if there is no group or Kafka fails."""
    try:
        group = consumer_group(config)
        unread = group.unread(source) if group is not None else None
    except HistoryError as error:
        return replace(reported, unmeasured=f"{reported.unmeasured}; {error}")
    if unread is None:
        return reported
    return SourceBacklog(float(unread.messages), unread.lag_s, taken=reported.taken)
