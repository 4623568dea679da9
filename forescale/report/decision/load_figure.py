"""The main figure: arrivals, forecast, and the schedule's capacity above them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, inf, isfinite, nan

import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.report.decision.decision import CapacityStep, DecisionReport
from forescale.report.decision.plan_tables import catch_up
from forescale.report.kit.figure import (
    ARRIVED,
    BAND,
    CAME,
    CAPACITY,
    CATCH_UP,
    FORECAST,
    KeyEntry,
    ReportFigure,
    base_layout,
    label,
    look,
    plotly_time,
    plotly_times,
    vertical_line,
)
from forescale.report.kit.local_axis import in_local_time
from forescale.report.kit.traces import (
    MISSING_KEY,
    Named,
    Part,
    arrivals,
    band,
    gap_shading,
    key,
    line,
    missing_spans,
    stepped,
    traces,
)
from forescale.report.kit.wording import parallelism_change, percent, quantile_name, rate
from modeling.wording import count_of

SHOWN_HISTORY = timedelta(hours=36)
PHONE_HISTORY = timedelta(hours=12)
UNFORECAST_STEP_S = 300

INSTANT = timedelta(seconds=1)
POINT_EVERY = timedelta(minutes=15)
MIN_CATCH_UP = timedelta(minutes=15)
"""Catch-ups shorter than this are not drawn: they are less than a few pixels wide."""


def load_figure(decision: DecisionReport, source: str) -> ReportFigure:
    """The figure of one source. If forecast or capacity is missing, it shows the rest."""
    now = decision.schedule.made_at
    forecast = decision.forecasts.get(source)
    recorded = decision.history.series if decision.history else {}
    series = _recent(recorded.get(source), forecast, now)
    end = max(decision.schedule.end, forecast.end if forecast else decision.schedule.end)
    capacity = [step for step in decision.capacity if isfinite(step.usable_per_s.get(source, inf))]

    parts: list[Part] = []
    gaps: list[tuple[datetime, datetime]] = []
    if series is not None:
        parts.append((arrivals(series, "arrived", ARRIVED), KeyEntry("arrived", "line", ARRIVED)))
        stale = [(series.end, now)] if (now - series.end).total_seconds() >= series.window_s else []
        gaps = missing_spans(series) + stale
    if gaps:
        parts.append((None, MISSING_KEY))
    if forecast is not None:
        parts += _forecast(forecast)
    if capacity:
        if caught := catch_up_line(decision, capacity, source):
            parts.append((caught, KeyEntry("catching up after a change", "band", CATCH_UP)))
        headroom = f" at most {percent(decision.max_utilisation)} busy" if decision.max_utilisation < 1 else ""
        beside = " beside the other sources as forecast" if len(capacity[0].mst_per_s) > 1 else ""
        entry = KeyEntry(f"capacity: what the plan can process{beside}{headroom}", "line", CAPACITY)
        parts.append((capacity_line(capacity, source), entry))
    if deployed := deploy_marks(decision, capacity, source):
        parts.append((deployed, KeyEntry("step", "mark", CAPACITY)))
    if decision.outcome and source in decision.outcome.arrivals.series:
        after = _stepped(decision.outcome.arrivals.series[source], forecast)
        parts.append((arrivals(after, "came", CAME, "dot"), KeyEntry("real arrivals", "dot", CAME)))

    start = max(now - SHOWN_HISTORY, series.start) if series is not None else now
    plot = go.Figure(traces(parts), base_layout(start, end, "events per second"))
    shape, note = vertical_line(now, "decided")
    plot.update_layout(shapes=[*(gap_shading(*gap) for gap in gaps), shape], annotations=[note])
    on_a_phone = plotly_times([max(start, now - PHONE_HISTORY), end])
    local = decision.local
    figure = ReportFigure(
        title=f"Load and capacity of {source}, in {local.name}",
        description=(
            f"Arrivals, forecast and capacity of {source}, {local.moment(start)} to {local.moment(end)} {local.name}."
        ),
        plot=plot,
        key=key(parts),
        wide=look(320, 56, 6, top=26) | {"xaxis.range": plotly_times([start, end]), "annotations": [note]},
        # No room for labels on lines; they are in the key below.
        narrow=look(300, 44, 5, right=8, top=26) | {"xaxis.range": on_a_phone, "annotations": [note]},
    )
    return in_local_time(figure, local, now)


def _recent(series: ArrivalSeries | None, forecast: Forecast | None, now: datetime) -> ArrivalSeries | None:
    if series is None:
        return None
    try:
        return _stepped(series, forecast).between(now - SHOWN_HISTORY, now)
    except HistoryError:
        return None


def _stepped(series: ArrivalSeries, forecast: Forecast | None) -> ArrivalSeries:
    return stepped(series, forecast.step_s if forecast else max(UNFORECAST_STEP_S, series.window_s))


def _forecast(forecast: Forecast) -> list[Part]:
    """The median line, and a band from the lower to the upper quantile: p50, p90 and p99 if the forecast has them."""
    upper = [q for q in forecast.quantiles if q >= 0.9] or [max(forecast.quantiles)]
    middle = min(forecast.quantiles, key=lambda q: abs(q - 0.5))

    def named(quantile: float) -> Named:
        return forecast.rate_per_s[:, forecast.quantiles.index(quantile)], quantile_name(quantile)

    low, high, drawn = band(forecast, named(min(upper)), named(max(upper)), named(middle))
    edges = f"forecast {quantile_name(min(upper))} to {quantile_name(max(upper))}"
    return [
        (low, None),
        (high, None),
        (drawn, KeyEntry(f"forecast {quantile_name(middle)}", "line", FORECAST)),
        (None, KeyEntry(edges, "band", BAND)),
    ]


def capacity_line(steps: Sequence[CapacityStep], source: str) -> go.Scatter:
    """A step line, broken where the spans do not touch."""
    x: list[str] = []
    y: list[float] = []
    text: list[str] = []
    for step, following in [*pairwise(steps), (steps[-1], None)]:
        usable_per_s, mst_per_s = step.usable_per_s[source], step.mst_per_s[source]
        told = f"{count_of(step.plan.instances, 'instance')}: up to {rate(usable_per_s)}"
        told = told if usable_per_s >= mst_per_s else f"{told} ({rate(mst_per_s)} without headroom)"
        moments = _moments(step)
        x += plotly_times(moments)
        y += [usable_per_s] * len(moments)
        text += [told] * len(moments)
        if following is not None and following.start > step.end:
            x, y, text = [*x, plotly_time(step.end)], [*y, nan], [*text, ""]
    return line(x, y, "capacity", CAPACITY, 2.5, line_shape="hv", text=text, hovertemplate="%{text}")


def catch_up_line(decision: DecisionReport, capacity: Sequence[CapacityStep], source: str) -> go.Scatter | None:
    """A broad line under the capacity while the backlog of a change is worked off, if it is; None if none is seen."""
    x: list[str] = []
    y: list[float] = []
    for step in decision.schedule.steps:
        end = min(step.in_place_at, step.needed_until, decision.schedule.end)
        if not step.catches_up or end - step.runs_from < MIN_CATCH_UP:
            continue
        x += plotly_times([step.runs_from, end, end])
        y += [_usable_at(capacity, source, step.runs_from)] * 2 + [nan]
    if not x:
        return None
    return line(x, y, "catching up", CATCH_UP, 9, hovertemplate="catching up after the change")


def _moments(step: CapacityStep) -> list[datetime]:
    """Both ends and enough points between them that hovering always finds the capacity."""
    count = ceil((step.end - step.start) / POINT_EVERY)
    return [*(step.start + POINT_EVERY * i for i in range(count)), step.end]


def deploy_marks(decision: DecisionReport, capacity: Sequence[CapacityStep], source: str) -> go.Scatter | None:
    """Marks numbered as in the table of steps; a triangle shows whether instances are added or removed."""
    steps = decision.schedule.steps
    if not steps or not capacity:
        return None
    local = decision.local
    heights, symbols, texts = [], [], []
    for index, step in enumerate(steps):
        # At the upper end of the edge, where neither the band nor the line covers it.
        around = (step.deploy_at - INSTANT, max(step.deploy_at, step.runs_from))
        heights.append(max(_usable_at(capacity, source, at) for at in around))
        symbols.append("triangle-up" if step.plan.instances >= step.replaces.instances else "triangle-down")
        change = ", ".join(label(part) for part in parallelism_change(step.replaces, step.plan))
        texts.append(
            f"step {index + 1}, requested {local.day_moment(step.deploy_at)}<br>runs from "
            f"{local.day_moment(step.runs_from)}, {catch_up(step, local)}<br>{change}"
        )
    return go.Scatter(
        x=plotly_times([step.deploy_at for step in steps]),
        y=heights,
        name="deploy",
        mode="markers+text",
        marker={"symbol": symbols, "size": 10, "color": CAPACITY},
        text=[f"<b>{index + 1}</b>" for index in range(len(steps))],
        textposition="top center",
        textfont={"size": 13},
        hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def _usable_at(capacity: Sequence[CapacityStep], source: str, at: datetime) -> float:
    holding = [step for step in capacity if step.start <= at] or capacity[:1]
    return holding[-1].usable_per_s[source]
