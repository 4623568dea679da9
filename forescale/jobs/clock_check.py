"""This machine's clock against all that is known of the time: what the ledger has, the history, and the cluster."""

import logging
from datetime import datetime

import numpy as np

from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forescale.files.topology import TopologyConfig
from forescale.report.kit.wording import NBSP, duration
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from modeling.wording import count_of
from planner.clusters.cluster import ClusterState
from planner.errors import PlanError
from planner.ledger.clock_jumps import AHEAD

logger = logging.getLogger(__name__)


def set_aside_what_is_ahead(
    workspace: Workspace,
    config: TopologyConfig,
    now: datetime,
    *,
    by: str,
    state: ClusterState | None = None,
) -> None:
    """Set aside what the ledger has of a time ahead of now: a clock was ahead, and later decisions would count as made
    before it.

    state: of the cluster, if it is known. Raises PlanError, and changes nothing, if this clock is the wrong one: the
    cluster's differs from it, or arrivals are known of a time after now.
    """
    settings, ledger = workspace.settings, workspace.ledger
    if state is not None and settings.clock == "real":
        check_against_cluster(state, now)
    ahead = ledger.clock_jumps.newest_ahead(config.topology, now)
    if ahead is None:
        return
    if (until := arrivals_known_until(settings, config)) is not None and until > now + AHEAD:
        raise PlanError(
            f"it is {now:%Y-%m-%d %H:%M} UTC by this machine's clock, but the ledger reaches to {ahead:%Y-%m-%d %H:%M} "
            f"and the arrivals of {config.topology} to {until:%Y-%m-%d %H:%M} UTC; set the clock by NTP, or restore "
            "the history from before, if the clock is right"
        )
    apart = ledger.clock_jumps.set_aside(config.topology, now, by=by)
    if apart:
        logger.warning(
            "a clock was ahead of %s UTC: %s and %s of %s that reach to %s are set aside; %s again",
            f"{now:%Y-%m-%d %H:%M}",
            count_of(len(apart.schedules), "schedule"),
            count_of(len(apart.forecasts), "forecast"),
            config.topology,
            f"{ahead:%Y-%m-%d %H:%M}",
            f"{count_of(len(apart.steps), 'step')} that it called off {'waits' if len(apart.steps) == 1 else 'wait'}",
        )


def check_against_cluster(state: ClusterState, now: datetime) -> None:
    """Raises PlanError if the cluster's clock and this machine's are minutes apart."""
    apart = now - state.observed_at
    if abs(apart) > AHEAD:
        how_far = duration(abs(apart).total_seconds()).replace(NBSP, " ")
        where = "behind" if now < state.observed_at else "ahead of"
        raise PlanError(
            f"it is {now:%Y-%m-%d %H:%M} UTC by this machine's clock, {how_far} {where} the "
            f"clock of the cluster of {state.topology} ({state.observed_at:%Y-%m-%d %H:%M} UTC); set both by NTP"
        )


def arrivals_known_until(settings: Settings, config: TopologyConfig) -> datetime | None:
    """End of the last window with arrivals in the history; None without one."""
    try:
        history = read_history(settings.history_dir, config.topology)
    except HistoryError:
        return None
    ends = []
    for series in history.series.values():
        counted = np.flatnonzero(np.nan_to_num(series.counts) > 0)
        if counted.size:
            ends.append(series.start + (int(counted[-1]) + 1) * (series.end - series.start) / series.counts.size)
    return max(ends, default=None)
