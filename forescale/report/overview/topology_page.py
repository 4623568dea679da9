"""One topology: where it stands, its decisions, and links to its forecasts and history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import moment, percent, shortened
from forescale.report.overview.standing_cells import alarms_cell, budget_cell, next_step_cell, risk_cell, running_cell
from forescale.standing import Standing
from modeling.wording import count_of
from planner.ledger.entries import ScheduleEntry


@dataclass(frozen=True)
class Decided:
    """A schedule, the number of its steps by state, and the address of its report, empty without one."""

    made: ScheduleEntry
    states: Mapping[str, int]
    report: str


def render_topology_page(
    standing: Standing,
    decisions: Sequence[Decided],
    at: datetime,
    *,
    picture: str,
    pages: Mapping[str, str],
    overview: str,
) -> str:
    """The whole page. pages: addresses by title; overview: address of the page of all topologies."""
    cells = {
        "Runs": running_cell(standing),
        "Next step": next_step_cell(standing),
        "Violation": risk_cell(standing),
        "Budget used": budget_cell(standing),
    }
    alarmed = alarms_cell(standing)
    return rendered(
        "topology.html.j2",
        "fleet.js",
        [],
        topology=standing.topology,
        at=moment(at),
        sentences=[
            *(Sentence(label, "; ".join((cell.text, *cell.notes))) for label, cell in cells.items()),
            Sentence("Drift and alarms", "\n".join((alarmed.text, *alarmed.notes))),
        ],
        picture=picture,
        pages=pages,
        overview=overview,
        decisions=_decisions_table(decisions) if decisions else None,
    )


def _decisions_table(decisions: Sequence[Decided]) -> Table:
    rows = []
    for each in decisions:
        schedule = each.made.schedule
        states = ", ".join(f"{count_of(count, 'step')} {state}" for state, count in each.states.items())
        rows.append(
            (
                Cell(f"{moment(schedule.made_at)} UTC", href=each.report),
                Cell(states or "hold", (shortened(schedule.why, 200),)),
                Cell(percent(schedule.violation_probability)),
                Cell(f"{schedule.cost_instance_hours:,.1f}"),
            )
        )
    return Table((*texts("Decided", "Steps"), *numbers("Violation", "Instance-hours")), tuple(rows))
