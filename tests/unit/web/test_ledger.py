"""The ledger that pages are drawn from."""

from pathlib import Path

from forescale.settings import Settings
from forescale.web.app import opened_once
from forescale.wiring.parts import ledger_of


def test_ledger__is_opened_once_a_process_though_its_home_is_not_there_yet(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    assert ledger_of(settings, opened_once) is ledger_of(settings, opened_once)
    assert ledger_of(settings) is not ledger_of(settings)
