"""What a reviewer reads in the report of a decision."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

import pytest
from report_page import ReportPage
from sample_decision import (
    END,
    NOW,
    SOURCE,
    estimate,
    forecast,
    hold_decision,
    outcome,
    plan,
    sample_decision,
)

from forecasting.forecast import BacktestScore
from forescale.files.atomic import write_whole
from forescale.report.decision.decision import CapacityStep, DecisionReport
from forescale.report.decision.page import render_report
from forescale.report.kit.error import ReportError
from modeling.excuse import Excuse
from planner.decision_basis import CalibrationFacts
from planner.ledger.minute_records import MinuteCount
from planner.provenance import Ground, Origin, Provenance, Quantity
from planner.scaling_schedule import Disruption
from planner.schedule import VIOLATION

NBSP = "\N{NO-BREAK SPACE}"


def read(decision: DecisionReport) -> str:
    return ReportPage(render_report(decision)).text.replace(NBSP, " ")


def test_report__says_first_what_will_change() -> None:
    text = read(sample_decision())
    assert text.index("Rescale call-analytics 4 times by Fri 24 Oct 12:35: 16 → 8 → 18 → 27 → 16") < 200
    assert "1 approved Thu 21:40 16 → 8 transcribe 12 → 4 0.02/s" in text


def test_report__says_what_its_numbers_stand_on_and_first_what_nobody_has_measured() -> None:
    decision = sample_decision()
    at = datetime(2003, 10, 23, 13, 31, tzinfo=UTC)
    stands_on = (
        Ground(Quantity.SERVICE_TIME, Provenance(Origin.MEASURED, "calibration", at, 6), ("transcribe",)),
        Ground(Quantity.SERVICE_TIME, Provenance(Origin.DECLARED, "topology file"), ("ingest",)),
        Ground(Quantity.CORES, Provenance(Origin.ASSUMED)),
    )
    never = CalibrationFacts(unmeasured=("ingest",))
    basis = replace(decision.schedule.basis, stands_on=stands_on, calibration=never)
    page = render_report(replace(decision, schedule=replace(decision.schedule, basis=basis)))
    text = ReportPage(page).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "<code>forescale model calibrate call-analytics</code>" in page
    assert "never measured" not in text.partition("Each step in detail")[0]  # it is said once
    first = text.index("Service times of ingest are placeholders of the topology file, which nobody has measured")
    assert first < text.index("Approve")
    assert "stands on: service times of transcribe measured 2003-10-23 13:31 from 6 samples" in text
    assert "assumed: cores never short" in text
    assert "placeholders" not in read(decision)


def test_report__weighs_the_cost_against_the_alternatives() -> None:
    # 372 / 384 = 0.969; 372 / 318 = 1.170
    text = read(sample_decision())
    assert (
        "372 instance-hours over 24 h: −3 % against keeping today's plan (384); +17 % against a reactive scaler (318). "
    ) in text
    assert "Keeping today's plan: 255 min late; a reactive scaler: 90 min late. Late: a minute" in text
    # The others are folded away: 648 / 372 = 1.742.
    assert "a fixed plan sized for the peak 648 +74 % 1 no minute late costs 276 instance-hours more" in text


def test_report__tells_prices_beside_instance_hours_and_what_each_step_disrupts() -> None:
    decision = sample_decision()
    first, *others = decision.schedule.steps
    disruption = Disruption(0, 8, 2, 96, 6.0, 3)
    first = replace(first, disruption=disruption, price_per_hour=1.2, more_per_hour=-0.6)
    dear = tuple(replace(other, price=55.5) for other in decision.schedule.alternatives)
    schedule = replace(
        decision.schedule, steps=(first, *others), price=44.4, instance_price_per_hour=0.12, alternatives=dear
    )
    text = read(replace(decision, schedule=schedule))
    assert "372 instance-hours over 24 h, at a price of 44.4 (an instance-hour is weighed as 0.12): " in text
    # Compared by price: 44.4 / 55.5 = .8, and the other way round 1.25.
    assert "−20 % against a reactive scaler (318 instance-hours at a price of 55.5)." in text
    assert "16 → 8 instances a price of 1.2 an hour (−0.6)" in text
    assert "0 started, 8 stopped, 2 moved; 96 key groups with 6 GiB change their instance" in text
    assert "648 a price of 55.5 +25 %" in text
    assert "a price of" not in read(decision)


def test_report__tells_what_the_week_before_used_of_the_budget() -> None:
    decision = sample_decision()
    week = replace(decision, past=MinuteCount(10_080, 12))
    assert ". 12 of 10,080 minutes known in 7 days were late. Late: a minute with more than 3 min of lag" in read(week)
    shadow = replace(week, shadow_days=(), past=MinuteCount(2_880, 2))
    assert "2 of 2,880 minutes of whole days in 7 days would have been late. Late" in read(shadow)
    for unknown in (None, MinuteCount(0, 0)):
        assert "in 7 days" not in read(replace(decision, past=unknown))


def test_report__says_that_plans_of_floor_mode_are_lower_bounds() -> None:
    decision = sample_decision()
    of = replace(decision.schedule.basis, floor=True)
    text = read(replace(decision, schedule=replace(decision.schedule, basis=of)))
    assert "Move the floor of call-analytics 4 times by Fri 24 Oct 12:35: 16 → 8 → 18 → 27 → 16 instances at" in text
    assert "Each plan is a lower bound (planning.mode): a scaler or a person decides above it" in text
    assert "lower bound" not in read(decision)


def test_report__asks_only_for_what_is_still_proposed() -> None:
    assert "Approve, veto or edit 3 of 4 steps by Fri 24 Oct 06:44, in 9 h 14 min." in read(sample_decision())
    assert "Approve, veto or edit all 4 steps by Thu 23 Oct 21:40, in 10 min." in read(
        replace(sample_decision(), states={})
    )
    done = replace(sample_decision(), states={0: "verified", 1: "verified", 2: "verified", 3: "vetoed"})
    assert "Nothing: 3 steps verified, 1 step vetoed." in read(done)


def test_report__says_why_a_step_was_called_off_as_a_terminal_does() -> None:
    reason = "work 3 was deployed by hand (step hand-1): decide anew <b>"
    states, reasons = {2: "vetoed", 3: "superseded"}, {2: "vetoed by ben", 3: reason}
    details = read(replace(sample_decision(), states=states, reasons=reasons)).partition("Each step in detail")[2]
    assert reason in details
    assert details.count("vetoed by ben") == 1
    assert "vetoed by ben" not in read(replace(sample_decision(), states=states))


def test_report__shows_how_busy_each_operator_is_with_the_plans_of_the_steps() -> None:
    # transcribe: 2.21/s × 8.12 s / 12 = 1.495; step 1 0.02 × 8.12 / 4 = 0.041; step 2 1.35 × 8.12 / 14 = 0.783; step 3
    # 2.21 × 8.12 / 22 = 0.816; step 4 1.24 × 8.12 / 12 = 0.839.
    text = read(sample_decision())
    assert "Operator Now Step 1 Step 2 Step 3 Step 4" in text
    row = "transcribe 150 % 12 instances 4 % 4 instances 78 % 14 instances 82 % 22 instances 84 % 12 instances"
    assert row in text
    assert "limits now, step 1, step 2, step 3, step 4 now: falls behind: its queue grows while that load lasts" in text


def test_report__says_where_the_headroom_is_used_up() -> None:
    # 2.21/s × 8.12 s / 20 instances = 0.897, above 0.85 but stable.
    text = read(replace(sample_decision(), step_estimates={2: estimate(plan(20, 3), 2.21)}))
    assert "step 3: above the 85 % aimed for" in text


def test_report__tells_when_each_step_is_deployed_needed_and_why() -> None:
    text = read(sample_decision())
    # Asked for at 07:58, in place 250 s later, of which 145 s are catch-up: it runs after 105 s. 22 / (2.21 × 8.12) =
    # 1.226 times the load.
    assert "3 proposed Fri 07:58 runs from Fri 07:59 caught up by Fri 08:02 Fri 08:15–12:30 up to ingest 2.21/s" in text
    assert "transcribe 82 % busy room for 23 % more stops for 30 s" in text


def test_a_plan_rejected_for_its_late_minutes__is_judged_by_the_budget_with_units() -> None:
    def rejected(late_minutes: float, allowed_minutes: float, chosen_minutes: float) -> str:
        decision = sample_decision()
        excuse = Excuse(plan(15), VIOLATION, "", late_minutes, chosen_minutes, "it is late", "accept it")
        changes = {"violation_minutes": chosen_minutes, "allowed_minutes": allowed_minutes, "excuses": (excuse,)}
        return read(replace(decision, schedule=replace(decision.schedule, **changes)))

    assert "31.6 min late expected, 7.8 min allowed accept it" in rejected(31.6, 7.8, 20.6)
    # Within the budget, but worse than what was chosen.
    assert "5 min late expected, 1.5 min with this schedule accept it" in rejected(5.0, 7.8, 1.5)
    # No later than what was chosen: its cost decided, which its own words tell.
    assert "with this schedule" not in rejected(1.4, 7.8, 1.5)
    assert "It is late. accept it" in rejected(1.4, 7.8, 1.5)
    assert "It is late. accept it" in rejected(1.51, 7.8, 1.5)


def test_report__gives_the_excuses_of_rejected_candidates() -> None:
    text = read(sample_decision())
    assert "transcribe 12 → 18 22 instances transcribe would be >99 % busy, 85 % allowed" in text
    assert "raise its parallelism to 22" in text


def test_report__gives_forecast_and_model_quality() -> None:
    text = read(sample_decision())
    assert "15 min time_of_week 0.53 93 % 12" in text
    assert "loses to week-naive: ratio 1.99 >= 1" in text
    # 8.12 s measured against 8 s declared: 1.5 % longer, which rounds to 1 or 2; standard error 2 % of 8.12 s.
    assert "transcribe 8.12 ± 0.16 s 8 s measured, 240 samples, 1 % longer than declared" in text
    assert "count 10 ms 10 ms declared, not yet measured" in text


def test_report__says_how_many_times_as_long_as_a_placeholder_a_service_takes() -> None:
    decision = sample_decision()
    # 8.12 s against 1 ms.
    transcribe = replace(decision.declared["transcribe"], service_s=0.001)
    text = read(replace(decision, declared={**decision.declared, "transcribe": transcribe}))
    assert "measured, 240 samples, 8,120 times as long as declared" in text


@pytest.mark.parametrize("error_s", [0.0, 1e-12, 0.0041, 0.0043])
def test_report__never_prints_an_error_of_zero(error_s: float) -> None:
    decision = sample_decision()
    transcribe = replace(decision.profiles["transcribe"], service_s=8.4, service_s_error=error_s)
    text = read(replace(decision, profiles=dict(decision.profiles) | {"transcribe": transcribe}))
    # Half a thousandth of 8.4 s is 4.2 ms: less is not shown.
    assert f"transcribe {'8.4 ± 0.0043 s' if error_s > 0.0042 else '8.4 s'} 8 s measured" in text
    assert "± 0 " not in text


def test_report__tells_the_parts_of_a_mixture_from_the_others() -> None:
    text = read(sample_decision())
    assert "24 h time_of_week + harmonic_arima + prophet 0.51 93 % 12" in text
    assert "24 h time_of_week part of what is deployed 0.74 94 %" in text
    assert "24 h persistence not deployed 1.99 94 %" in text


def test_report__of_a_mixture_that_lost_says_so_beside_what_is_deployed() -> None:
    lost = BacktestScore("deployed", 900, 0.05, 1.13, 0.7, 12, False, "ratio 1.13 >= 1")
    mixed = replace(forecast(), forecaster={900: "prophet + week_naive"}, scores=(lost,))
    text = read(replace(sample_decision(), forecasts={SOURCE: mixed}))
    assert "15 min prophet + week_naive no better than the naive rival 1.13 70 % 12" in text


def test_report__of_a_naive_forecaster_says_what_was_held_back() -> None:
    scores = (
        BacktestScore("deployed", 900, 0.05, 1.2, 0.7, 12, False, "ratio 1.2 >= 1"),
        BacktestScore("week_naive", 900, 0.04, 1.0, 0.9, 12, True, ""),
    )
    naive = replace(forecast(), forecaster={900: "week_naive"}, scores=scores)
    text = read(replace(sample_decision(), forecasts={SOURCE: naive}))
    assert "15 min week_naive no better than the naive rival 1 90 % 12" in text
    assert "the best together not deployed 1.2 70 % ratio 1.2 >= 1" in text


def test_report__of_a_forecast_without_a_backtest_says_so() -> None:
    text = read(replace(sample_decision(), forecasts={SOURCE: replace(forecast(), scores=())}))
    assert "15 min time_of_week not scored: too few origins" in text


def test_report__of_a_quiet_span_shows_no_infinite_capacity() -> None:
    decision = sample_decision()
    night = replace(decision.schedule.steps[0], load_per_s={SOURCE: 0.0}, utilisation=0.0, headroom_factor=inf)
    schedule = replace(decision.schedule, steps=(night, *decision.schedule.steps[1:]))
    first, *rest = decision.capacity
    endless = replace(first, mst_per_s={SOURCE: inf}, usable_per_s={SOURCE: inf})
    page = ReportPage(render_report(replace(decision, schedule=schedule, capacity=(endless, *rest))))
    assert "transcribe 0 % busy no load" in page.text.replace(NBSP, " ")
    assert "inf" not in page.figures_source.lower().replace("info", "")


def test_report__asks_at_once_for_a_step_that_is_due() -> None:
    decision = sample_decision()
    due = replace(decision.schedule.steps[0], deploy_at=NOW)
    schedule = replace(decision.schedule, steps=(due, *decision.schedule.steps[1:]))
    text = read(replace(decision, schedule=schedule, states={}))
    assert "Approve, veto or edit all 4 steps now." in text


def test_report__of_a_hold_says_why_and_asks_nothing() -> None:
    text = read(hold_decision())
    assert "Hold call-analytics at its 16 instances until Fri 24 Oct 21:30" in text
    assert "Why Today's plan keeps the budget, and no change is worth its rescale." in text
    assert "Asked of you Nothing" in text
    assert "Nothing changes: ingest 1 · transcribe 12 · classify 2 · count 1 goes on running." in text


def test_report__afterwards_sets_what_came_against_what_was_expected() -> None:
    # Lag of 190, 240, 220 and 181 s is above 180 s: four minutes. Ten minutes are NaN.
    text = read(replace(sample_decision(), outcome=outcome()))
    assert "Missed for 4 min; the largest lag was 4 min, 3 min allowed; 10 min not measured." in text
    assert "2 proposed 18 instances Fri 06:50 Fri 06:48 1 min 11 s 30 s over 10 min 2 min 25 s" in text
    # Deployed at 12:35, with 250 s of downtime and catch-up expected.
    assert "4 proposed 16 instances not measured Fri 12:39 not measured 30 s" in text


def test_outcome__before_the_end_of_the_horizon_is_one_so_far() -> None:
    whole, noon = outcome(), NOW + timedelta(hours=6)
    series = {SOURCE: whole.arrivals.series[SOURCE].between(NOW, noon)}
    early = replace(whole, arrivals=replace(whole.arrivals, series=series), lag=whole.lag.between(NOW, noon))
    text = read(replace(sample_decision(), outcome=early))
    assert "Target Kept so far; the largest lag was 2 s" in text
    assert re.search(r"Peak ingest: \S+ at [^,]* so far, ", text)
    assert "so far" not in read(replace(sample_decision(), outcome=whole))


def test_outcome__without_any_lag_measured_is_not_called_kept() -> None:
    nothing = outcome()
    nothing.lag.lag_s[:] = float("nan")
    assert "Target Not known: no lag was measured." in read(replace(sample_decision(), outcome=nothing))


def test_figure__leaves_a_gap_where_windows_are_missing() -> None:
    # The feed was out from 13:20 to 14:30 on Wednesday: 14 steps of 5 minutes are neither drawn nor zero.
    figure = ReportPage(render_report(sample_decision())).figures[0]
    arrived = next(trace for trace in figure["data"] if trace["name"] == "arrived")
    gap = [y for x, y in zip(arrived["x"], arrived["y"], strict=True) if "2003-10-22T13:20" <= x < "2003-10-22T14:30"]
    assert gap == [None] * 14
    shade = figure["layout"]["shapes"][0]
    assert (shade["x0"], shade["x1"]) == ("2003-10-22T13:20:00", "2003-10-22T14:30:00")


def test_figure__steps_the_usable_capacity() -> None:
    # transcribe limits: 0.85 × 22 / 8.12 = 2.303/s in the late morning, 0.85 × 4 / 8.12 = 0.419/s at night.
    figure = ReportPage(render_report(sample_decision())).figures[0]
    line = next(trace for trace in figure["data"] if trace["name"] == "capacity")
    at = dict(zip(line["x"], line["y"], strict=True))
    assert at["2003-10-24T08:13:00"] == pytest.approx(2.303, abs=0.001)
    assert at["2003-10-24T00:10:00"] == pytest.approx(0.419, abs=0.001)


def test_report__is_the_same_for_the_same_decision() -> None:
    assert render_report(sample_decision()) == render_report(sample_decision())


def test_report__has_a_figure_for_every_source() -> None:
    one, other = sample_decision(), sample_decision(source="refunds")
    both = replace(
        one,
        history=replace(one.history, series={**one.history.series, **other.history.series}),
        forecasts={**one.forecasts, **other.forecasts},
    )
    text = read(both)
    assert "Load and capacity of ingest" in text
    assert "Load and capacity of refunds" in text
    assert "refunds 24 h 1.87/s" in text


def test_write__replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "decision.html"
    path.parent.mkdir()
    path.write_text("old")
    assert write_whole(render_report(hold_decision()), path) == path
    assert path.read_text(encoding="utf-8") == render_report(hold_decision())
    assert list(path.parent.iterdir()) == [path]


def test_write__keeps_the_old_file_when_it_cannot_write(tmp_path: Path) -> None:
    target = tmp_path / "taken.html"
    target.mkdir()
    with pytest.raises(OSError, match=r"taken\.html"):
        write_whole(render_report(hold_decision()), target)
    assert list(tmp_path.iterdir()) == [target]


def test_decision__refuses_parts_of_another_topology() -> None:
    with pytest.raises(ReportError, match="forecast of 'ingest' is of topology 'other'"):
        replace(sample_decision(), forecasts={SOURCE: forecast(topology="other")})


def test_decision__refuses_the_state_of_a_step_that_does_not_exist() -> None:
    with pytest.raises(ReportError, match="step 4 does not exist; steps count from 0 and there are 4"):
        replace(sample_decision(), states={4: "approved"})


def test_decision__refuses_capacity_that_ends_before_it_starts() -> None:
    backwards = CapacityStep(END, NOW - timedelta(hours=1), plan(12), {SOURCE: 1.0}, {SOURCE: 0.85})
    with pytest.raises(ReportError, match="a span ends after it starts"):
        replace(sample_decision(), capacity=(backwards,))


def test_report__names_the_commit_of_the_history_where_it_is_known() -> None:
    # Of the digest, sixteen letters are shown.
    digest = "history 9f2c9f2c9f2c9f2c…"
    assert f"{digest}, snapshot" not in read(sample_decision())
    known = replace(sample_decision(), forecasts={SOURCE: replace(forecast(), history_snapshot="0123456789abcdef")})
    assert f"{digest}, snapshot 0123456789abcdef" in read(known)
