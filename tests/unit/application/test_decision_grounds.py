"""What a decision stands on besides what plans carry, and who knows it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from certain_forecast import certain_forecast

from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.decision_grounds import decision_grounds
from forescale.situation.grounds import rescale_grounds
from forescale.situation.learned_rescale import learned_planning
from forescale.situation.workspace import Workspace
from planner.horizon.budget import Budget
from planner.provenance import Ground, Origin, Quantity

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FREEZE = {"first_date": "2026-12-24", "last_date": "2026-12-26"}
EVENT = {"label": "fair", "kind": "other", "start": "2026-03-03 08:00", "end": "2026-03-03 18:00", "time_zone": "UTC"}


def stands_on(tmp_path: Path, budget: Budget, planning: dict[str, object], **of: object) -> tuple[Ground, ...]:
    body = {
        "topology": "pair",
        "operators": {"read": {"service_s": 0.001}, "work": {"service_s": 0.1}},
        "streams": [{"from": "read", "to": "work"}],
        "planning": planning,
    }
    config = TopologyConfig.model_validate({**body, **of})
    situation = Workspace(Settings(home=tmp_path)).situation(config)
    forecast = certain_forecast(
        "pair", "read", np.ones(4), step_s=900, horizon_s=3600, issued_at=NOON, trained_from=NOON - timedelta(days=56)
    )
    learned = rescale_grounds(situation, learned_planning(situation, None))
    return (*learned, *decision_grounds(situation, {"read": forecast}, budget, NOON))


def origins(grounds: tuple[Ground, ...]) -> dict[Quantity, Origin]:
    return {each.quantity: each.provenance.origin for each in grounds}


def test_what_the_file_does_not_say__is_assumed(tmp_path: Path) -> None:
    grounds = stands_on(tmp_path, Budget(), {})
    assert origins(grounds) == {
        Quantity.LOAD: Origin.MEASURED,
        Quantity.DOWNTIME: Origin.ASSUMED,
        Quantity.LEAD: Origin.ASSUMED,
        Quantity.BUDGET: Origin.ASSUMED,
        Quantity.LIMITS: Origin.ASSUMED,
    }
    (load,) = (each.provenance for each in grounds if each.quantity is Quantity.LOAD)
    assert (load.at, load.samples) == (NOON, 56)


def test_what_the_file_says__is_declared(tmp_path: Path) -> None:
    planning = {"downtime_s": 20, "lead_s": 60, "allow": 0.01, "max_instances": 9, "freeze": [FREEZE]}
    found = origins(stands_on(tmp_path, Budget(0.01), planning, events=[EVENT]))
    assert {quantity for quantity, origin in found.items() if origin is Origin.DECLARED} == {
        Quantity.DOWNTIME,
        Quantity.LEAD,
        Quantity.BUDGET,
        Quantity.LIMITS,
        Quantity.FREEZES,
        Quantity.EVENTS,
    }


@pytest.mark.parametrize(
    ("budget", "planning", "origin", "minutes"),
    [
        (Budget(0.01, 10_080, 20), {"allow": 0.01}, Origin.MEASURED, 10_080),
        (Budget(0.01, 10_080, 20, price_h=2.0), {"price_per_violation_minute": 2.0}, Origin.DECLARED, 0),
    ],
)
def test_a_budget__is_what_the_past_has_left_of_it_unless_minutes_have_a_price(
    tmp_path: Path, budget: Budget, planning: dict[str, object], origin: Origin, minutes: int
) -> None:
    grounds = stands_on(tmp_path, budget, planning)
    (known,) = (each.provenance for each in grounds if each.quantity is Quantity.BUDGET)
    assert (known.origin, known.samples) == (origin, minutes)
