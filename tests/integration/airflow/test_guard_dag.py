"""The DAG `guard`, really run, in a process of its own, over a guarded topology and one whose guard is off."""

from pathlib import Path

import pytest
from dag_run import DagRuns
from shadow_days import NAME, install

from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config

pytestmark = [pytest.mark.airflow, pytest.mark.slow]


def test_guard__looks_at_what_is_guarded_and_nothing_else(tmp_path: Path, runs: DagRuns) -> None:
    settings = install(tmp_path, "act")
    text = (tmp_path / f"{NAME}.yaml").read_text()
    off = text.replace(f"topology: {NAME}", "topology: let-alone").replace(
        "mode: act,", "mode: act, guard: {mode: off},"
    )
    (tmp_path / "let-alone.yaml").write_text(off)
    clock = clock_of(settings)
    cluster_of(topology_config(NAME, settings), settings, clock).state()
    clock.wait(120)
    told = runs.run("guard", settings)
    assert "states: [('guard', 0, 'success'), ('topologies', -1, 'success')]" in told, told
    (look,) = ledger_of(settings).guard.looks(NAME)
    assert (look.at, look.parallelism) == (clock.now(), {"read": 1, "count": 8})
    assert ledger_of(settings).guard.looks("let-alone") == []
