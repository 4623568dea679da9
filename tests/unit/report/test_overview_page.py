"""The page of all topologies, and that of one: what they say, and that names do nothing."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from report_page import ReportPage
from sample_decision import NOW, TOPOLOGY, sample_decision

from forecasting.drift import ForecastDrift
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.wording import parallelism_change
from forescale.report.overview.actions import Actions, Activity, Review
from forescale.report.overview.overview_page import render_overview
from forescale.report.overview.topology_page import Decided, render_topology_page
from forescale.standing import SourceStanding, Standing
from planner.horizon.budget import Budget
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.step_state import StepState

SCHEDULE = replace(sample_decision().schedule, violation_probability=0.07, violation_minutes=1.5)
MADE = ScheduleEntry("s1", SCHEDULE, (), "")
FIRST = SCHEDULE.steps[0]
STEP = StepEntry(
    "s1-1",
    "s1",
    1,
    TOPOLOGY,
    FIRST.deploy_at,
    FIRST.deploy_at + timedelta(hours=1),
    FIRST.plan,
    FIRST.replaces,
    StepState.PROPOSED,
    "",
    NOW,
    "forescale",
    0,
)
AFTER = replace(STEP, id="s1-2", position=2)
STANDING = Standing(
    TOPOLOGY, NOW, schedule=MADE, ahead=(STEP, AFTER), budget=Budget(0.005, past_minutes=10_000, used_minutes=25)
)
DRIFTED = SourceStanding("receive", drifts=(ForecastDrift(21_600, True, "the p95 was exceeded", 0.85, 1.2, 1.0, 60),))


def overview(*standings: Standing) -> ReportPage:
    return ReportPage(
        render_overview(
            standings, NOW, page_of=lambda each: "/p", picture_of=lambda each: "/s" if each.schedule else ""
        )
    )


def test_overview__says_what_runs_what_is_next_how_sure_and_what_of_the_budget_is_used() -> None:
    text = overview(STANDING).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "1 topology: 1 with a step to review, none with an alarm" in text
    assert f"{SCHEDULE.current.brief()} as of Thu 23 Oct 21:30" in text
    assert "proposed" in text
    assert "1 step after it" in text
    assert "1.5 min late expected any: 7 %" in text
    assert "50 % 25 of 10,000 known minutes; 50 min allowed" in text  # .005 of 10,000 are 50, and 25 / 50


def test_overview__says_in_airflow_what_is_under_way_and_leads_to_what_can_be_done() -> None:
    reviews = [Review("one", "/form-1"), Review("two", "/form-2")]
    under_way = [Activity("aggregate", 20, None), Activity("plan", 30, 75)]
    actions = Actions(under_way, reviews, "/reviews", "/dags/aggregate", {"forecast": "/runs/7"})
    page = ReportPage(render_overview([], NOW, page_of=str, picture_of=str, actions=actions))
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Under way: counting events into the arrival history, for 20 s so far; the first run here takes" in text
    assert "Under way: planning, for 30 s so far; it usually takes about 1 min 15 s." in text
    assert "The last run of forecast (forecasting) failed." in text
    assert "Answer 2 reviews · See why forecast failed · Decide now" in text
    assert "Decide now" not in overview().text


def test_overview__names_those_with_an_alarm_first() -> None:
    alarmed = Standing("zebra", NOW, sources=(DRIFTED,))
    text = overview(STANDING, alarmed).text
    assert "2 topologies: 1 with a step to review, 1 with an alarm" in text
    assert text.index("zebra") < text.index(TOPOLOGY)
    assert "the p95 was exceeded" in text


def test_overview__shows_what_nobody_knows_as_unknown() -> None:
    text = overview(Standing("new", NOW, budget=Budget(0.005))).text
    assert "nothing was decided yet" in text
    assert "no lag is known for the past 7 days" in text
    assert "0 %" not in text


def test_overview__of_nothing_says_what_to_do() -> None:
    assert "forescale init" in overview().text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"])
def test_pages__show_hostile_text_as_text(text: str) -> None:
    def page(said: str) -> list[ReportPage]:
        stands = replace(STANDING, topology=said, no_file=said)
        schedule = replace(SCHEDULE, recorded=said)
        decisions = [Decided(replace(MADE, schedule=schedule), {said: 1}, "/d")]
        one = render_topology_page(stands, decisions, NOW, picture="/s", pages={said: "/h"}, overview="/")
        return [overview(stands), ReportPage(one)]

    for hostile, tame in zip(page(text), page("x"), strict=True):
        assert hostile.elements == tame.elements
        assert {name for name, _ in hostile.attributes} == {name for name, _ in tame.attributes}
        assert text in hostile.text


def test_topology_page__gives_each_alarm_a_line_of_its_own() -> None:
    page = render_topology_page(
        replace(STANDING, damaged=("row 1 is damaged; restore it", "row 2 is damaged; restore it")),
        [],
        NOW,
        picture="",
        pages={},
        overview="/",
    )
    assert "<li>row 1 is damaged; restore it</li><li>row 2 is damaged; restore it</li>" in page


def test_topology_page__links_to_the_reports_that_are_there() -> None:
    decisions = [Decided(MADE, {"proposed": 1}, "/reports/s1"), Decided(replace(MADE, id="s0"), {}, "")]
    one = ReportPage(render_topology_page(STANDING, decisions, NOW, picture="", pages={}, overview="/scaling/"))
    assert [value for name, value in one.attributes if name == "href"] == ["data:,", "/scaling/", "/reports/s1"]
    assert "1 step proposed" in one.text


def test_overview__tells_the_price_of_a_violation_where_it_has_no_share() -> None:
    priced = Budget(0.005, past_minutes=10_000, used_minutes=25, price_h=2.5)
    text = overview(replace(STANDING, budget=priced)).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "25 of 10,000 known minutes each costs 2.5 instance-hours" in text
    assert "allowed " not in text.partition("Alarms")[2]


def test_overview__shows_the_step_that_is_deployed_before_those_that_wait() -> None:
    deploying = replace(AFTER, state=StepState.DEPLOYING)
    text = overview(replace(STANDING, ahead=(STEP, deploying))).text
    assert ", deploying" in text
    assert "1 topology: 1 with a step to review" in text  # the other one still waits


def test_overview__tells_of_a_step_whose_time_went_by() -> None:
    expired = replace(STEP, state=StepState.EXPIRED, deploy_at=NOW)
    text = overview(replace(STANDING, ahead=(), lost=(expired,))).text
    assert "none the plan is held the step of Thu 21:30 expired" in text


def test_overview__shows_the_step_that_shadow_mode_would_take_next() -> None:
    # Those of 21:40, 03:40, 09:40 and 15:40; at 22:30 three are to come.
    shadow = Standing(TOPOLOGY, NOW + timedelta(hours=1), schedule=replace(MADE, shadow=True))
    change = ", ".join(parallelism_change(SCHEDULE.steps[1].replaces, SCHEDULE.steps[1].plan))
    text = overview(shadow).text.replace("\N{NO-BREAK SPACE}", " ")
    assert f", shadow {change} 2 steps after it" in text.replace("\N{NO-BREAK SPACE}", " ")
    over = replace(shadow, at=SCHEDULE.steps[-1].deploy_at)
    assert "none the plan is held" in overview(over).text


def test_actions__keep_the_review_that_decides_of_each_topology_that_asks() -> None:
    # Every hour a schedule takes the place of the one before, whose review Airflow keeps open.
    reviews = [Review("one", "/old"), Review("two", "/held"), Review("", "/unknown"), Review("one", "/new")]
    actions = Actions([], reviews, "/reviews", "/dags/aggregate").that_decide(lambda name: name == "one")
    assert [each.form for each in actions.reviews] == ["/unknown", "/new"]


def test_topology_page__begins_with_its_state_and_its_decision_in_local_time() -> None:
    # 21:40 UTC on 23 October is 23:40 in Zurich, where summer time ends three days later.
    proposal = replace(sample_decision().proposal, local=LocalTime("Europe/Zurich"), states={})
    stands = replace(STANDING, timezone="Europe/Zurich", sources=(DRIFTED,))
    reviews = [Review("another", "/form-1"), Review(TOPOLOGY, "/form-2")]
    page = render_topology_page(
        stands,
        [],
        NOW,
        proposal=proposal,
        picture="/s",
        pages={},
        overview="/",
        report="/reports/s1",
        actions=Actions([], reviews, "/reviews", "/dags/aggregate"),
    )
    text = ReportPage(page).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Thu 23 Oct 23:30 · times in Europe/Zurich" in text
    assert "Approve, veto or edit all 4 steps by Thu 23 Oct 23:40, in 10 min." in text
    assert "1 proposed Thu 23:40 16 → 8" in text
    assert text.index("Runs") < text.index("Asked of you") < text.index("Alarms")
    assert '<a class="button" href="/form-2" target="_top">Answer in Airflow</a>' in page
    assert '<a href="/form-2" target="_top">Answer 1 review</a>' in page


def test_topology_page__leads_to_where_airflow_asks_again_where_no_review_is_open() -> None:
    proposal = replace(sample_decision().proposal, states={})

    def button(under_way: list[Activity], *reviews: Review) -> str:
        actions = Actions(under_way, reviews, "/reviews", "/dags/aggregate", ask="/dags/plan")
        page = render_topology_page(
            STANDING, [], NOW, proposal=proposal, picture="", pages={}, overview="/", actions=actions
        )
        (found,) = re.findall('<a class="button" href="([^"]*)"[^>]*>([^<]*)<', page)
        return ": ".join(found)

    # Left undecided, or answered by an edit that was refused
    assert button([], Review("another", "/form-1")) == "/dags/plan: Have Airflow ask again (button Trigger)"
    assert button([], Review(TOPOLOGY, "/form-2")) == "/form-2: Answer in Airflow"
    # Airflow is about to ask, or does not say which topology it asks about.
    assert button([Activity("plan", 3, None)]) == "/reviews: Answer in Airflow"
    assert button([], Review("", "/form-3")) == "/reviews: Answer in Airflow"
