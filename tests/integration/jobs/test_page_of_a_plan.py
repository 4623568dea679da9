"""The figures of a plan's page are those of the schedule that the ledger keeps, from the planner to the browser."""

import re
from pathlib import Path

import pytest
from report_page import ReportPage
from shadow_days import HIGH, NAME, install, plan_now

from forescale.cli.schedule_answer import schedule_answer
from forescale.report.kit.figure import plotly_time
from forescale.wiring.parts import ledger_of
from modeling.wording import count_of

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]
NBSP = "\N{NO-BREAK SPACE}"


def test_the_capacity_in_the_figure__is_that_of_the_steps_in_the_table(tmp_path: Path) -> None:
    """An instance of count takes 10/s, of which .85 are aimed for; a load of 10/s keeps it 100 % busy."""
    settings = install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("max_lag_s:", "max_utilisation: 0.85, max_lag_s:"))
    made = plan_now(settings)
    schedule = ledger_of(settings).schedule(made.schedule_id).schedule
    page = ReportPage(made.report.read_text(encoding="utf-8"))
    text = page.text.replace(NBSP, " ")
    (drawn,) = (trace for trace in page.figures[0]["data"] if trace["name"] == "capacity")
    capacity_per_s = dict(zip(drawn["x"], drawn["y"], strict=True))
    assert schedule.steps
    for plan, start, _ in schedule.plans_running():
        assert capacity_per_s[plotly_time(start)] == pytest.approx(8.5 * plan.parallelism["count"], rel=1e-3)
    for number, step in enumerate(schedule.steps, start=1):
        load_per_s = step.load_per_s["read"]
        assert load_per_s / step.utilisation == pytest.approx(10 * step.plan.parallelism["count"], rel=1e-3)
        row = f"{step.replaces.instances} → {step.plan.instances} count"
        (busy,) = re.findall(rf"{number} proposed \w+ \S+ {row} \S+ → \S+ \S+/s (\d+) %", text)
        assert int(busy) == round(100 * step.utilisation)
    assert max(step.load_per_s["read"] for step in schedule.steps) == pytest.approx(HIGH, rel=0.05)
    assert f"{count_of(schedule.current.instances, 'instance')}: up to " in drawn["text"][0].replace(NBSP, " ")


def test_what_the_model_leaves_out__is_said_by_the_plan_and_on_its_page(tmp_path: Path) -> None:
    """How evenly a tuple becomes two is unknown, and taken as even."""
    settings = install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("{from: read, to: count}", "{from: read, to: count, selectivity: 2}"))
    made = schedule_answer(plan_now(settings))
    (note,) = (each for each in made.notes if "selectivity_cv2" in each)
    assert "is assumed to make 2 on read->count" in note
    assert note.replace(">", "&gt;") in made.report.read_text(encoding="utf-8")
