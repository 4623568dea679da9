"""One topology: where it stands, its decisions, and links to its forecasts and history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forescale.report.decision.brief import brief_of
from forescale.report.decision.proposal import Proposal
from forescale.report.decision.verdict import late, sizes
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.page import rendered
from forescale.report.kit.schedule_words import schedule_words
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import shortened
from forescale.report.overview.actions import Actions, shown
from forescale.report.overview.alarms import alarms
from forescale.report.overview.standing_cells import UNKNOWN, budget_cell, next_step_cell, running_cell
from forescale.standing import Standing
from modeling.wording import count_of
from planner.ledger.entries import ScheduleEntry
from planner.scaling_schedule import ScalingSchedule


@dataclass(frozen=True)
class Decided:
    """A schedule, the number of its steps by state, and the address of its report, empty without one. replaced: by what
    step of a person, and who asked for it and why, empty if by none.
    """

    made: ScheduleEntry
    states: Mapping[str, int]
    report: str
    replaced: str = ""


def render_topology_page(
    standing: Standing,
    decisions: Sequence[Decided],
    at: datetime,
    *,
    proposal: Proposal | None = None,
    picture: str,
    pages: Mapping[str, str],
    overview: str,
    report: str = "",
    actions: Actions | None = None,
) -> str:
    """The whole page. proposal: the newest decision, None without one. pages: addresses by title; overview: address of
    the page of all topologies; report: of the newest decision, empty without one. actions: in Airflow, None elsewhere.
    """
    local = LocalTime(standing.timezone)
    cells = {
        "Runs": running_cell(standing),
        "Next step": next_step_cell(standing),
        "Budget used": budget_cell(standing),
    }
    return rendered(
        "topology.html.j2",
        "frame.js",
        [],
        topology=standing.topology,
        at=local.moment(at),
        zone=local.name,
        state=[Sentence(label, _in_one_line(cell)) for label, cell in cells.items()],
        brief=None if proposal is None else brief_of(proposal),
        **shown(None if actions is None else actions.of(standing.topology)),
        alarms=alarms(standing),
        picture=picture,
        report=report,
        pages=pages,
        overview=overview,
        form=_form(actions, standing.topology),
        asks_again=_asks_again(actions, standing.topology),
        decisions=_decisions_table(decisions, local) if decisions else None,
    )


def _what(schedule: ScalingSchedule) -> str:
    """Who edited it and why, else its plans."""
    return shortened(schedule_words(schedule), 200) if schedule.basis.edit is not None else sizes(schedule)


def _in_one_line(cell: Cell) -> str:
    """The text with its notes; the notes alone for what is unknown."""
    return "; ".join(cell.notes if cell.text == UNKNOWN and cell.notes else (cell.text, *cell.notes))


def _form(actions: Actions | None, topology: str) -> str:
    """Address of the form of the newest open review, else of what asks for one; empty outside Airflow."""
    if actions is None:
        return ""
    if _asks_again(actions, topology):
        return actions.ask
    reviews = actions.of(topology).reviews
    return reviews[-1].form if reviews else actions.answer


def _asks_again(actions: Actions | None, topology: str) -> bool:
    """Whether Airflow has no open review of it and will not open one: it was left undecided, or answered by an edit
    that was refused. A review of which Airflow does not say the topology may be its own.
    """
    if actions is None or not actions.ask or any(each.dag_id == "plan" for each in actions.under_way):
        return False
    return not any(each.topology in (topology, "") for each in actions.reviews)


def _decisions_table(decisions: Sequence[Decided], local: LocalTime) -> Table:
    rows = []
    for each in decisions:
        schedule = each.made.schedule
        states = ", ".join(f"{count_of(count, 'step')} {state}" for state, count in each.states.items())
        rows.append(
            (
                Cell(local.moment(schedule.made_at), href=each.report),
                Cell(states or "hold", (*([each.replaced] if each.replaced else []), _what(schedule))),
                Cell(late(schedule.violation_minutes)),
                Cell(f"{schedule.cost_instance_hours:,.1f}"),
            )
        )
    return Table((*texts("Decided", "Steps"), *numbers("Expected", "Instance-hours")), tuple(rows))
