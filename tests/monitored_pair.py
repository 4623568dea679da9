"""The topology `pair` with a record of each kind that monitoring tells of, all numbers given by hand."""

from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
from guarded_pair import MONDAY, begin_pair
from past_forecasts import said

from forecasting.forecast_file import write_forecast
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.decision_basis import NOTHING_KNOWN, Cause, CauseKind, DecisionBasis, Rung
from planner.guard.actions import Action
from planner.guard.judgement import Verdict, VerdictKind
from planner.guard.look import Look, OperatorLook
from planner.guard_facts import ActionKind, Diagnosis, DiagnosisKind, Reason, ReasonKind, Scaling
from planner.ledger.entries import ForecastEntry, Outcome
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

NOW = MONDAY + timedelta(hours=2)
HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)


OLD_FORECAST = DecisionBasis(Rung.PROFILE, (Cause(CauseKind.STALE_FORECAST, "read", 3 * 3600.0, 3600.0),))


def plan_of(count: int) -> PhysicalPlan:
    return PhysicalPlan("pair", {"read": 1, "work": count})


def begin_monitored(settings: Settings) -> Ledger:
    """It is 02:00: two hours of 30 a second are known, of which 10 minutes were in violation."""
    begin_pair(settings)
    TraceClock(settings.clock_file).advance_to(NOW)
    ledger = ledger_of(settings)
    _forecasts(settings, ledger)
    schedule = schedule_of(
        (5, HOUR), basis=DecisionBasis(Rung.PROFILE, (Cause(CauseKind.STALE_FORECAST, "read", 3 * 3600.0, 3600.0),))
    )
    ledger.record_schedule(schedule)
    _deployment(ledger)
    lags_s = [(MONDAY + timedelta(minutes=n), 200.0 if n <= 10 else 0.0) for n in range(1, 121)]
    ledger.minutes.record("pair", lags_s, max_lag_s=180.0)
    _guard(ledger)
    return ledger


def schedule_of(
    *steps: tuple[int, timedelta], basis: DecisionBasis = NOTHING_KNOWN, after: timedelta = timedelta()
) -> ScalingSchedule:
    """Made so long after NOW. steps: instances of work, each from so long after NOW on for an hour."""
    return ScalingSchedule(
        topology="pair",
        made_at=NOW + after,
        start=NOW + after,
        end=NOW + 24 * HOUR,
        quantile=0.95,
        current=plan_of(2),
        steps=tuple(_step(count, wait) for count, wait in steps),
        cost_instance_hours=50.0,
        recorded="by hand",
        violation_minutes=3.0,
        violation_probability=0.25,
        allowed_minutes=7.2,
        basis=basis,
    )


def barred_scale_up(ledger: Ledger, number: int = 1) -> None:
    """An action without effect, after which its pair is barred."""
    at = NOW + timedelta(minutes=number)
    action = ledger.guard.begin(_ACTION, plan_of(4), plan_of(2), at=at, expires_at=at + HOUR)
    _deployed(ledger, action.id, at)
    verdict = Verdict(VerdictKind.INEFFECTIVE, Reason(ReasonKind.STILL_ILL, _FULL), {})
    ledger.guard.judge(action.id, verdict, at=at + QUARTER, blacklist_after=1)


_FULL = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work")
_ACTION = Action(
    _FULL,
    ActionKind.SCALE_UP,
    {"work": 4},
    Reason(ReasonKind.SCALES, _FULL, scaling=Scaling({"work": 2}, {"work": 4}, 30.0)),
)


def _forecasts(settings: Settings, ledger: Ledger) -> None:
    """Four of the next quarter, at 00:00 to 00:45: the peak of 30 stays within three of their p95 (33), not 27.5."""
    for number, p90 in enumerate((30.0, 30.0, 30.0, 25.0)):
        start = MONDAY + number * QUARTER
        peak = {900: p90 * np.array([0.8, 1.0, 1.1, 1.3])}
        folder = settings.forecasts_dir / f"f{number}"
        forecast = said(start, peak, topology="pair", source="read", backtest_per_s=0.1)
        write_forecast(forecast, folder)
        ledger.record_forecast(
            ForecastEntry(f"f{number}", "pair", "read", start, forecast.end, "run-1", "4", str(folder), "", "")
        )


def _step(count: int, wait: timedelta) -> ScheduledStep:
    at = NOW + wait
    return ScheduledStep(
        deploy_at=at,
        in_place_at=at + QUARTER,
        needed_from=at + QUARTER,
        needed_until=at + HOUR,
        plan=plan_of(count),
        replaces=plan_of(2),
        load_per_s={"read": 30.0},
        bottleneck="work",
        utilisation=0.6,
        headroom_factor=1.6,
        downtime_s=30.0,
        catch_up_s=60.0,
        cost_instance_hours=6.0,
        recorded="more comes",
    )


def _deployment(ledger: Ledger) -> None:
    at = NOW - HOUR
    step_id = ledger.record_hand_made_step(
        "first", plan_of(3), replaces=plan_of(2), deploy_at=at, expires_at=at + HOUR, at=at, by="anna", why="by hand"
    )
    _deployed(ledger, step_id, at)
    told = {"downtime_s": 30.0, "catch_up_s": 60.0, "utilisation": 0.6}
    ledger.record_outcome(Outcome(step_id, at, 42.0, told, {"downtime_s": 42.0, "catch_up_s": 75.0}, 2))


def _deployed(ledger: Ledger, step_id: str, at: datetime) -> None:
    way = (StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.VERIFIED)
    for before, to in pairwise(way):
        ledger.transition(step_id, expected=before, to=to, at=at, by="anna", why="as asked")


def _guard(ledger: Ledger) -> None:
    busy = {"read": OperatorLook((0.1,), (0.0,), (30.0,)), "work": OperatorLook((0.9, 0.95), (0.0, 0.0), (15.0, 15.0))}
    ledger.guard.record_look("pair", Look(NOW, 60.0, busy), forget_before=MONDAY)
    barred_scale_up(ledger, number=-30)
