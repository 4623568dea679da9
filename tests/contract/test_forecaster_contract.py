"""Every forecaster keeps to the one contract, and goes on to with a calendar of events around it."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from arrival_series import MONDAY
from contract.forecaster_contract import ForecasterContract
from event_days import day

from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters

FEED_LOST = Event(
    EventKind.OUTAGE, "Feed lost", MONDAY + timedelta(days=10), MONDAY + timedelta(days=10, hours=2, minutes=7)
)
# None of them falls into the time that the contract forecasts, nor into its last day: what it expects still holds.
CALENDAR = EventCalendar((day(3), day(9), day(30), day(12, "Sale", EventKind.LAUNCH), FEED_LOST))


def each(forecasters: Iterable[Forecaster]) -> list[Any]:
    """Prophet starts a process for each fit."""
    slow = {"prophet": [pytest.mark.slow]}
    return [pytest.param(one, id=one.name, marks=slow.get(one.name, [])) for one in forecasters]


@pytest.fixture(params=each(all_forecasters()))
def forecaster(request: pytest.FixtureRequest) -> Forecaster:
    competitor: Forecaster = request.param
    return competitor


class TestEveryForecaster(ForecasterContract):
    pass


class TestEveryForecasterWithEvents(ForecasterContract):
    @pytest.fixture(params=each(all_forecasters(CALENDAR)))
    def forecaster(self, request: pytest.FixtureRequest) -> Forecaster:
        competitor: Forecaster = request.param
        return competitor
