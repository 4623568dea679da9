"""What `forescale plan` says of a schedule."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forescale.cli.plan_make import show_schedule
from forescale.cli.schedule_answer import AlternativeAnswer, ScheduleAnswer
from forescale.jobs.violation_budget import BudgetUse
from planner.scaling_schedule import AlternativeKind

MADE = ScheduleAnswer("shop", "s1", (), "nothing changes", 3.5, {}, BudgetUse(7.2, 0, 0), Path("s1.html"), "")


def test_a_schedule_that_was_made_before__says_when_and_that_its_question_is_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_schedule(MADE)
    assert "made 2026" not in capsys.readouterr().out
    show_schedule(replace(MADE, earlier_at=datetime(2026, 3, 2, 12, tzinfo=UTC)))
    assert "made 2026-03-02 12:00 UTC: forecasts, running plan, files and calibration are still those" in (
        capsys.readouterr().out
    )


def test_a_reactive_scaler__is_told_with_what_it_would_cost(capsys: pytest.CaptureFixture[str]) -> None:
    reactive = AlternativeAnswer(
        "a reactive scaler", 174.2, 3, 2.0, "simulated on 4 paths of the forecast", kind=AlternativeKind.REACTIVE
    )
    show_schedule(replace(MADE, alternatives=(reactive,)))
    expected = "a reactive scaler: 174 instance-hours, 2 minutes in violation, 3 rescales; simulated on 4 paths"
    assert expected in capsys.readouterr().out


def test_a_note_of_the_model__is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show_schedule(replace(MADE, notes=("checkpoints are unaligned",)))
    assert "note: checkpoints are unaligned" in capsys.readouterr().out
