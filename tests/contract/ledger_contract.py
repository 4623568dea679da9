"""What the ledger must do on every database. A subclass gives its URL; see test_ledger_contract.py."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from contract.ledger_clock_contract import LedgerClockContract
from contract.ledger_records_contract import LedgerRecordsContract
from contract.ledger_steps_contract import LedgerStepsContract
from first_ledger import fill_first_ledger
from ledger_decisions import NOON, after, asked_by_hand, brought_to, forecast_of, plan_of, schedule_of, steps_at

from planner.decision_basis import CalibrationFacts, DecisionBasis
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.step_cause import ReviewCause, ReviewCauseKind, StepCause, StepCauseKind

PROPOSED, APPROVED, DUE, DEPLOYING = StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING


class LedgerContract(LedgerStepsContract, LedgerRecordsContract, LedgerClockContract):
    """Subclass it as `Test…` with the fixture `url` of an empty database."""

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.fixture
    def ledger(self, url: str) -> Ledger:
        return Ledger(url)

    def test_record_schedule__gives_back_the_same_schedule(self, ledger: Ledger, url: str) -> None:
        forecast_id = ledger.record_forecast(forecast_of())
        schedule_id = ledger.record_schedule(schedule_of(3, 4), forecasts=[forecast_id], report="reports/1.html")
        entry = Ledger(url).schedule(schedule_id)
        assert entry.schedule == schedule_of(3, 4)
        assert entry.forecasts == ("run-1",)
        assert entry.report == "reports/1.html"
        assert ledger.forecasts("calls") == [forecast_of()]

    def test_upgrade__of_the_first_revision_keeps_all_that_it_held(self, url: str) -> None:
        fill_first_ledger(url)
        ledger = Ledger(url)
        entry = ledger.schedule("s1")
        assert (entry.forecasts, entry.report, entry.shadow) == (("f1",), "reports/s1.html", False)
        assert entry.schedule.current == plan_of(2)
        # It was short by 90 s, and told of a bottleneck where an operator and a reason are told now.
        assert entry.schedule.violation_minutes == 1.5
        [excuse] = entry.schedule.excuses
        assert (excuse.operator, excuse.target) == ("transcribe", "utilisation")
        [forecast] = ledger.forecasts("calls")
        assert forecast == replace(forecast_of(), id="f1")
        [step] = ledger.steps()
        assert (step.id, step.schedule_id, step.state, step.plan) == ("s1-1", "s1", StepState.DEPLOYING, plan_of(3))
        assert [event.to_state for event in ledger.events("s1-1")] == [DEPLOYING]
        known = ledger.outcome("s1-1")
        assert known is not None
        assert (known.verified_at, known.downtime_s, known.measured) == (after(5), 25.0, {"latency_s": float("inf")})
        # It goes on from there.
        moved = ledger.transition(
            "s1-1", expected=DEPLOYING, to=StepState.VERIFIED, at=after(6), by="deployer", why="it holds"
        )
        assert moved.state is StepState.VERIFIED
        assert len(ledger.events("s1-1")) == 2

    def test_forecast_topologies__names_each_once(self, ledger: Ledger) -> None:
        assert ledger.forecast_topologies() == []
        for number, name in enumerate(("web", "calls", "calls")):
            ledger.record_forecast(replace(forecast_of(), id=f"run-{number}", topology=name))
        assert ledger.forecast_topologies() == ["calls", "web"]

    def test_record_schedule__proposes_its_steps_until_the_next_ones_time(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4))
        first, second = ledger.steps(schedule_id=schedule_id)
        assert [first.id, second.id] == [f"{schedule_id}-1", f"{schedule_id}-2"]
        assert (first.deploy_at, first.expires_at) == (
            after(60),
            after(120),
        )  # needed until 150, but the next is at 120
        assert (second.deploy_at, second.expires_at) == (after(120), after(210))
        assert first.plan == plan_of(3)
        assert first.replaces == plan_of(2)
        assert (first.state, first.attempt, first.schedule_id) == (PROPOSED, 0, schedule_id)

    def test_record_schedule__twice_is_once(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3))
        brought_to(ledger, f"{schedule_id}-1", APPROVED)
        assert ledger.record_schedule(schedule_of(3, made_at=after(1))) == schedule_id
        assert [step.state for step in ledger.steps(topology="calls")] == [APPROVED]
        assert len(ledger.schedules("calls")) == 1

    def test_record_schedule__by_two_planners_that_calibrated_at_once_is_one_decision(self, ledger: Ledger) -> None:
        one, other = (
            replace(schedule_of(3), basis=DecisionBasis(forecasts=("f1",), calibration=CalibrationFacts(version)))
            for version in "12"
        )
        assert ledger.record_schedule(one) == ledger.record_schedule(other)
        assert len(ledger.schedules("calls")) == 1
        by_others = replace(one, basis=replace(one.basis, forecasts=("f2",)))
        assert ledger.record_schedule(by_others) != ledger.record_schedule(one)

    def test_record_schedule__in_other_words_is_the_same_decision(self, ledger: Ledger) -> None:
        one = schedule_of(3, 4)
        basis = replace(one.basis, calibration=CalibrationFacts(failure="no answer"), unjoined="too short a history")
        steps = tuple(replace(step, recorded="reworded", bottleneck="in other words") for step in one.steps)
        other = replace(one, recorded="in other words", steps=steps, basis=basis)
        assert ledger.record_schedule(other) == ledger.record_schedule(one)
        sooner = replace(one, steps=(replace(one.steps[0], deploy_at=after(59)), *one.steps[1:]))
        assert ledger.record_schedule(sooner) != ledger.record_schedule(one)

    def test_record_schedule__that_another_planner_has_answered_already_gives_back_that_answer(
        self, ledger: Ledger
    ) -> None:
        asked = DecisionBasis(forecasts=("f1",))
        quicker = ledger.record_schedule(replace(schedule_of(3), basis=asked), asked=asked)
        slower = replace(schedule_of(4, made_at=after(1)), basis=asked)
        assert ledger.record_schedule(slower, asked=asked) == quicker
        assert [entry.id for entry in ledger.schedules("calls")] == [quicker]
        assert ledger.step(f"{quicker}-1").state is PROPOSED

    def test_record_schedule__is_a_decision_of_its_own_for_other_forecasts_or_once_the_answer_is_over(
        self, ledger: Ledger
    ) -> None:
        of_first, of_next = DecisionBasis(forecasts=("f1",)), DecisionBasis(forecasts=("f2",))
        first = replace(schedule_of(3), basis=of_first)
        ledger.record_schedule(first, asked=of_first)
        following = ledger.record_schedule(replace(schedule_of(4, made_at=after(1)), basis=of_next), asked=of_next)
        over = replace(schedule_of(5, made_at=first.end), basis=of_next)
        assert following != ledger.record_schedule(over, asked=of_next)
        assert len(ledger.schedules("calls")) == 3

    def test_record_schedule__again_after_a_newer_one_does_not_call_off_the_newer(self, ledger: Ledger) -> None:
        older = ledger.record_schedule(schedule_of(3))
        newer = ledger.record_schedule(schedule_of(4, made_at=after(60)))
        ledger.record_schedule(schedule_of(3))
        assert ledger.step(f"{older}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{newer}-1").state is PROPOSED

    def test_record_schedule__supersedes_what_is_proposed_and_leaves_what_was_approved(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{first}-1", APPROVED)
        ledger.record_schedule(schedule_of(7, made_at=after(30)))
        assert [step.state for step in ledger.steps(schedule_id=first)] == [APPROVED, StepState.SUPERSEDED]

    def test_approve_schedule__takes_the_place_of_what_waits_and_of_nothing_else(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3, 4, 5, 6))
        brought_to(ledger, f"{first}-1", StepState.VERIFIED)
        brought_to(ledger, f"{first}-2", DEPLOYING)
        brought_to(ledger, f"{first}-3", DUE)
        elsewhere = ledger.record_schedule(schedule_of(3, topology="mails"))
        by_hand = asked_by_hand(ledger)
        second = ledger.record_schedule(schedule_of(7, made_at=after(30)))
        ledger.approve_schedule(second, at=after(31), by="anna", why="fair")
        states = {step.id: step.state for step in ledger.steps()}
        assert states == {
            f"{first}-1": StepState.VERIFIED,
            f"{first}-2": DEPLOYING,
            f"{first}-3": StepState.SUPERSEDED,
            f"{first}-4": StepState.SUPERSEDED,
            f"{elsewhere}-1": PROPOSED,
            by_hand: APPROVED,
            f"{second}-1": APPROVED,
        }
        assert ledger.step(f"{first}-3").why == StepCause(StepCauseKind.OTHER_SCHEDULE, schedule=second)

    def test_approve_schedule__of_an_outdated_schedule_changes_nothing(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3))
        second = ledger.record_schedule(schedule_of(7, made_at=after(30)))
        ledger.approve_schedule(second, at=after(31), by="anna", why="fair")
        ledger.approve_schedule(first, at=after(32), by="bert", why="late")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{second}-1").state is APPROVED

    def test_record_schedule__of_a_slower_planner_leaves_the_later_made_one_waiting(self, ledger: Ledger) -> None:
        later = ledger.record_schedule(schedule_of(7, made_at=after(30)))
        slower = ledger.record_schedule(schedule_of(3))
        assert ledger.step(f"{slower}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{later}-1").state is PROPOSED

    def test_approve_schedule__of_one_whose_place_was_taken_at_the_same_moment_changes_nothing(
        self, ledger: Ledger
    ) -> None:
        first, second = (ledger.record_schedule(schedule_of(count)) for count in (3, 7))
        ledger.approve_schedule(first, at=after(1), by="anna", why="fair")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        assert ledger.step(f"{second}-1").state is PROPOSED

    def test_approve_schedule__twice_changes_nothing_the_second_time(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3))
        for minutes in (1, 2):
            ledger.approve_schedule(schedule_id, at=after(minutes), by="anna", why="fair")
        assert [event.to_state for event in ledger.events(f"{schedule_id}-1")] == [PROPOSED, APPROVED]

    def test_approve_schedule__that_holds_the_plan_supersedes_too(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(schedule_of(3))
        brought_to(ledger, f"{first}-1", APPROVED)
        hold = ledger.record_schedule(schedule_of(made_at=after(30)))
        ledger.approve_schedule(hold, at=after(31), by="anna", why="fair")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED

    def test_approve_schedule__of_some_steps_leaves_the_others_proposed(self, ledger: Ledger) -> None:
        earlier = ledger.record_schedule(schedule_of(9))
        brought_to(ledger, f"{earlier}-1", APPROVED)
        schedule_id = ledger.record_schedule(schedule_of(3, 4, made_at=after(1)))
        ledger.approve_schedule(schedule_id, at=after(2), by="anna", why="fair", only=[f"{schedule_id}-1"])
        assert [step.state for step in ledger.steps(schedule_id=schedule_id)] == [APPROVED, PROPOSED]
        assert ledger.step(f"{earlier}-1").state is StepState.SUPERSEDED

    def test_inherit__approves_what_somebody_has_approved_and_nothing_else(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3), (120, 4), (180, 5), (240, 6)))
        for position in (1, 2, 3):
            brought_to(ledger, f"{first}-{position}", APPROVED)
        vetoed = {"expected": APPROVED, "to": StepState.VETOED, "at": NOON, "by": "ben", "why": "no"}
        ledger.transition(f"{first}-3", **vetoed)
        # The second asks for another plan, the third was vetoed, the fourth never approved.
        second = ledger.record_schedule(steps_at((65, 3), (120, 7), (180, 5), (240, 6), made_at=after(30)))
        for _ in range(2):
            inherited = ledger.approvals.inherit(second, within=timedelta(minutes=10), at=after(30))
        assert inherited == []
        assert [step.state for step in ledger.steps(schedule_id=second)] == [APPROVED, PROPOSED, PROPOSED, PROPOSED]
        step = ledger.step(f"{second}-1")
        assert step.why == StepCause(
            StepCauseKind.APPROVED_BEFORE,
            by="anna",
            step=f"{first}-1",
            at=ledger.step(f"{first}-1").deploy_at,
            detail="the morning's calls come",
        )
        assert (step.updated_by, ledger.approvals.approver(step.id)) == ("earlier approval", "anna")
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        assert [other.id for other in ledger.approvals.standing(second)] == [f"{first}-2"]

    def test_inherit__lets_many_small_delays_not_add_up(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3)))
        brought_to(ledger, f"{first}-1", APPROVED)
        states = []
        for number, minute in enumerate((66, 72), start=1):
            later = ledger.record_schedule(steps_at((minute, 3), made_at=after(number)))
            ledger.approvals.inherit(later, within=timedelta(minutes=10), at=after(number))
            states.append(ledger.step(f"{later}-1").state)
        # 72 is 6 minutes from 66, and 12 from 60, which anna approved.
        assert states == [APPROVED, PROPOSED]

    def test_inherit__is_for_the_newest_schedule_that_is_no_shadow(self, ledger: Ledger) -> None:
        first = ledger.record_schedule(steps_at((60, 3)))
        older = ledger.record_schedule(steps_at((61, 3), made_at=after(1)))
        newer = ledger.record_schedule(steps_at((62, 3), made_at=after(2)))
        # Proposed ones are superseded by newer ones.
        assert ledger.step(f"{first}-1").state is StepState.SUPERSEDED
        brought_to(ledger, f"{newer}-1", APPROVED)
        assert ledger.approvals.inherit(older, within=timedelta(minutes=10), at=after(3)) == []
        shadow = ledger.record_schedule(steps_at((60, 3), made_at=after(3)), shadow=True)
        assert ledger.approvals.inherit(shadow, within=timedelta(minutes=10), at=after(3)) == []

    def test_a_verified_plan_of_a_person__replaces_the_schedule_that_has_another_in_place(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{schedule_id}-1", StepState.VERIFIED)
        by_hand = asked_by_hand(ledger)
        for before, to in pairwise((APPROVED, StepState.DUE, DEPLOYING, StepState.VERIFIED)):
            assert ledger.schedule(schedule_id).replaced_by == ""
            ledger.transition(by_hand, expected=before, to=to, at=after(90), by="deploy", why="as asked")
        assert ledger.schedule(schedule_id).replaced_by == by_hand
        first, second = ledger.steps(schedule_id=schedule_id)
        assert (first.state, second.state) == (StepState.VERIFIED, StepState.SUPERSEDED)
        plan = ledger.step(by_hand).plan.parallelism
        assert second.why == StepCause(StepCauseKind.BY_HAND, plan=plan, step=by_hand)

    def test_a_verified_plan_of_a_person__leaves_the_schedule_that_has_it_in_place(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(9, 4))
        brought_to(ledger, f"{schedule_id}-1", StepState.VERIFIED)
        by_hand = asked_by_hand(ledger)
        for before, to in pairwise((APPROVED, StepState.DUE, DEPLOYING, StepState.VERIFIED)):
            ledger.transition(by_hand, expected=before, to=to, at=after(90), by="deploy", why="as asked")
        assert ledger.schedule(schedule_id).replaced_by == ""
        assert ledger.step(f"{schedule_id}-2").state is PROPOSED

    def test_ask__tells_why_once_and_leaves_the_step_proposed(self, ledger: Ledger) -> None:
        step_id = f"{ledger.record_schedule(schedule_of(3))}-1"
        large, dear = (ReviewCause(kind, 8.0, 5.0) for kind in (ReviewCauseKind.MAX_STEP, ReviewCauseKind.COST))
        for cause in (large, large, dear):
            ledger.approvals.ask(step_id, cause)
        step = ledger.step(step_id)
        assert (step.state, step.reason) == (PROPOSED, "the morning's calls come")
        assert (step.review_cause, step.asked_because) == (dear, "")
        brought_to(ledger, step_id, APPROVED)
        with pytest.raises(LedgerError, match=r"is approved since .* not proposed as expected"):
            ledger.approvals.ask(step_id, large)
        late = StepCause(StepCauseKind.TOO_LATE)
        ledger.transition(step_id, expected=APPROVED, to=StepState.EXPIRED, at=after(90), by="ledger", why=late)
        with pytest.raises(
            LedgerError, match=r"is expired since .* UTC \(ledger: too late\), not proposed as expected"
        ):
            ledger.approvals.ask(step_id, large)

    def test_record_schedule__on_an_unknown_forecast_records_nothing(self, ledger: Ledger) -> None:
        earlier = ledger.record_schedule(schedule_of(3))
        with pytest.raises(LedgerError, match="rests on forecast 'lost', which the ledger does not have; record"):
            ledger.record_schedule(schedule_of(4), forecasts=["lost"])
        assert [entry.id for entry in ledger.schedules("calls")] == [earlier]
        assert ledger.step(f"{earlier}-1").state is PROPOSED

    def test_record_schedule__in_shadow_mode_makes_steps_that_go_nowhere(self, ledger: Ledger) -> None:
        schedule_id = ledger.record_schedule(schedule_of(3, 4), shadow=True)
        assert ledger.schedule(schedule_id).shadow
        assert {step.state for step in ledger.steps(schedule_id=schedule_id)} == {StepState.SHADOW}
        assert ledger.due_steps(after(70)) == []
        assert ledger.expire_steps(after(9999), by="ben") == []
        with pytest.raises(LedgerError, match=r"made in shadow mode and is never deployed; set planning.mode: act"):
            ledger.approve_schedule(schedule_id, at=after(1), by="anna", why="fair")
        with pytest.raises(LedgerError, match="approved does not follow shadow; what may follow is superseded"):
            ledger.transition(
                f"{schedule_id}-1", expected=StepState.SHADOW, to=APPROVED, at=NOON, by="ben", why="a try"
            )

    def test_record_schedule__the_same_in_shadow_mode_is_another(self, ledger: Ledger) -> None:
        assert ledger.record_schedule(schedule_of(3)) != ledger.record_schedule(schedule_of(3), shadow=True)

    def test_record_schedule__in_shadow_mode_calls_off_all_that_waits_but_what_people_asked_for(
        self, ledger: Ledger
    ) -> None:
        act = ledger.record_schedule(schedule_of(3, 4))
        brought_to(ledger, f"{act}-1", APPROVED)
        by_hand = asked_by_hand(ledger)
        ledger.record_schedule(schedule_of(5, made_at=after(30)), shadow=True)
        assert {step.state for step in ledger.steps(schedule_id=act)} == {StepState.SUPERSEDED}
        assert ledger.step(by_hand).state is APPROVED

    def test_schedules__come_newest_first(self, ledger: Ledger) -> None:
        ids = [ledger.record_schedule(schedule_of(count, made_at=after(count))) for count in (3, 5, 4)]
        assert [entry.id for entry in ledger.schedules("calls")] == [ids[1], ids[2], ids[0]]
        assert [entry.id for entry in ledger.schedules("calls", limit=1)] == [ids[1]]
