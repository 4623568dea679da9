"""Every forecaster keeps to the one contract, and goes on to with a calendar of events around it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from arrival_series import MONDAY, busy_offices, web_requests
from contract.forecaster_contract import ForecasterContract
from event_days import day

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.forecaster import Forecaster
from forecasting.forecasters import all_forecasters
from forecasting.models.borrowed_forecaster import BorrowedForecaster
from forecasting.models.first_days_forecaster import FIRST_DAYS, FirstDaysForecaster

FEED_LOST = Event(
    EventKind.OUTAGE, "Feed lost", MONDAY + timedelta(days=10), MONDAY + timedelta(days=10, hours=2, minutes=7)
)
# None of them falls into the time that the contract forecasts, nor into its last day: what it expects still holds.
CALENDAR = EventCalendar((day(3), day(9), day(30), day(12, "Sale", EventKind.LAUNCH), FEED_LOST))


def each(forecasters: Iterable[Forecaster]) -> list[Any]:
    """Prophet starts a process for each fit. The one for first days refuses the weeks that the contract gives."""
    slow = {"prophet": [pytest.mark.slow]}
    suitable = [one for one in forecasters if one.name != FIRST_DAYS]
    return [pytest.param(one, id=one.name, marks=slow.get(one.name, [])) for one in suitable]


def before(series: ArrivalSeries) -> ArrivalSeries:
    """The same some weeks earlier, so that all of it lies before what the contract forecasts."""
    return replace(series, start=series.start - timedelta(days=28))


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


class TestFirstDays(ForecasterContract):
    """It learns from the newest week, here of more days than those in which it competes."""

    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return FirstDaysForecaster(max_days=35)


class TestBorrowedShape(ForecasterContract):
    """Its siblings are older sources of the same kind; what it says of hours in which they are closed is theirs."""

    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return BorrowedForecaster([before(web_requests(days=35, seed=11)), before(web_requests(days=35, seed=12))])

    def test_closed_hours__stay_near_zero(self, forecaster: Forecaster) -> None:
        offices = BorrowedForecaster([before(busy_offices(days=35, seed=11))])
        super().test_closed_hours__stay_near_zero(offices)

    def test_too_short_a_series__is_refused_with_what_is_lacking(self, forecaster: Forecaster) -> None:
        # Hours are enough for it, two are not.
        series = web_requests(days=2 / 24)
        assert "0.08 days of history, 0.125 are needed" in (forecaster.unsuitable_because(series) or "")
        with pytest.raises(ForecastError, match=r"are needed"):
            forecaster.fit(series)
