"""The report of a decision, as a page and as a picture."""

from datetime import datetime

import plotly.graph_objects as go

from forescale.report.decision.brief import brief_of
from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.evidence_tables import (
    deployed_table,
    peaks_table,
    profiles_table,
    provenance,
    rivals_table,
)
from forescale.report.decision.last_day_words import last_day_sentences
from forescale.report.decision.load_figure import load_figure
from forescale.report.decision.outcome_table import outcome_sentences, outcome_table
from forescale.report.decision.plan_tables import (
    alternatives_table,
    excuses_table,
    operators_table,
    planned_peak,
    steps_table,
)
from forescale.report.decision.shadow_table import comparison_sentences, shadow_table
from forescale.report.kit.decision_words import load_notes
from forescale.report.kit.figure import CAPACITY, RIVAL, KeyEntry, ReportFigure, base_layout, look, plotly_times
from forescale.report.kit.local_axis import in_local_time
from forescale.report.kit.page import rendered
from forescale.report.kit.stands_on import stands_on_lines
from forescale.report.kit.still import still_picture
from forescale.report.kit.traces import line
from forescale.report.kit.wording import percent, quantile_name
from modeling.wording import count_of

MAX_SOURCES = 4


def render_report(decision: DecisionReport) -> str:
    """The whole page. The same decision gives the same text."""
    sources = sorted({*(decision.history.series if decision.history else ()), *decision.forecasts})
    loads = [load_figure(decision, source) for source in sources]
    instances = [instances_figure(decision)] if decision.schedule.steps else []
    outcome, proposal, local = decision.outcome, decision.proposal, decision.local
    return rendered(
        "report.html.j2",
        "drawing.js report.js frame.js answer.js",
        [*loads, *instances],
        decision=decision,
        made_at=local.moment(decision.schedule.made_at),
        zone=local.name,
        brief=brief_of(proposal),
        outcome_sentences=outcome_sentences(decision, outcome) if outcome else (),
        outcome_table=outcome_table(decision, outcome) if outcome else None,
        shadow_sentences=comparison_sentences(decision.shadow_days or ()),
        shadow_days=shadow_table(decision.shadow_days) if decision.shadow_days else None,
        loads=loads,
        instances=instances,
        steps=steps_table(decision),
        operators=operators_table(decision, decision.now_estimate) if decision.now_estimate else None,
        model_notes=(
            *load_notes(decision.schedule.basis),
            *(decision.now_estimate.notes if decision.now_estimate else ()),
        ),
        peak=planned_peak(decision.now_estimate) if decision.now_estimate else "",
        alternatives=alternatives_table(proposal),
        excuses=excuses_table(decision),
        last_day=last_day_sentences(decision.last_day, local) if decision.last_day else (),
        deployed=deployed_table(decision.forecasts),
        rivals=rivals_table(decision.forecasts),
        peaks=peaks_table(decision.forecasts, decision.quantile),
        profiles=profiles_table(decision),
        stands_on=stands_on_lines(decision.schedule.basis.stands_on, local.zone),
        provenance=provenance(decision),
        percent=percent,
        quantile=quantile_name(decision.quantile),
    )


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


def decision_picture(decision: DecisionReport) -> str:
    """An SVG. Of more than four sources, those with the highest forecast rates are drawn."""
    sources = sorted({*decision.forecasts, *(decision.history.series if decision.history else ())})
    highest = {name: float(forecast.rate_per_s.max()) for name, forecast in decision.forecasts.items()}
    most = sorted(sources, key=lambda name: (-highest.get(name, 0.0), name))[:MAX_SOURCES]
    return still_picture([load_figure(decision, name) for name in sources if name in most])
