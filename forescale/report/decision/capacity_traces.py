"""The schedule in the load figure: what runs can process as a step line, and a mark at each request."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, nan

import plotly.graph_objects as go

from forescale.report.decision.decision import CapacityStep, DecisionReport
from forescale.report.decision.plan_tables import catch_up
from forescale.report.kit.figure import CAPACITY, CATCH_UP, label, plotly_time, plotly_times
from forescale.report.kit.traces import line
from forescale.report.kit.wording import parallelism_change, rate
from modeling.wording import count_of

INSTANT = timedelta(seconds=1)
POINT_EVERY = timedelta(minutes=15)
MIN_CATCH_UP = timedelta(minutes=15)
"""Catch-ups shorter than this are not drawn: they are less than a few pixels wide."""


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
        textfont={"color": CAPACITY, "size": 13},
        hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def _usable_at(capacity: Sequence[CapacityStep], source: str, at: datetime) -> float:
    holding = [step for step in capacity if step.start <= at] or capacity[:1]
    return holding[-1].usable_per_s[source]
