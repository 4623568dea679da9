"""What waits at the sources of a topology: what its cluster tells and, where it does not, what Kafka does."""

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
    """Of every source; where nothing is known, or the cluster does not answer, with the reason."""
    try:
        told = cluster.backlogs()
    except ClusterError as error:
        told = dict.fromkeys(config.as_topology().sources, SourceBacklog(None, None, str(error)))
    if config.cluster_section is not None and not cluster_kind(config.cluster_section).reads_arrivals:
        return told
    return {name: each if each.lag_s is not None else _unread(config, name, each) for name, each in told.items()}


def recorded_backlogs(config: TopologyConfig, cluster: Cluster, ledger: Ledger, clock: Clock) -> Backlogs:
    """The same whenever it is called, and the ledger keeps the minute where the lag of all sources is known. Whoever
    asks goes on where the ledger fails.
    """

    max_lag_s = config.planning.max_lag_s
    kept: set[tuple[int, bool]] = set()

    def told() -> Mapping[str, SourceBacklog]:
        waits = backlogs(config, cluster)
        if (lag_s := longest_lag_s(waits)) is not None:
            at = clock.now()
            # A deployment asks every few seconds, and most of that tells the ledger nothing new.
            mark = (math.ceil(at.timestamp() / MINUTE_S), lag_s > max_lag_s)
            if mark not in kept:
                try:
                    ledger.minutes.record(config.topology, [(at, lag_s)], max_lag_s=max_lag_s)
                    kept.add(mark)
                except LedgerError as error:
                    logger.warning("the lag of %s is not recorded: %s", config.topology, error)
        return waits

    return told


def _unread(config: TopologyConfig, source: str, told: SourceBacklog) -> SourceBacklog:
    """What the topology's consumer group has not read; what was told before where it has none, or Kafka fails."""
    try:
        group = consumer_group(config)
        unread = group.unread(source) if group is not None else None
    except HistoryError as error:
        return replace(told, unmeasured=f"{told.unmeasured}; {error}")
    return told if unread is None else SourceBacklog(float(unread.messages), unread.lag_s)
