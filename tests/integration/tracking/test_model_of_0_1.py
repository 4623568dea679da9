"""What 0.1 kept in MLflow: a run and a registered model of one source."""

import subprocess
import sys
from pathlib import Path

import pytest
from home_of_0_1 import home_of_0_1, without_what_is_gone

from forecasting.errors import TrackingError
from forescale.jobs.forecast import forecast
from forescale.jobs.reproduce import reproduce
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, tracker_of

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

SERVED = """
import sys
import mlflow, pandas
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model("models:/calls.ingest@champion")
starts = pandas.date_range("2026-03-05", "2026-03-07 06:00", freq="900s", inclusive="left")
counts = [60.0] * len(starts)
answer = model.predict(pandas.DataFrame({"window_start": starts, "count": counts}))
print(answer.horizon_s.tolist(), sorted(set(answer.columns) - {"horizon_s"}), (answer.p50 > 0).all())
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = home_of_0_1(tmp_path)
    without_what_is_gone(made)
    return made


def test_a_model__is_served_by_the_code_that_it_brings(settings: Settings, tmp_path: Path) -> None:
    # In a process of its own: the model's code is 0.1's, under the names of today's packages.
    script = tmp_path / "served.py"
    script.write_text(SERVED)
    command = [sys.executable, str(script), settings.tracking_uri]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[900, 3600] ['p50', 'p90', 'p95', 'p99'] True"


def test_a_run__is_linked_and_said_to_keep_no_request(settings: Settings) -> None:
    (entry,) = ledger_of(settings).forecasts("calls")
    assert tracker_of(settings).run_url(entry.run_id).endswith(entry.run_id)
    with pytest.raises(TrackingError, match=rf"run {entry.run_id} keeps no request, .* of 0\.2 or later"):
        reproduce(Workspace(settings), entry.run_id)


def test_a_new_forecast__stands_beside_the_old_one_under_the_topologys_own_model(settings: Settings) -> None:
    made = forecast(Workspace(settings), "calls")
    first, newest = sorted(ledger_of(settings).forecasts("calls"), key=lambda entry: entry.model_version)
    assert (newest.model_version, first.model_version) == ("calls/1", "calls.ingest/1")
    assert tracker_of(settings).champion("calls") == "calls/1"
    assert made.failures == {}
