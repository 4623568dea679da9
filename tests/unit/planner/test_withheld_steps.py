"""Due steps that wait while the job needs what they would take away, on the real simulator with a real ledger."""

from datetime import timedelta
from pathlib import Path

import pytest
from causes import cause_of
from guard_bench import Bench, after, plan_of

from modeling.inputs.physical_plan import PhysicalPlan
from planner.deployment import deploy_step
from planner.guard_facts import Need, Reason, ReasonKind
from planner.ledger.entries import ForecastEntry, StepEntry
from planner.ledger.step_state import Moved, StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep
from planner.withheld_steps import withheld_because, withhold

A_TEST = Reason(ReasonKind.BACKLOG_DRAINS, observed=7.0)


def scheduled(bench: Bench, *steps: tuple[float, PhysicalPlan], issued: float | None = None) -> list[str]:
    """An approved schedule of plans by the minute they are deployed at, made now. Ids of its steps. issued: minute of
    its forecast, none where left out.
    """
    now, end, current = bench.clock.now(), after(24 * 60), bench.cluster.state().plan
    before, made, forecasts = current, [], []
    for minute, plan in steps:
        at = after(minute)
        made.append(
            ScheduledStep(at, at, at, end, plan, before, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned")
        )
        before = plan
    if issued is not None:
        entry = ForecastEntry("forecast", "pair", "read", after(issued), end, "run", "1", "folder", "digest")
        forecasts = [bench.ledger.record_forecast(entry)]
    whole = ScalingSchedule("pair", now, now, end, 0.95, current, tuple(made), 1.0, "planned")
    schedule_id = bench.ledger.record_schedule(whole, forecasts=forecasts)
    bench.ledger.approve_schedule(schedule_id, at=now, by="anna", why="as planned")
    return [f"{schedule_id}-{number}" for number in range(1, len(steps) + 1)]


def why(bench: Bench, step: StepEntry) -> Reason | None:
    return withheld_because(step, bench.topology, bench.guarded.terms, bench.ledger, bench.cluster, bench.clock.now())


def minute_of(bench: Bench) -> float:
    return (bench.clock.now() - after(0)).total_seconds() / 60


@pytest.fixture
def healed(tmp_path: Path) -> Bench:
    """30/s come to two instances that do 20/s: the guard makes them five in minute 5, and 3,000 and more drain."""
    bench = Bench(tmp_path, [30.0] * 60, work=2)
    while bench.work == 2:
        bench.until(minute_of(bench) + 1)
    return bench


def test_a_step_that_takes_back_what_the_guard_has_added__waits_until_that_has_settled(healed: Bench) -> None:
    (step_id,) = scheduled(healed, (minute_of(healed), plan_of(4)), issued=0)
    step = healed.ledger.step(step_id)
    waits = why(healed, step)
    assert waits is not None
    assert (waits.kind, 200 <= (waits.observed or 0.0) < 300) == (ReasonKind.UNFORESEEN, True)
    # Five minutes later nothing waits: 20/s of 50/s were left for what did.
    healed.until(11)
    assert why(healed, step) is None


def test_a_step_that_its_forecast_made_knowing_the_guard__waits_while_a_backlog_drains(healed: Bench) -> None:
    (step_id,) = scheduled(healed, (minute_of(healed), plan_of(4)), issued=minute_of(healed))
    ledger = healed.ledger
    assert why(healed, ledger.step(step_id)) is None  # nothing is measured yet of what runs for ten seconds
    healed.until(8)
    reason = why(healed, ledger.step(step_id))
    assert reason is not None
    assert reason.kind is ReasonKind.BACKLOG_DRAINS
    withhold(ledger.step(step_id), reason, ledger, healed.clock.now(), "deploy")
    step = ledger.step(step_id)
    assert (step.state, step.withheld) == (StepState.WITHHELD, reason)
    # By then nothing waits, and four do 40/s.
    healed.until(12)
    assert why(healed, step) is None
    assert deploy_step(step_id, ledger, healed.cluster, healed.clock, by="deploy").state is StepState.VERIFIED
    assert healed.work == 4


def test_a_step_for_less_than_what_comes__waits_until_the_next_one_takes_its_place(healed: Bench) -> None:
    healed.until(25)
    lower, higher = scheduled(healed, (25, plan_of(2)), (26, plan_of(7)), issued=25)
    ledger = healed.ledger
    reason = why(healed, ledger.step(lower))
    assert reason is not None
    assert reason.need == Need(*map(pytest.approx, (30.0, 0.0, 30.0, 20.0)))
    withhold(ledger.step(lower), reason, ledger, healed.clock.now(), "deploy")
    healed.clock.wait(60)
    step = ledger.take_skipped_places(ledger.step(higher), at=healed.clock.now(), by="deploy")
    assert step.replaces.same_parallelism(plan_of(5))
    assert ledger.step(lower).state is StepState.SUPERSEDED
    assert why(healed, step) is None
    assert deploy_step(higher, ledger, healed.cluster, healed.clock, by="deploy").state is StepState.VERIFIED


def test_a_withheld_step__does_not_keep_the_guard_away(tmp_path: Path) -> None:
    # 10/s, and from minute 11 on 60/s, to four instances. What was planned for 10/s is due by then.
    bench = Bench(tmp_path, [10.0] * 11 + [60.0] * 40, work=4)
    bench.until(10)
    (step_id,) = scheduled(bench, (13, plan_of(2)), issued=10)
    turns = bench.until(15)
    acted = [turn for turn in turns if turn.action is not None]
    assert len(acted) == 1
    assert bench.work > 6
    # It takes back what the guard has added: it stays approved, and waits for the load to go.
    step = bench.ledger.step(step_id)
    assert (step.state, step.moved) == (StepState.APPROVED, Moved.AGAINST_GUARD)


def test_nothing_is_withheld__where_the_guard_does_not_look(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [30.0] * 60, work=4)
    bench.clock.wait(600)
    (step_id,) = scheduled(bench, (10, plan_of(2)))
    assert why(bench, bench.ledger.step(step_id)) is None


def test_a_step_that_is_not_due__is_not_looked_at(healed: Bench) -> None:
    (step_id,) = scheduled(healed, (50, plan_of(2)), issued=0)
    step = healed.ledger.step(step_id)
    assert why(healed, step) is None
    assert healed.ledger.take_skipped_places(step, at=healed.clock.now(), by="deploy") == step
    assert step.deploy_at - healed.clock.now() > timedelta(minutes=30)


def test_a_step__follows_on_what_runs_once_and_past_withheld_steps_only(healed: Bench) -> None:
    healed.until(25)
    lower, same, higher = scheduled(healed, (25, plan_of(2)), (26, plan_of(2)), (27, plan_of(7)), issued=25)
    ledger = healed.ledger
    withhold(ledger.step(lower), A_TEST, ledger, healed.clock.now(), "deploy")
    healed.clock.wait(60)
    assert ledger.expire_steps(healed.clock.now(), by="deploy", topology="pair") == [lower]
    step = ledger.take_skipped_places(ledger.step(same), at=healed.clock.now(), by="deploy")
    assert step.replaces.same_parallelism(plan_of(5))
    events = ledger.events(same)
    # A second process that looks meanwhile finds nothing left to do.
    assert ledger.take_skipped_places(ledger.step(same), at=healed.clock.now(), by="deploy") == step
    assert ledger.events(same) == events
    # Deployed, it is what the step after it was made for.
    assert deploy_step(same, ledger, healed.cluster, healed.clock, by="deploy").state is StepState.VERIFIED
    healed.clock.wait(60)
    step = ledger.take_skipped_places(ledger.step(higher), at=healed.clock.now(), by="deploy")
    assert step.replaces.same_parallelism(plan_of(2))


def test_a_step_after_missed_ones__follows_on_what_runs(healed: Bench) -> None:
    healed.until(25)
    first, second, third = scheduled(healed, (25, plan_of(4)), (26, plan_of(6)), (27, plan_of(7)), issued=25)
    ledger = healed.ledger
    for missed in (first, second):  # nothing could be deployed for two minutes, and five still run
        moment = healed.clock.now()
        ledger.transition(missed, expected=StepState.APPROVED, to=StepState.EXPIRED, at=moment, by="deploy", why="late")
    healed.clock.wait(120)
    step = ledger.take_skipped_places(ledger.step(third), at=healed.clock.now(), by="deploy")
    assert (step.replaces.parallelism, step.moved) == (plan_of(5).parallelism, Moved.PAST_EXPIRED)
    assert deploy_step(third, ledger, healed.cluster, healed.clock, by="deploy").state is StepState.VERIFIED


def test_a_step_after_a_missed_one__is_refused_where_somebody_else_has_changed_the_plan(healed: Bench) -> None:
    healed.until(25)
    first, second = scheduled(healed, (25, plan_of(4)), (26, plan_of(7)), issued=25)
    ledger, now = healed.ledger, healed.clock.now()
    ledger.transition(first, expected=StepState.APPROVED, to=StepState.EXPIRED, at=now, by="deploy", why="late")
    healed.cluster.apply(plan_of(6), expected=plan_of(5))
    healed.clock.wait(90)
    ledger.take_skipped_places(ledger.step(second), at=healed.clock.now(), by="deploy")
    deployment = deploy_step(second, ledger, healed.cluster, healed.clock, by="deploy")
    assert deployment.state is StepState.ROLLED_BACK
    assert "runs read 1 · work 6, not read 1 · work 5 as the decision assumed" in cause_of(deployment).detail


def test_steps_that_are_called_off_for_a_later_one__wait_on_where_that_cannot_be_kept(
    healed: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    healed.until(25)
    lower, higher = scheduled(healed, (25, plan_of(2)), (26, plan_of(7)), issued=25)
    ledger = healed.ledger
    withhold(ledger.step(lower), A_TEST, ledger, healed.clock.now(), "deploy")
    # As if the next step were due a moment before the time of this one ends.
    ledger.transition(
        higher, expected=StepState.APPROVED, to=StepState.DUE, at=healed.clock.now(), by="deploy", why="due"
    )

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.ledger.skipped_places.assume", killed)
    with pytest.raises(KeyboardInterrupt):
        ledger.take_skipped_places(ledger.step(higher), at=after(26), by="deploy")
    assert ledger.step(lower).state is StepState.WITHHELD


def test_withholding__that_another_process_was_quicker_with_is_recorded_once(healed: Bench) -> None:
    healed.until(25)
    (step_id,) = scheduled(healed, (25, plan_of(2)), issued=25)
    read_before = healed.ledger.step(step_id)
    for _ in range(2):
        withhold(read_before, A_TEST, healed.ledger, healed.clock.now(), "deploy")
    step = healed.ledger.step(step_id)
    assert (step.state, step.withheld) == (StepState.WITHHELD, A_TEST)
    assert [event.to_state for event in healed.ledger.events(step_id)].count(StepState.WITHHELD) == 1
