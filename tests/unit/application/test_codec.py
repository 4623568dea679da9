"""What jobs return, as machines exchange it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.quality import SourceQuality
from forescale.cli.schedule_answer import ScheduleAnswer, StepAnswer
from forescale.codec import SCHEMA_VERSION, handed_over, taken_over, to_json
from forescale.jobs.aggregate import BuiltHistory
from forescale.jobs.deploy import ComingStep, DueSteps
from forescale.jobs.forecast import MadeForecasts
from forescale.jobs.review import ReviewedSchedule
from forescale.jobs.step_to_deploy import StepToDeploy
from forescale.jobs.violation_budget import BudgetUse
from planner.deployment import Deployment
from planner.ledger.step_state import StepState
from planner.step_cause import StepCause, StepCauseKind

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PLANNED = ScheduleAnswer(
    "shop",
    "s1",
    (StepAnswer("s1-1", NOON, "count 2", "the peak"),),
    "the load comes",
    3.5,
    {"orders": {3600: {0.5: 10.0, 0.95: 12.0}}},
    BudgetUse(7.2, 10_080, 12),
    Path("/reports/s1.html"),
    "Two plans.",
)
RESULTS = [
    PLANNED,
    BuiltHistory(
        "shop",
        NOON - timedelta(hours=1),
        NOON,
        60,
        Measures.OFFERED,
        "c1",
        SourceQuality(9, 7, 1, 1, {"future": 0}, 58, 1, 0, 1),
        {"orders": 7},
        ("clicks",),
        0.5,
    ),
    MadeForecasts(
        "shop", {"orders": Path("/f")}, {"orders": "r1"}, {"orders": {3600: (1.0, 2.0)}}, {"clicks": "silent"}, {}
    ),
    StepToDeploy("s1-1", NOON),
    DueSteps(
        ("s1-1",),
        (Deployment("s1-2", StepState.VERIFIED, StepCause(StepCauseKind.RUNS, at=NOON)),),
        {"s1-3": "refused"},
        coming=ComingStep("s1-4", NOON, "orders 3"),
        unanswered=2,
    ),
    ReviewedSchedule("s1", {"s1-1": StepState.APPROVED}),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result__that_one_task_hands_over_is_taken_over_as_it_was(result: Any) -> None:
    assert taken_over(type(result), json.loads(json.dumps(handed_over(result)))) == result


def test_json__has_moments_with_their_offset_states_by_name_and_numbers_as_keys() -> None:
    fields = to_json(PLANNED)
    assert fields["steps"][0]["deploy_at"] == "2026-03-02T12:00:00+00:00"
    assert fields["peaks_per_s"] == {"orders": {"3600": {"0.5": 10.0, "0.95": 12.0}}}
    assert fields["report"] == "/reports/s1.html"
    assert to_json(ReviewedSchedule("s1", {"s1-1": StepState.APPROVED}))["steps"] == {"s1-1": "approved"}


def test_what_was_handed_over__before_there_were_versions_is_taken_over() -> None:
    assert taken_over(StepToDeploy, {"step_id": "s1-1", "deploy_at": "2026-03-02T12:00:00+00:00"}).deploy_at == NOON


def test_what_was_handed_over__by_another_release_is_refused_with_both_versions() -> None:
    body = handed_over(StepToDeploy("s1-1", NOON)) | {"schema_version": SCHEMA_VERSION + 1}
    with pytest.raises(ValueError, match=r"StepToDeploy has schema version 2, this release reads 1; start a new run"):
        taken_over(StepToDeploy, body)


def test_what_was_handed_over__without_a_field_or_a_zone_names_the_field() -> None:
    with pytest.raises(ValueError, match=r"StepToDeploy cannot be read: deploy_at: Field required"):
        taken_over(StepToDeploy, {"step_id": "s1-1"})
    naive = replace(StepToDeploy("s1-1", NOON), deploy_at=NOON.replace(tzinfo=None))
    with pytest.raises(ValueError, match=r"moment 2026-03-02 12:00:00 has no time zone"):
        handed_over(naive)
    with pytest.raises(ValueError, match=r"StepToDeploy cannot be read: deploy_at: .*timezone"):
        taken_over(StepToDeploy, {"step_id": "s1-1", "deploy_at": "2026-03-02T12:00:00"})
