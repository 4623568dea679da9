"""The small figure: instances over time, of the schedule and its alternatives."""

from datetime import datetime

import plotly.graph_objects as go

from forescale.report.decision.decision import DecisionReport
from forescale.report.kit.figure import CAPACITY, RIVAL, KeyEntry, ReportFigure, base_layout, look, plotly_times
from forescale.report.kit.local_axis import in_local_time
from forescale.report.kit.traces import line
from modeling.wording import count_of


def instances_figure(decision: DecisionReport) -> ReportFigure:
    """The schedule beside today's plan."""
    schedule = decision.schedule
    plans = [schedule.current, *(step.plan for step in schedule.steps)]
    sizes = [plan.instances for plan in plans]
    times = [schedule.start, *(max(step.runs_from, schedule.start) for step in schedule.steps), schedule.end]
    peak, hold = max(sizes), schedule.current.instances

    traces = [
        _line([schedule.start, schedule.end], [hold, hold], "today's plan", RIVAL, "dot"),
        _line(times, [*sizes, sizes[-1]], "this schedule", CAPACITY, "solid"),
    ]
    plot = go.Figure(traces, base_layout(schedule.start, schedule.end, "instances"))
    plot.update_yaxes(range=[0, 1.1 * peak])
    key = (
        KeyEntry("this schedule", "line", CAPACITY),
        KeyEntry(f"today's plan ({hold})", "dot", RIVAL),
    )
    local = decision.local
    figure = ReportFigure(
        title=f"Instances over time, in {local.name}",
        description=(
            f"Instances from {local.moment(schedule.start)} to {local.moment(schedule.end)} {local.name}: the schedule "
            f"between {min(sizes)} and {count_of(peak, 'instance')}."
        ),
        plot=plot,
        key=key,
        wide=look(220, 56, 6),
        narrow=look(200, 44, 5, right=8),
    )
    return in_local_time(figure, local, schedule.made_at)


def _line(times: list[datetime], sizes: list[int], name: str, colour: str, dash: str) -> go.Scatter:
    width = 2.5 if dash == "solid" else 1.5
    return line(plotly_times(times), sizes, name, colour, width, dash, line_shape="hv", hovertemplate="%{y}")
