"""Instance-hours and violation minutes by day: of what really ran, and of forescale's plans."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from forescale.report.kit.figure import ARRIVED, FORECAST, KeyEntry, ReportFigure, bare_layout, look
from modeling.wording import count_of
from planner.ledger.entries import ShadowDay
from planner.shadow.comparison import Comparison, compared

_COST_FROM = 0.46
"""Share of the height above which the cost is drawn; violations are below."""


def days_figure(days: Sequence[ShadowDay]) -> ReportFigure:
    """Per day one bar for what really ran and one for forescale's plans; no bar for unknown values."""
    plot = go.Figure(layout=bare_layout("instance-hours"))
    each, names = [compared([day]) for day in days], [day.day.isoformat() for day in days]
    for part in (_cost, _violations):
        for name, colour, real in (("really", ARRIVED, True), ("forescale", FORECAST, False)):
            values, more = part(each, real)
            bars: dict[str, Any] = {"marker": {"color": colour}, "hovertemplate": "%{y:,.1f}", **more}
            plot.add_trace(go.Bar(x=names, y=values, name=name, **bars))
    plot.update_layout(
        barmode="group",
        xaxis={"type": "category", "anchor": "y2"},
        yaxis={"domain": [_COST_FROM + 0.04, 1.0]},
        yaxis2={
            "domain": [0.0, _COST_FROM - 0.04],
            "title": {"text": "violation minutes", "standoff": 8},
            "rangemode": "tozero",
            "gridcolor": "#e6e6e6",
            "zeroline": False,
            "nticks": 4,
            "fixedrange": True,
        },
    )
    return ReportFigure(
        title="Cost and violations by day",
        description=f"Instance-hours and violation minutes of {count_of(len(days), 'day')}: what ran, and forescale.",
        plot=plot,
        key=(KeyEntry("what really ran, where it is known", "band", ARRIVED), KeyEntry("forescale", "band", FORECAST)),
        wide=look(520, 72, 14, bottom=56),
        narrow=look(460, 52, 4, bottom=56),
    )


def _cost(days: Sequence[Comparison], real: bool) -> tuple[list[float | None], dict[str, Any]]:
    return [day.real_instance_hours if real else day.instance_hours for day in days], {}


def _violations(days: Sequence[Comparison], real: bool) -> tuple[list[float | None], dict[str, Any]]:
    return [day.real_violation_minutes if real else day.violation_minutes for day in days], {"yaxis": "y2"}
