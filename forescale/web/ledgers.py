"""The ledger that pages are drawn from: opened once a process, as its tables are checked then."""

from functools import cache

from forescale.settings import Settings
from planner.ledger.ledger import Ledger


def ledger_of(settings: Settings) -> Ledger:
    settings.home.mkdir(parents=True, exist_ok=True)
    return _opened(settings.ledger_sqlalchemy_url)


@cache
def _opened(url: str) -> Ledger:
    return Ledger(url)
