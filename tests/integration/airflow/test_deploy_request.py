"""What the form of the DAG `deploy` may ask for."""

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError
from ledger_decisions import schedule_of
from shadow_days import NAME, install

from forescale.orchestration.deploy_request import FORM, requested_step
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from planner.edit_facts import LimitKind
from planner.errors import PlanError
from planner.step_cause import StepCauseKind

pytestmark = pytest.mark.airflow

EMPTY: dict[str, Any] = {name: param.value for name, param in FORM.items()}


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (EMPTY, r"the form names nothing to deploy; give a step_id, or a topology and its parallelism"),
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
        requested_step(Workspace(Settings(home=tmp_path)), form, run_id="r", by="test")


def test_form__takes_a_plan_as_it_is_typed_or_as_a_program_sends_it(tmp_path: Path) -> None:
    workspace = Workspace(install(tmp_path, "act"))
    for run_id, typed in (("r1", " read=2, count=9"), ("r2", {"read": 2, "count": 9})):
        made = requested_step(workspace, EMPTY | {"topology": NAME, "parallelism": typed}, run_id=run_id, by="test")
        assert dict(workspace.ledger.step(made.step_id).plan.parallelism) == {"read": 2, "count": 9}


def test_form__draws_a_field_of_text_for_a_plan_and_refuses_what_is_none() -> None:
    field = FORM["parallelism"]
    # Airflow draws the field of the first type that is not null.
    assert next(kind for kind in field.schema["type"] if kind != "null") == "string"
    for good in ("count=2", "read=1,count=2", " read = 1 , count = 2 ", {"count": 2}, None):
        assert field.resolve(good) == good
    for wrong in ("many", "count=0", "count=", "count=2,", "=2", "count=two", {"count": 0}, {}):
        with pytest.raises(ParamValidationError):
            field.resolve(wrong)


def test_form__that_names_a_shadow_step_is_refused_before_anybody_waits_for_its_time(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    schedule_id = ledger_of(settings).record_schedule(schedule_of(3), shadow=True)
    with pytest.raises(ValueError, match=r"made in shadow mode and is never deployed; set planning.mode: act"):
        requested_step(Workspace(settings), EMPTY | {"step_id": f"{schedule_id}-1"}, run_id="r", by="test")


def test_form__overrides_limits_for_an_administrator_alone_and_with_a_reason(tmp_path: Path) -> None:
    settings = install(tmp_path, "act").model_copy(update={"override_users": "root, admin"})
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("lead_s: 0", "lead_s: 0, max_step: 2"))
    form = EMPTY | {"topology": NAME, "parallelism": {"count": 11}}
    with pytest.raises(
        PlanError, match=r"3 instances start or stop > planning.max_step of 2: .*Override or that word in Edit, and Why"
    ):
        requested_step(Workspace(settings), form, run_id="r", by="admin")
    form["override"] = True
    with pytest.raises(PlanError, match=r"user 'reviewer' may not override limits; .*FORESCALE_OVERRIDE_USERS"):
        requested_step(Workspace(settings), form | {"why": "a fair"}, run_id="r", by="reviewer")
    with pytest.raises(PlanError, match="overridden without a reason; say why"):
        requested_step(Workspace(settings), form, run_id="r", by="admin")
    assert ledger_of(settings).steps(topology=NAME) == []
    made = requested_step(Workspace(settings), form | {"why": "a fair"}, run_id="r", by="admin")
    asked = ledger_of(settings).step(made.step_id).cause
    assert asked is not None
    assert (asked.kind, asked.by, asked.detail) == (StepCauseKind.ASKED_FOR, "admin", "a fair")
    passed = [(limit.limit, dict(limit.before), dict(limit.plan)) for limit in asked.limits]
    assert passed == [(LimitKind.MAX_STEP, {"read": 1, "count": 8}, {"read": 1, "count": 11})]
