"""DAGs without Airflow's servers; `served` has those that need them."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Airflow makes its folder when it is imported: not in the home of whoever runs the tests.
os.environ.setdefault("AIRFLOW_HOME", str(Path(tempfile.gettempdir()) / "forescale-tests-airflow"))

from dag_run import DagRuns, dag_runs


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagRuns]:
    """For DAGs that are run without Airflow's servers."""
    pytest.importorskip("airflow")
    with dag_runs(tmp_path_factory.mktemp("runs")) as running:
        yield running
