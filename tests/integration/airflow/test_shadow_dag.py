"""The DAG `shadow`, really run, in a process of its own, over a topology in shadow mode and one that is acted on."""

from pathlib import Path

import pytest
from dag_run import DagRuns
from shadow_days import FIRST, NAME, install

from forescale.wiring.parts import ledger_of

pytestmark = [pytest.mark.airflow, pytest.mark.slow]


def test_shadow__observes_what_is_in_shadow_mode_and_nothing_else(tmp_path: Path, runs: DagRuns) -> None:
    settings = install(tmp_path, "shadow")
    acted_on = (tmp_path / f"{NAME}.yaml").read_text().replace("mode: shadow", "mode: act")
    (tmp_path / "acted-on.yaml").write_text(acted_on.replace(f"topology: {NAME}", "topology: acted-on"))
    told = runs.run("shadow", settings)
    assert "states: [('observe', 0, 'success'), ('topologies', -1, 'success')]" in told, told
    (seen,) = ledger_of(settings).shadow.observations(NAME, FIRST, FIRST)
    assert (dict(seen.plan.parallelism), seen.status, seen.lag_s) == ({"read": 1, "count": 8}, "running", 0.0)
