"""The DAG `notify`, really run, in a process of its own, with a service that is down beside one that is not."""

from pathlib import Path

import pytest
from canaries import canaries_below, canaries_in, planted_settings
from dag_run import DagRuns
from monitored_pair import begin_monitored
from webhook import Webhook

from forescale.settings import Settings

pytestmark = [pytest.mark.airflow, pytest.mark.slow]


def test_notify__tells_who_answers_and_is_not_failed_by_who_does_not(tmp_path: Path, runs: DagRuns) -> None:
    settings = Settings(home=tmp_path / "home", topologies=tmp_path / "files", clock="trace")
    begin_monitored(settings)
    down, up = Webhook(), Webhook()
    with up.running():
        told = runs.run("notify", settings, environment={"FORESCALE_NOTIFY_URLS": f"{down.url} {up.url}"})
    assert "states: [('notify', -1, 'success')]" in told, told
    assert len(up.messages) == 3
    assert "service 1 of FORESCALE_NOTIFY_URLS refused a message" in told
    assert "sesame42" not in told


def test_notify__that_cannot_reach_the_ledger_logs_and_keeps_no_secret(tmp_path: Path, runs: DagRuns) -> None:
    settings = Settings(home=tmp_path / "home", topologies=tmp_path / "files", clock="trace")
    begin_monitored(settings)
    told = runs.run("notify", settings, environment=planted_settings())
    assert "states: [('notify', -1, 'failed')]" in told, told
    assert "LedgerError: ledger postgresql" in told, told
    assert canaries_in(told) == set(), told
    assert canaries_below(tmp_path, runs.database.parent) == {}
