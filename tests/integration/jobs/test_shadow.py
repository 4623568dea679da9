"""Shadow mode through several days: the real ledger, the simulated cluster, and what happens where it acts."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from shadow_days import FIRST, MONDAY, NAME, install, plan_now, plan_until, set_mode, write_arrivals

from forescale.jobs.deploy import deploy, deploy_due
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.requested_deployment import request_deployment
from forescale.jobs.review import review
from forescale.jobs.shadow import Shadow, shadow
from forescale.settings import Settings
from forescale.situation.past import past_minutes
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.clock import TraceClock
from planner.clusters.simulator import SimulatedCluster
from planner.decision_basis import BudgetFacts
from planner.errors import LedgerError, PlanError
from planner.ledger.minute_records import MinuteCount
from planner.ledger.step_state import StepState

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

END = MONDAY + timedelta(days=3)
TUESDAY, WEDNESDAY = date(2026, 3, 3), date(2026, 3, 4)


def cluster(settings: Settings) -> SimulatedCluster:
    found = cluster_of(topology_config(NAME, settings), settings, clock_of(settings))
    assert isinstance(found, SimulatedCluster)
    return found


def look_on(until: datetime, made: ProposedSchedule) -> None:
    assert made.entry.shadow


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Three days in shadow mode: whole ones are Tuesday and Wednesday."""
    made = install(tmp_path_factory.mktemp("shadow"), "shadow")
    plan_until(made, END, look_on)
    plan_now(made)
    return made


@pytest.fixture(scope="module")
def found(settings: Settings) -> Shadow:
    return shadow(Workspace(settings), NAME)


def test_whole_days__are_accrued_and_what_really_ran_is_known_to_the_minute(found: Shadow) -> None:
    assert [day.day for day in found.days] == [TUESDAY, WEDNESDAY]
    assert found.pending == {}
    for day in found.days:
        assert (day.observed_minutes, day.measured_minutes) == (1440, 1440)
        # 1 + 8 instances all day long carry 80 tuples a second, and 60 come at most.
        assert day.real_instance_hours == pytest.approx(9 * 24)
        assert (day.real_violation_minutes, day.real_rescales) == (0, 0)


def test_the_budget__is_paced_by_the_shadow_and_the_ledger_keeps_what_ran(settings: Settings) -> None:
    ledger = ledger_of(settings)
    last = max(ledger.schedules(NAME), key=lambda made: made.schedule.made_at)
    # Wednesday was accrued by the last plan, after that had counted Tuesday.
    made_at = last.schedule.made_at
    assert past_minutes(ledger, NAME, made_at, shadow=True) == MinuteCount(1440, 0)
    assert past_minutes(ledger, NAME, made_at + timedelta(minutes=1), shadow=True) == MinuteCount(2 * 1440, 0)
    assert last.schedule.basis.budget == BudgetFacts(1440, 0, pytest.approx(7.2), in_shadow=True)
    # From 6:00 on Monday, and the minute that ends then.
    assert ledger.minutes.count(NAME, MONDAY, END) == MinuteCount(66 * 60 + 1, 0)


def test_the_cluster__runs_what_it_ran(settings: Settings) -> None:
    assert dict(cluster(settings).state().plan.parallelism) == {"read": 1, "count": 8}


def test_the_shadow__rescales_twice_a_day_and_costs_what_its_steps_say(settings: Settings, found: Shadow) -> None:
    span = ledger_of(settings).shadow.span(NAME)
    assert span is not None
    assert span.start == FIRST
    for day in found.days:
        start = datetime(day.day.year, day.day.month, day.day.day, tzinfo=UTC)
        # A minute has the plan that was asked for at its beginning at the latest: steps are followed once a minute.
        begun = [start + timedelta(minutes=minute, microseconds=1) for minute in range(1440)]
        assert day.instance_hours == pytest.approx(sum(span.plan_at(at).instances for at in begun) / 60)
        # By day 60 tuples a second keep 6 instances of count busy, and 7 are enough with errors of the capacity; by
        # night 10 keep one busy, and 2 are enough: 12 hours of 8 instances and 12 of 3, and at most an hour more of the
        # larger plan.
        assert 12 * 8 + 12 * 3 - 1 <= day.instance_hours <= 13 * 8 + 11 * 3
        assert day.rescales == 2
        assert day.violation_minutes == 0


def test_what_the_shadow_says__is_what_happens_where_it_acts(found: Shadow, tmp_path: Path) -> None:
    acting = install(tmp_path, "act")
    clock = TraceClock(acting.clock_file)

    def act(until: datetime, made: ProposedSchedule) -> None:
        review(Workspace(acting), made.schedule_id, approve=True, by="anna")
        for step in made.steps:
            if step.deploy_at < until:
                clock.advance_to(step.deploy_at)
                deploy_due(Workspace(acting), NAME)

    plan_until(acting, END, act)
    for day in found.days:
        start = datetime(day.day.year, day.day.month, day.day.day, tzinfo=UTC)
        record = cluster(acting).record(start, start + timedelta(days=1))
        # A step that is asked for within a minute counts from that minute on in both.
        assert day.instance_hours == pytest.approx(record.instance_hours, abs=0.3)
        assert day.violation_minutes == record.violations(120).size


