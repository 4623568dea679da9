"""The DAG `notify`, really run, in a process of its own, with a service that is down beside one that is not."""

from pathlib import Path

import pytest
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
    assert "service 1 of FORESCALE_NOTIFY_URLS takes no message" in told
    assert "sesame42" not in told
