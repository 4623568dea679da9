"""The schedule in the load figure: the usable capacity as a step line, and a mark at each deploy time."""

from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, nan

import plotly.graph_objects as go

from forescale.report.decision.decision import CapacityStep, DecisionReport
from forescale.report.kit.figure import CAPACITY, label, plotly_time, plotly_times
from forescale.report.kit.traces import line
from forescale.report.kit.wording import day_moment, parallelism_change, rate
from modeling.wording import count_of

INSTANT = timedelta(seconds=1)
POINT_EVERY = timedelta(minutes=15)


def capacity_line(steps: list[CapacityStep], source: str) -> go.Scatter:
    """A step line, broken where the spans do not touch."""
    x: list[str] = []
    y: list[float] = []
    text: list[str] = []
    for step, following in [*pairwise(steps), (steps[-1], None)]:
        usable_per_s = step.usable_per_s[source]
        told = (
            f"{rate(usable_per_s)} with {count_of(step.plan.instances, 'instance')}; "
            f"saturates at {rate(step.mst_per_s[source])}"
        )
        moments = _moments(step)
        x += plotly_times(moments)
        y += [usable_per_s] * len(moments)
        text += [told] * len(moments)
        if following is not None and following.start > step.end:
            x, y, text = [*x, plotly_time(step.end)], [*y, nan], [*text, ""]
    return line(x, y, "capacity", CAPACITY, 2.5, line_shape="hv", text=text, hovertemplate="%{text}")


def _moments(step: CapacityStep) -> list[datetime]:
    """Both ends and enough points between them that hovering always finds the capacity."""
    count = ceil((step.end - step.start) / POINT_EVERY)
    return [*(step.start + POINT_EVERY * i for i in range(count)), step.end]


def capacity_label(steps: list[CapacityStep], source: str, start: datetime, end: datetime) -> dict[str, object]:
    """A label on the line itself, beside its highest step, on the side where the figure has room."""
    top = max(steps, key=lambda step: step.usable_per_s[source])
    fits_right = end - top.end > (end - start) / 6
    return {
        "x": plotly_time(top.end if fits_right else top.start),
        "y": top.usable_per_s[source],
        "text": "usable capacity",
        "showarrow": False,
        "xanchor": "left" if fits_right else "right",
        "xshift": 10 if fits_right else -10,
        "yanchor": "middle",
        "font": {"size": 12, "color": CAPACITY},
    }


def deploy_marks(decision: DecisionReport, capacity: list[CapacityStep], source: str) -> go.Scatter | None:
    """Marks numbered as in the table of steps; a triangle shows whether instances are added or removed."""
    steps = decision.schedule.steps
    if not steps or not capacity:
        return None
    heights, symbols, texts = [], [], []
    for index, step in enumerate(steps):
        # At the upper end of the edge, where neither the band nor the line covers it.
        around = (step.deploy_at - INSTANT, max(step.deploy_at, step.in_place_at))
        heights.append(max(_usable_at(capacity, source, at) for at in around))
        symbols.append("triangle-up" if step.plan.instances >= step.replaces.instances else "triangle-down")
        change = ", ".join(label(part) for part in parallelism_change(step.replaces, step.plan))
        texts.append(
            f"step {index + 1}: deploy at {day_moment(step.deploy_at)} UTC"
            f"<br>in place at {day_moment(step.in_place_at)}<br>needed from {day_moment(step.needed_from)}<br>{change}"
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


def _usable_at(capacity: list[CapacityStep], source: str, at: datetime) -> float:
    holding = [step for step in capacity if step.start <= at] or capacity[:1]
    return holding[-1].usable_per_s[source]