def test_a_shadow_day__has_the_downtime_that_deployments_taught(tmp_path: Path) -> None:
    """The file says 600 s; three deployments of 30 s and the file's two teach 30 s. A stop of 600 s leaves eight
    minutes or more beyond the allowed 120 s of lag.
    """
    settings = install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("downtime_s: 30, lead_s", "downtime_s: 600, lead_s"))
    for number, count in enumerate((7, 6, 8)):
        clock_of(settings).wait(600)
        asked = request_deployment(
            Workspace(settings), NAME, parallelism={"count": count}, deploy_at=None, by="anna", request_id=f"r{number}"
        )
        assert deploy(Workspace(settings), asked.step_id).state is StepState.VERIFIED
    file.write_text(file.read_text().replace("mode: act", "mode: shadow"))
    plan_until(settings, MONDAY + timedelta(days=2), look_on)
    plan_now(settings)
    (day,) = shadow(Workspace(settings), NAME).days
    assert day.rescales > 0
    assert day.violation_minutes < 8


def test_accruing_again__changes_nothing(settings: Settings, found: Shadow) -> None:
    before = ledger_of(settings).shadow.days(NAME)
    assert shadow(Workspace(settings), NAME) == found
    assert ledger_of(settings).shadow.days(NAME) == before
    assert [day.day for day in shadow(Workspace(settings), NAME, days=1).days] == [WEDNESDAY]


def test_the_report__says_that_nothing_is_deployed_and_shows_the_days(settings: Settings, found: Shadow) -> None:
    made = plan_now(settings)
    page = made.report.read_text(encoding="utf-8")
    assert "Would " in page
    assert "in shadow mode (planning.mode) nothing is deployed" in page
    assert "Shadow mode so far" in page
    assert "2026-03-04" in page


def test_steps_of_a_shadow__are_refused_by_name_and_left_alone_by_all_else(tmp_path: Path) -> None:
    settings = install(tmp_path, "shadow")
    made = plan_now(settings)
    step = made.steps[0].id
    with pytest.raises(LedgerError, match=r"was made in shadow mode and is never deployed; set planning.mode: act"):
        review(Workspace(settings), made.schedule_id, approve=True, by="anna")
    clock_of(settings).wait(86400)
    with pytest.raises(PlanError, match=rf"step {step} was made in shadow mode and is never deployed"):
        deploy(Workspace(settings), step)
    assert deploy_due(Workspace(settings), NAME).deployed == ()
    # Nor once the topology is acted on, before or after the first plan for that.
    set_mode(tmp_path, "act")
    assert deploy_due(Workspace(settings), NAME).deployed == ()
    acted_on = plan_now(settings)
    assert not acted_on.entry.shadow
    with pytest.raises(PlanError, match=r"never deployed"):
        deploy(Workspace(settings), step)
    assert {s.state for s in ledger_of(settings).steps(schedule_id=made.schedule_id)} <= {
        StepState.SHADOW,
        StepState.SUPERSEDED,
    }


def test_what_was_approved_before__is_held_in_shadow_mode_but_people_deploy_as_ever(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    made = plan_now(settings)
    review(Workspace(settings), made.schedule_id, approve=True, by="anna")
    set_mode(tmp_path, "shadow")
    TraceClock(settings.clock_file).advance_to(made.steps[0].deploy_at)
    step = made.steps[0].id
    done = deploy_due(Workspace(settings), NAME)
    assert (done.deployed, set(done.held)) == ((), {step})
    with pytest.raises(PlanError, match=r"topology .pair. is in shadow mode; set planning.mode: act"):
        deploy(Workspace(settings), step)
    asked = request_deployment(
        Workspace(settings), NAME, parallelism={"count": 7}, deploy_at=None, by="anna", request_id="r1"
    )
    assert deploy(Workspace(settings), asked.step_id).state is StepState.VERIFIED
    # The first shadow schedule calls the held ones off.
    shadowed = plan_now(settings)
    assert shadowed.entry.shadow
    assert ledger_of(settings).step(step).state is StepState.SUPERSEDED
    assert ledger_of(settings).schedule(shadowed.schedule_id).schedule.current.parallelism["count"] == 7


def test_a_day__waits_for_its_history_and_says_what_it_lacks(tmp_path: Path) -> None:
    settings = install(tmp_path, "shadow")
    plan_now(settings)
    TraceClock(settings.clock_file).advance_to(MONDAY + timedelta(days=2, hours=1))
    lost = MONDAY + timedelta(days=1, hours=3)
    start, end = MONDAY, MONDAY + timedelta(days=2)

    # Four hours of twenty-four are 17 %.
    write_arrivals(settings, start, end, alive=((start, lost), (lost + timedelta(hours=4), end)))
    told = shadow(Workspace(settings), NAME)
    assert told.days == ()
    assert told.pending["2026-03-03"].startswith("the history of source 'read' lacks 17% of its windows")

    # Two are 8 %: they are bridged, and the row says so.
    write_arrivals(settings, start, end, alive=((start, lost), (lost + timedelta(hours=2), end)))
    (day,) = shadow(Workspace(settings), NAME).days
    (note,) = day.notes
    assert note.startswith("read: 120 of ")
    assert note.endswith(" windows of 60 s are missing, and bridged in straight lines")


def test_errors__name_what_is_lacking_and_the_remedy(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    with pytest.raises(PlanError, match=r"'pair' is not in shadow mode; set planning.mode: shadow in its file"):
        shadow(Workspace(settings), NAME)
    set_mode(tmp_path, "shadow")
    with pytest.raises(PlanError, match=r"nothing was planned for topology 'pair' in shadow mode yet; run `forescale"):
        shadow(Workspace(settings), NAME)
