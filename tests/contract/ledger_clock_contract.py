"""What the ledger must do with what was recorded while a clock was ahead."""

from dataclasses import replace
from datetime import timedelta

from ledger_decisions import NOON, after, brought_to, forecast_of, plan_of, schedule_of

from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

PROPOSED, APPROVED, EXPIRED, SUPERSEDED = (
    StepState.PROPOSED,
    StepState.APPROVED,
    StepState.EXPIRED,
    StepState.SUPERSEDED,
)
THREE_DAYS = timedelta(days=3)


class LedgerClockContract:
    """Part of LedgerContract, which has the fixtures."""

    def test_set_aside__lets_later_schedules_count_again(self, ledger: Ledger) -> None:
        ahead = ledger.record_schedule(schedule_of(5, made_at=NOON + THREE_DAYS))
        assert ledger.clock_jumps.newest_ahead("calls", after(0)) == NOON + THREE_DAYS
        apart = ledger.clock_jumps.set_aside("calls", after(0), by="plan")
        assert apart.schedules == (ahead,)
        assert ledger.clock_jumps.newest_ahead("calls", after(0)) is None
        assert [step.state for step in ledger.steps(schedule_id=ahead)] == [SUPERSEDED]
        later = ledger.record_schedule(schedule_of(3, made_at=after(1)))
        assert [step.state for step in ledger.steps(schedule_id=later)] == [PROPOSED]
        ledger.approve_schedule(later, at=after(2), by="anna", why="yes")
        assert [step.state for step in ledger.steps(schedule_id=later)] == [APPROVED]
        assert [entry.id for entry in ledger.schedules("calls")] == [later]

    def test_set_aside__lets_steps_wait_again_that_were_called_off_at_that_time(self, ledger: Ledger) -> None:
        own = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{own}-1", APPROVED)
        assert len(ledger.expire_steps(NOON + THREE_DAYS, by="plan")) == 2
        ledger.record_schedule(schedule_of(made_at=NOON + THREE_DAYS))
        apart = ledger.clock_jumps.set_aside("calls", after(1), by="plan")
        assert apart.steps == (f"{own}-1", f"{own}-2")
        assert [step.state for step in ledger.steps(schedule_id=own)] == [APPROVED, PROPOSED]
        assert ledger.approvals.approver(f"{own}-1") == "anna"
        assert [step.id for step in ledger.due_steps(after(61))] == [f"{own}-1"]

    def test_set_aside__wakes_no_step_whose_time_is_over_or_that_was_called_off_in_time(self, ledger: Ledger) -> None:
        own = ledger.record_schedule(schedule_of(3, 4))
        ledger.transition(f"{own}-2", expected=PROPOSED, to=SUPERSEDED, at=after(1), by="plan", why="another")
        ledger.expire_steps(NOON + THREE_DAYS, by="plan")
        # The first step is for 13:00 to 14:30.
        assert ledger.clock_jumps.set_aside("calls", after(151), by="plan").steps == ()
        assert [step.state for step in ledger.steps(schedule_id=own)] == [EXPIRED, SUPERSEDED]

    def test_set_aside__changes_nothing_that_is_minutes_ahead_or_of_another_topology(self, ledger: Ledger) -> None:
        own = ledger.record_schedule(schedule_of(3, made_at=after(4)))
        ledger.record_schedule(schedule_of(3, topology="other", made_at=NOON + THREE_DAYS))
        assert not ledger.clock_jumps.set_aside("calls", NOON, by="plan")
        assert [entry.id for entry in ledger.schedules("calls")] == [own]
        assert len(ledger.schedules("other")) == 1

    def test_set_aside__leaves_forecasts_of_a_time_ahead_out_until_the_same_is_forecast_in_time(
        self, ledger: Ledger
    ) -> None:
        ahead = replace(forecast_of(), issued_at=NOON + THREE_DAYS)
        ledger.record_forecast(ahead)
        ledger.record_forecast(forecast_of("run-2"))
        assert ledger.clock_jumps.set_aside("calls", NOON, by="forecast").forecasts == ("run-1",)
        assert [entry.id for entry in ledger.forecasts("calls")] == ["run-2"]
        ledger.record_forecast(forecast_of())
        assert [entry.id for entry in ledger.forecasts("calls")] == ["run-1", "run-2"]

    def test_record_schedule__of_what_was_set_aside_proposes_it_again(self, ledger: Ledger) -> None:
        ahead = ledger.record_schedule(schedule_of(3, made_at=NOON + timedelta(minutes=30)))
        ledger.clock_jumps.set_aside("calls", NOON, by="plan")
        assert ledger.record_schedule(schedule_of(3, made_at=after(1))) == ahead
        assert [step.state for step in ledger.steps(schedule_id=ahead)] == [PROPOSED]
        entry = ledger.schedule(ahead)
        assert entry.schedule == schedule_of(3, made_at=after(1))
        assert ledger.schedules("calls") == [entry]

    def test_set_aside__of_a_schedule_by_hand_deployment_keeps_its_steps_called_off(self, ledger: Ledger) -> None:
        own = ledger.record_schedule(schedule_of(3))
        brought_to(ledger, f"{own}-1", APPROVED)
        at = NOON + THREE_DAYS
        times = {"deploy_at": at, "expires_at": at + timedelta(minutes=9), "at": at}
        hand = ledger.record_hand_made_step("r1", plan_of(9), replaces=plan_of(2), by="anna", why="fair", **times)
        for before, to in (
            (APPROVED, StepState.DUE),
            (StepState.DUE, StepState.DEPLOYING),
            (StepState.DEPLOYING, StepState.VERIFIED),
        ):
            ledger.transition(hand, expected=before, to=to, at=at, by="anna", why="")
        assert ledger.step(f"{own}-1").state is SUPERSEDED
        assert ledger.clock_jumps.set_aside("calls", after(1), by="plan").steps == ()
