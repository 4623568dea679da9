"""What a decision stands on besides what plans carry, and who knows it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from certain_forecast import certain_forecast
from history_rows import rows_of_hours

from forecasting.arrivals.store import write_history
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.decision_grounds import decision_grounds
from forescale.situation.grounds import rescale_grounds
from forescale.situation.workspace import Workspace
from modeling.queueing.bursts import Arrivals
from planner.provenance import Ground, Origin, Quantity

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FREEZE = {"first_date": "2026-12-24", "last_date": "2026-12-26"}
EVENT = {"label": "fair", "kind": "other", "start": "2026-03-03 08:00", "end": "2026-03-03 18:00", "time_zone": "UTC"}


def stands_on(
    tmp_path: Path, planning: dict[str, object], arrivals: float | Arrivals = 1.0, **of: object
) -> tuple[Ground, ...]:
    body = {
        "topology": "pair",
        "operators": {"read": {"service_s": 0.001}, "work": {"service_s": 0.1}},
        "streams": [{"from": "read", "to": "work"}],
        "planning": planning,
    }
    config = TopologyConfig.model_validate({**body, **of})
    situation = Workspace(Settings(home=tmp_path)).situation(config, NOON)
    forecast = certain_forecast(
        "pair", "read", np.ones(4), step_s=900, horizon_s=3600, issued_at=NOON, trained_from=NOON - timedelta(days=56)
    )
    return (*rescale_grounds(situation), *decision_grounds(situation, {"read": forecast}, arrivals))


def origins(grounds: tuple[Ground, ...]) -> dict[Quantity, Origin]:
    return {each.quantity: each.provenance.origin for each in grounds}


def test_what_the_file_does_not_say__is_assumed(tmp_path: Path) -> None:
    grounds = stands_on(tmp_path, {})
    assert origins(grounds) == {
        Quantity.LOAD: Origin.MEASURED,
        Quantity.DOWNTIME: Origin.ASSUMED,
        Quantity.LEAD: Origin.ASSUMED,
        Quantity.WARM_UP: Origin.ASSUMED,
        Quantity.BUDGET: Origin.ASSUMED,
        Quantity.LIMITS: Origin.ASSUMED,
        Quantity.VARIATION: Origin.ASSUMED,
    }
    (load,) = (each.provenance for each in grounds if each.quantity is Quantity.LOAD)
    assert (load.at, load.samples) == (NOON, 56)


def test_what_the_file_says__is_declared_and_each_default_beside_it_is_assumed(tmp_path: Path) -> None:
    planning = {
        "downtime_s": 20,
        "lead_s": 60,
        "allow": 0.01,
        "max_instances": 9,
        "freeze": [FREEZE],
        "arrival_cv2": 1.0,
    }
    grounds = stands_on(tmp_path, planning, events=[EVENT])
    assert {each.quantity for each in grounds if each.provenance.origin is Origin.DECLARED} == {
        Quantity.DOWNTIME,
        Quantity.LEAD,
        Quantity.BUDGET,
        Quantity.LIMITS,
        Quantity.FREEZES,
        Quantity.EVENTS,
        Quantity.VARIATION,
    }
    limits = {each.provenance.origin: each.of for each in grounds if each.quantity is Quantity.LIMITS}
    assert limits[Origin.DECLARED] == ("max_instances",)
    assert {"max_lag_s", "min_dwell_s"} <= set(limits[Origin.ASSUMED])
    assert "max_instances" not in limits[Origin.ASSUMED]


def test_variation_of_arrivals__is_measured_at_the_sources_whose_history_shows_it(tmp_path: Path) -> None:
    measured = stands_on(tmp_path, {}, Arrivals(by_source={"read": Arrivals(2.0)}))
    (known,) = [each for each in measured if each.quantity is Quantity.VARIATION]
    assert (known.provenance.origin, known.provenance.samples, known.of) == (Origin.MEASURED, 7, ("read",))


@pytest.mark.parametrize(("hours", "days"), [(6, 1), (3 * 24, 3), (10 * 24, 7)])
def test_variation_of_arrivals__is_measured_in_the_days_that_there_are(tmp_path: Path, hours: int, days: int) -> None:
    start = NOON - timedelta(hours=hours)
    rows = rows_of_hours(f"{start:%Y-%m-%dT%H:%M}", [9] * hours, source="read", topology="pair")
    write_history(rows, tmp_path / "history", "pair", start, NOON)
    measured = stands_on(tmp_path, {}, Arrivals(by_source={"read": Arrivals(2.0)}))
    (known,) = [each for each in measured if each.quantity is Quantity.VARIATION]
    assert known.provenance.samples == days


@pytest.mark.parametrize(
    ("planning", "origin", "minutes"),
    [
        ({"allow": 0.01}, Origin.MEASURED, 30),
        ({"price_per_violation_minute": 2.0}, Origin.DECLARED, 0),
    ],
)
def test_a_budget__is_what_the_past_has_left_of_it_unless_minutes_have_a_price(
    tmp_path: Path, planning: dict[str, object], origin: Origin, minutes: int
) -> None:
    lags_s = [(NOON - timedelta(minutes=number), 60.0) for number in range(30)]
    Workspace(Settings(home=tmp_path)).ledger.minutes.record("pair", lags_s, max_lag_s=180.0)
    grounds = stands_on(tmp_path, planning)
    (known,) = (each.provenance for each in grounds if each.quantity is Quantity.BUDGET)
    assert (known.origin, known.samples) == (origin, minutes)
    assert known.at == (NOON if minutes else None)
