"""A shadow as one self-contained page: cost and violations day by day, forescale's beside what really ran."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from forescale.report.decision.shadow_table import comparison_sentences, shadow_table
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Sentence
from forescale.report.kit.wording import moment
from forescale.report.shadow.figure import days_figure
from modeling.wording import count_of
from planner.ledger.entries import ShadowDay


def render_shadow_page(
    topology: str,
    since: datetime,
    plan: str,
    days: Sequence[ShadowDay],
    pending: Mapping[str, str],
    notes: Sequence[str],
) -> str:
    """The whole page. since: start of the shadow; plan: would run now; pending: why a day is not accrued."""
    figures = [days_figure(days)] if days else []
    return rendered(
        "shadow.html.j2",
        "drawing.js report.js",
        figures,
        topology=topology,
        headline=_headline(topology, days),
        sentences=[
            *comparison_sentences(days),
            Sentence("Since", f"{moment(since)} UTC; forescale would run {plan} now."),
            *(Sentence("Pending", f"{day} is not accrued: {why}") for day, why in pending.items()),
            *(Sentence("Note", note) for note in notes),
        ],
        days=shadow_table(days) if days else None,
    )


def _headline(topology: str, days: Sequence[ShadowDay]) -> str:
    if not days:
        return f"No whole day of {topology} in shadow mode has been accrued yet"
    return f"What forescale would have done with {topology} on {count_of(len(days), 'day')}"
