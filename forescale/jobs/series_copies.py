"""Series that the source of a topology's arrivals counts twice right now, as it seems."""

from datetime import timedelta

from forecasting.arrivals.arrival_source import SeriesCopies
from forecasting.arrivals.grid import whole_windows
from forecasting.errors import HistoryError
from forescale.files.arrivals_section import PrometheusEntry
from forescale.files.topology import TopologyConfig
from forescale.situation.workspace import Workspace
from forescale.wiring.arrivals import arrival_source

LOOKED_BACK = timedelta(hours=1)


def current_copies(workspace: Workspace, config: TopologyConfig) -> tuple[tuple[SeriesCopies, ...], str]:
    """The copies, by the last hour, and why they are not known; empty for a source that has no series."""
    if not isinstance(config.arrivals, PrometheusEntry):
        return (), ""
    now = workspace.clock.now()
    try:
        with arrival_source(config, workspace.settings, now) as source:
            width_s = config.arrivals.window_s
            start, end = whole_windows(now - max(LOOKED_BACK, timedelta(seconds=2 * width_s)), now, width_s)
            arrivals = source.read(start, end, width_s)
    except HistoryError as error:
        return (), str(error)
    return tuple(one for each in arrivals.sources.values() for one in each.copies), ""
