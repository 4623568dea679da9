"""What the forecast job asks for where the topology file knows of events: their calendar, and outages left out."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from arrival_series import web_requests
from integration.airflow.day_and_night import TOPOLOGY

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forescale.files.topology import read_topology_file
from forescale.jobs.forecast import Wanted, wanted_forecast
from forescale.jobs.forecast_request import ForecastRequest
from forescale.settings import Settings
from forescale.situation.workspace import Workspace

SERIES = web_requests(days=10)
# web_requests begins on 2026-01-05: the outage lies in the past, the sale in the day that is forecast.
OUTAGE = {"label": "Feed lost", "kind": "outage", "start": "2026-01-12T07:10:00Z", "end": "2026-01-12T09:00:00Z"}
SALE = {"label": "Sale", "kind": "launch", "date": "2026-01-15", "time_zone": "UTC", "ratio": 3}
BEYOND = SALE | {"date": "2026-03-01"}
ELSEWHERE = {"label": "Cup final", "kind": "match", "date": "2026-01-13", "time_zone": "UTC"}


def wanted(folder: Path, *events: dict[str, Any]) -> Wanted:
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(TOPOLOGY) | {"events": list(events)}))
    series = ArrivalSeries("day-and-night", "receive", SERIES.start, SERIES.window_s, SERIES.counts)
    history = ArrivalHistory("day-and-night", {"receive": series})
    settings = Settings(home=folder, topologies=folder, mlruns=folder / "mlruns")
    request = ForecastRequest.of(read_topology_file(path), SERIES.end, "")
    return wanted_forecast(Workspace(settings), request, history, "receive")


def test_an_outage__is_missing_in_the_history_that_is_learnt_from(tmp_path: Path) -> None:
    order = wanted(tmp_path, OUTAGE).order
    missing = [
        order.start + timedelta(seconds=order.window_s * int(at)) for at in np.flatnonzero(np.isnan(order.counts))
    ]
    # Quarters of an hour, from the one in which it begins.
    assert len(missing) == 8
    assert f"{missing[0]:%d %H:%M}" == "12 07:00"


def test_what_is_to_come__is_in_the_calendar_and_what_is_far_off_is_not(tmp_path: Path) -> None:
    assert [event.ratio for event in wanted(tmp_path, SALE, BEYOND).order.calendar.events] == [3.0]


@pytest.mark.parametrize("events", [(SALE,), (OUTAGE,), (ELSEWHERE,), (SALE | {"ratio": 2},)])
def test_another_calendar__is_another_forecast_and_learnt_anew(
    tmp_path: Path, events: tuple[dict[str, Any], ...]
) -> None:
    without, with_events, again = wanted(tmp_path), wanted(tmp_path, *events), wanted(tmp_path, *events)
    assert with_events.identity == again.identity != without.identity
    assert with_events.order.trained == again.order.trained != without.order.trained


def test_events_that_are_out_of_reach__make_no_other_forecast(tmp_path: Path) -> None:
    assert wanted(tmp_path, BEYOND).identity == wanted(tmp_path).identity


def test_a_day_of_the_month_that_stood_out_before__is_in_the_calendar_and_told(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    firsts = [(start + timedelta(days=number)).day == 1 for number in range(180)]
    counts = 1000.0 * np.repeat(np.where(firsts, 3.0, 1.0), 24)
    series = ArrivalSeries("day-and-night", "receive", start, 3600, counts)
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(TOPOLOGY) | {"forecast": {"step_s": 3600}}))
    request = ForecastRequest.of(read_topology_file(path), series.end, "")
    history = ArrivalHistory("day-and-night", {"receive": series})
    order = wanted_forecast(Workspace(Settings(home=tmp_path, topologies=tmp_path)), request, history, "receive").order
    *_, coming = order.calendar.events
    assert (coming.start, coming.label) == (datetime(2026, 7, 1, tzinfo=UTC), "day 1 of the month")
    assert coming.ratio == pytest.approx(3.0, rel=0.02)
    assert order.notes == (
        "2026-07-01 00:00 UTC: day 1 of the month, 3 times the usual load, which stood out on past days",
    )
