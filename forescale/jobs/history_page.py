"""The page on the last days of a topology's history."""

from forescale.files.topology import TopologyConfig
from forescale.history.binned_windows import PAGE_POINTS, binned_history, readable_width_s
from forescale.history.span import history_span
from forescale.report.history.history_page import render_history_page
from forescale.situation.workspace import Workspace


def history_page(workspace: Workspace, config: TopologyConfig) -> str:
    """The page of `forescale history show --plot` with its default days. Raises HistoryError without a history."""
    directory = workspace.settings.history_dir
    asked = history_span(directory, config.topology, start=None, end=None, days=None, snapshot=None)
    span = asked.within_history()
    binned = binned_history(directory, span, config.as_topology().sources, (), [readable_width_s(span, PAGE_POINTS)])
    return render_history_page(binned.by_width[0], span, binned.measures)
