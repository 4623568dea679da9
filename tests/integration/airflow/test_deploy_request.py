"""What the form of the DAG `deploy` may ask for."""

from pathlib import Path
from typing import Any

import pytest
from ledger_decisions import schedule_of

from forescale.orchestration.deploy_request import requested_step
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of

pytestmark = pytest.mark.airflow

EMPTY: dict[str, Any] = {"step_id": None, "topology": None, "parallelism": None, "when": None}


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (EMPTY, r"the form lacks what to deploy; give a step_id, or a topology and its parallelism"),
        (EMPTY | {"step_id": "s1-1", "topology": "shop"}, r"names step s1-1 and a plan as well; give one of them"),
        # The schema of the form lets this day pass.
        (
            EMPTY | {"topology": "shop", "parallelism": {"count": 2}, "when": "2026-02-30T06:45:00Z"},
            r"deploy time '2026-02-30T06:45:00Z' is no ISO time; give it like",
        ),
    ],
)
def test_form__that_cannot_be_is_refused_with_the_remedy(form: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        requested_step(Settings(home=tmp_path), form, run_id="r", by="test")


def test_form__that_names_a_shadow_step_is_refused_before_anybody_waits_for_its_time(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    schedule_id = ledger_of(settings).record_schedule(schedule_of(3), shadow=True)
    with pytest.raises(ValueError, match=r"made in shadow mode and is never deployed; set planning.mode: act"):
        requested_step(settings, EMPTY | {"step_id": f"{schedule_id}-1"}, run_id="r", by="test")
