"""The demo's data for `make up`: the trace shifted by whole weeks so that it is live now and continues for days."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from forescale.local.demo.bank_calls import TOPOLOGY, bank_calls
from forescale.local.demo.demo_data import deliver, write_demo_data
from forescale.local.demo.span import write_demo_home
from forescale.settings import Settings
from forescale.wiring.clock import clock_of_kind
from forescale.wiring.parts import cluster_of, topology_config

WEEKS = 10


@dataclass(frozen=True)
class LiveDemo:
    """A home with the shifted trace. settings: for running it."""

    settings: Settings
    shift: timedelta

    def feed(self, now: datetime) -> None:
        """Deliver the events that have come by now."""
        deliver(self.settings.home, now=now, weeks=WEEKS, shift=self.shift)


def prepare_live(settings: Settings, now: datetime, say: Callable[[str], None]) -> LiveDemo:
    """Write raw events up to now, and start the simulator now; existing data that is still valid is continued."""
    demo = LiveDemo(write_demo_home(settings), weeks_until_live(now))
    settings = demo.settings
    mark = settings.home / "demo" / f"fed-{demo.shift.days}"
    if not mark.exists():
        say(f"Moving the demo's calls of 2003 by {demo.shift.days // 7} weeks: about 15 s …")
        write_demo_data(settings.home, now=now, weeks=WEEKS, shift=demo.shift)
        mark.touch()
    demo.feed(now)
    config = topology_config(TOPOLOGY, settings)
    cluster_of(config, settings, clock_of_kind("real", settings.clock_file)).state()
    return demo


def weeks_until_live(now: datetime) -> timedelta:
    """The whole weeks by which the trace's last Friday becomes the first Friday that is at least two days away.

    A day's forecast is then always followed by a day of calls.
    """
    last = datetime.combine(bank_calls().last_date, datetime.min.time(), now.tzinfo)
    weeks = -((last - now - timedelta(days=2)) // timedelta(weeks=1))
    return timedelta(weeks=weeks)
