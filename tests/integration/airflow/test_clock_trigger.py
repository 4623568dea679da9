import asyncio
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest

from forescale.orchestration.clock_trigger import MAX_PAUSE_S, TRACE_PAUSE_S, ClockReached, pause_s
from planner.clock import TraceClock
from planner.errors import PlanError

pytestmark = pytest.mark.airflow

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def clock(tmp_path):
    clock = TraceClock(tmp_path / "clock")
    clock.start_at(NOON)
    return clock


def waiting_for(moment, clock):
    return ClockReached(moment.isoformat(), "trace", str(clock.path))


async def first_event(trigger):
    return await anext(trigger.run())


def test_trigger__fires_at_once_for_a_moment_that_is_reached(clock):
    event = asyncio.run(first_event(waiting_for(NOON, clock)))
    assert event.task_instance_state == "success"


def test_trigger__fires_when_the_clock_is_moved_to_its_moment(clock):
    async def scenario():
        waiting = asyncio.create_task(first_event(waiting_for(NOON + timedelta(hours=2), clock)))
        clock.advance_to(NOON + timedelta(hours=1))
        await asyncio.sleep(2 * TRACE_PAUSE_S)
        early = waiting.done()
        clock.advance_to(NOON + timedelta(hours=2))
        await asyncio.wait_for(waiting, 60)
        return early

    assert asyncio.run(scenario()) is False


def test_trigger__is_made_again_from_what_it_serialises_to(clock):
    trigger = waiting_for(NOON + timedelta(hours=1), clock)
    path, arguments = trigger.serialize()
    module, name = path.rsplit(".", 1)
    again = getattr(import_module(module), name)(**arguments)
    assert again.remaining_s() == 3600


def test_trigger__fails_with_the_remedy_where_there_is_no_clock(tmp_path):
    trigger = ClockReached(NOON.isoformat(), "trace", str(tmp_path / "clock"))
    with pytest.raises(PlanError, match="does not exist; start it"):
        asyncio.run(first_event(trigger))


def test_trigger__goes_by_the_machine_clock_too():
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    assert asyncio.run(first_event(ClockReached(past, "real", ""))).task_instance_state == "success"


def test_pause__ends_at_the_moment_but_never_lasts_long():
    assert pause_s(3.5, "real") == 3.5
    assert pause_s(86400, "real") == MAX_PAUSE_S
    # A trace clock jumps: the distance says nothing.
    assert pause_s(86400, "trace") == TRACE_PAUSE_S
