"""All topologies on one page: what runs, what comes, what is next, how sure that is, and what to see to."""

from collections.abc import Callable, Sequence
from datetime import datetime

from forescale.report.kit.page import rendered
from forescale.report.kit.table import numbers, texts
from forescale.report.kit.wording import moment
from forescale.report.overview.standing import Standing
from forescale.report.overview.standing_cells import (
    alarms_cell,
    budget_cell,
    next_step_cell,
    risk_cell,
    running_cell,
)
from modeling.wording import count_of

Address = Callable[[Standing], str]


def render_overview(standings: Sequence[Standing], at: datetime, *, page_of: Address, picture_of: Address) -> str:
    """The whole page. page_of: address of the page of a topology; picture_of: of its newest decision, empty without."""
    ordered = sorted(standings, key=lambda each: (not each.alarms, each.topology))
    return rendered(
        "overview.html.j2",
        "fleet.js",
        [],
        headline=_headline(ordered),
        at=moment(at),
        columns=(*texts("Runs", "Next step"), *numbers("Violation", "Budget used"), *texts("Drift and alarms")),
        lines=[
            {
                "topology": each.topology,
                "page": page_of(each),
                "picture": picture_of(each),
                "urgent": bool(each.alarms),
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


def _headline(standings: Sequence[Standing]) -> str:
    if not standings:
        return "No topology is known yet"
    alarmed = sum(bool(each.alarms) for each in standings)
    proposed = sum(each.next_step is not None and each.next_step.state == "proposed" for each in standings)
    return (
        f"{count_of(len(standings), 'topology')}: {proposed or 'none'} with a step to review, "
        f"{alarmed or 'none'} with an alarm"
    )
