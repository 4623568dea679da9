"""All topologies on one page: what runs, the coming load, the next step, its risk, and alarms."""

from collections.abc import Callable, Sequence
from datetime import datetime

from forescale.report.kit.page import rendered
from forescale.report.kit.table import numbers, texts
from forescale.report.kit.wording import moment
from forescale.report.overview.actions import Actions, shown
from forescale.report.overview.alarms import alarms
from forescale.report.overview.standing_cells import (
    alarms_cell,
    budget_cell,
    next_step_cell,
    risk_cell,
    running_cell,
)
from forescale.standing import Standing
from modeling.wording import count_of
from planner.ledger.step_state import StepState

Address = Callable[[Standing], str]


def render_overview(
    standings: Sequence[Standing],
    at: datetime,
    *,
    page_of: Address,
    picture_of: Address,
    actions: Actions | None = None,
) -> str:
    """The whole page. page_of: address of a topology's page; picture_of: of its newest decision, empty without one.
    actions: in Airflow, None elsewhere.
    """
    alarmed = {each.topology for each in standings if alarms(each)}
    ordered = sorted(standings, key=lambda each: (each.topology not in alarmed, each.topology))
    return rendered(
        "overview.html.j2",
        "frame.js fleet.js",
        [],
        headline=_headline(ordered, len(alarmed)),
        at=moment(at),
        **shown(actions),
        columns=(*texts("Runs", "Next step"), *numbers("Risk", "Budget used"), *texts("Alarms")),
        lines=[
            {
                "topology": each.topology,
                "page": page_of(each),
                "picture": picture_of(each),
                "urgent": each.topology in alarmed,
                "cells": (
                    running_cell(each),
                    next_step_cell(each),
                    risk_cell(each),
                    budget_cell(each),
                    alarms_cell(each),
                ),
            }
            for each in ordered
        ],
        count=f"{len(ordered):,}",
    )


def _headline(standings: Sequence[Standing], alarmed: int) -> str:
    if not standings:
        return "No topology is known yet"
    proposed = sum(any(step.state is StepState.PROPOSED for step in each.ahead) for each in standings)
    return (
        f"{count_of(len(standings), 'topology')}: {proposed or 'none'} with a step to review, "
        f"{alarmed or 'none'} with an alarm"
    )
