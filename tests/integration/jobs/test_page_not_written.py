"""A decision whose page cannot be written stands, and the error says so."""

from pathlib import Path

import pytest
from shadow_days import NAME, install, plan_now

from forescale.files.file_error import FileError
from forescale.jobs.report import report
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = install(tmp_path, "act").model_copy(update={"mlflow_uri": "http://127.0.0.1:9"})
    cluster_of(topology_config(NAME, made), made, clock_of(made)).state()
    return made


def test_plan__says_that_its_decision_is_recorded_and_how_to_write_the_page(settings: Settings) -> None:
    blocked = settings.reports_dir / NAME
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way of the folder, as a full disk is")
    with pytest.raises(FileError) as refused:
        plan_now(settings)
    (recorded,) = ledger_of(settings).schedules(NAME)
    said = str(refused.value)
    assert said.startswith(f"schedule {recorded.id} of {NAME} is recorded and stands")
    assert "only its page was not written" in said
    assert str(blocked) in said
    assert said.endswith(f"run: forescale plan show {recorded.id}")
    blocked.unlink()
    assert report(Workspace(settings), recorded.id).is_file()
