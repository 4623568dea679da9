"""The demo's data for `make up`: the trace shifted by whole weeks so that it is live now and continues for days."""

from collections.abc import Callable
from datetime import datetime, timedelta

from forescale.local.demo.bank_calls import TOPOLOGY, bank_calls
from forescale.local.demo.demo_data import write_demo_data
from forescale.local.demo.span import write_demo_home
from forescale.settings import Settings
from forescale.wiring.clock import clock_of_kind
from forescale.wiring.parts import cluster_of, topology_config

WEEKS = 10


def prepare_live(settings: Settings, now: datetime, say: Callable[[str], None]) -> Settings:
    """Write raw events around `now`, and start the simulator now; existing data that is still valid is kept.

    The whole trace is written, with its future: aggregation reads up to the present, as if from a feed. Returns the
    settings for running it.
    """
    settings = write_demo_home(settings)
    shift = weeks_until_live(now)
    mark = settings.home / "demo" / f"shift-{shift.days}"
    if not mark.exists():
        say(f"shifting the demo's calls of 2003 by {shift.days // 7} weeks")
        end = datetime.combine(bank_calls().last_date, datetime.min.time(), now.tzinfo) + shift + timedelta(days=1)
        write_demo_data(settings.home, now=end, weeks=WEEKS, shift=shift)
        mark.touch()
    config = topology_config(TOPOLOGY, settings)
    cluster_of(config, settings, clock_of_kind("real", settings.clock_file)).state()
    return settings


def weeks_until_live(now: datetime) -> timedelta:
    """The whole weeks by which the trace's last Friday becomes the first Friday that is at least two days away.

    A day's forecast is then always followed by a day of calls.
    """
    last = datetime.combine(bank_calls().last_date, datetime.min.time(), now.tzinfo)
    weeks = -((last - now - timedelta(days=2)) // timedelta(weeks=1))
    return timedelta(weeks=weeks)
