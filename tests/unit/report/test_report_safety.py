"""Names, reasons and links come from outside: they must show as text and do nothing."""

from dataclasses import replace

import pytest
from report_page import ReportPage
from sample_decision import SOURCE, hold_decision, sample_decision

from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.page import render_report
from forescale.report.kit.table import safe_href
from planner.decision_basis import CalibrationFacts, Cause, CauseKind, DecisionBasis
from planner.edit_facts import Edit

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "]]>",
    "<a href='javascript:alert(1)'>%{x}</a>",
)


def hostile_decision(text: str) -> DecisionReport:
    """The sample with the text wherever something from outside is shown."""
    decision = sample_decision(source=text)
    steps = tuple(replace(step, recorded=text, bottleneck=text) for step in decision.schedule.steps)
    schedule = replace(
        decision.schedule,
        steps=steps,
        recorded=text,
        alternatives=tuple(replace(a, name=text, recorded=text) for a in decision.schedule.alternatives),
        excuses=tuple(
            replace(e, operator=text, target=text, reason=text, remedy=text) for e in decision.schedule.excuses
        ),
        basis=DecisionBasis(
            causes=(Cause(CauseKind.UNREADABLE_FORECAST, text, detail=text),),
            calibration=CalibrationFacts(text, failure=text, unmeasured=(text,), untracked=text),
            others={text: text},
            edit=Edit(text, text, text),
        ),
    )
    return replace(decision, schedule_id=text, schedule=schedule, states={0: text}, links={text: text})


@pytest.mark.parametrize("text", HOSTILE)
def test_report__shows_hostile_text_as_text(text: str) -> None:
    hostile, tame = ReportPage(render_report(hostile_decision(text))), ReportPage(render_report(hostile_decision("x")))
    assert hostile.elements == tame.elements
    assert {name for name, _ in hostile.attributes} == {name for name, _ in tame.attributes}
    assert " ".join(text.split()) in hostile.text


@pytest.mark.parametrize("text", HOSTILE)
def test_report__keeps_its_figures_readable_with_hostile_names(text: str) -> None:
    page = ReportPage(render_report(hostile_decision(text)))
    assert len(page.figures) == 2
    marks = next(trace for trace in page.figures[0]["data"] if trace["name"] == "deploy")
    assert "<" not in "".join(marks["hovertext"]).replace("<br>", "")


def test_report__writes_figure_data_that_cannot_end_its_script() -> None:
    source = ReportPage(render_report(sample_decision())).figures_source
    assert "step 1, requested" in source
    assert not set("<>&") & set(source)


def test_figure__escapes_the_tags_that_plotly_would_read_in_a_label() -> None:
    decision = sample_decision()
    bad = "<a href='https://evil.example'>ingest"
    steps = tuple(
        replace(
            step,
            plan=replace(step.plan, parallelism={**step.plan.parallelism, bad: 2}),
            replaces=replace(step.replaces, parallelism={**step.replaces.parallelism, bad: 1}),
        )
        for step in decision.schedule.steps
    )
    page = ReportPage(render_report(replace(decision, schedule=replace(decision.schedule, steps=steps))))
    marks = next(trace for trace in page.figures[0]["data"] if trace["name"] == "deploy")
    assert "&lt;a href=" in marks["hovertext"][0]
    assert "<a" not in marks["hovertext"][0]


def test_report__replaces_marks_that_would_turn_the_reading_direction() -> None:
    decision = hold_decision()
    edit = Edit("anna", "", "s-0")
    schedule = replace(
        decision.schedule, basis=replace(decision.schedule.basis, edit=edit), recorded="Safe\u202eevil\u0000\ud800"
    )
    page = render_report(replace(decision, schedule=schedule))
    assert "Safe\ufffdevil\ufffd\ufffd" in page
    assert "\u202e" not in page.replace(page[page.index("<script>") :], "")


def test_report__allows_only_its_own_scripts_and_no_connection() -> None:
    page = ReportPage(render_report(sample_decision()))
    policy = next(value for name, value in page.attributes if name == "content" and value and "default-src" in value)
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert all(source.startswith("'sha256-") for source in directives["script-src"].split())
    assert page.elements.count("script") == 3


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("https://mlflow.example/#/runs/1", "https://mlflow.example/#/runs/1"),
        ("http://127.0.0.1:5000/", "http://127.0.0.1:5000/"),
        ("javascript:alert(1)", ""),
        ("JaVaScRiPt:alert(1)", ""),
        ("data:text/html,x", ""),
        ("file:///etc/passwd", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_link__leads_to_http_only(url: str, href: str) -> None:
    assert safe_href(url) == href


def test_report__shows_a_refused_link_as_text() -> None:
    page = ReportPage(render_report(replace(sample_decision(), links={SOURCE: "javascript:alert(1)"})))
    assert [value for name, value in page.attributes if name == "href"] == ["data:,", "#"]
    assert "javascript:alert(1)" in page.text
