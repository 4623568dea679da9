"""The report of a decision."""

from forescale.report.decision.brief import brief_of
from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.evidence_tables import (
    deployed_table,
    peaks_table,
    profiles_table,
    provenance,
    rivals_table,
)
from forescale.report.decision.instances_figure import instances_figure
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
from forescale.report.kit.page import rendered
from forescale.report.kit.stands_on import stands_on_lines
from forescale.report.kit.wording import percent, quantile_name


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
        model_notes=decision.now_estimate.notes if decision.now_estimate else (),
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
