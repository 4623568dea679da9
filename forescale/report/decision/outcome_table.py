"""The outcome of a decision, compared with what it expected."""

from datetime import datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.forecast import Forecast
from forescale.report.decision.decision import DecisionOutcome, DecisionReport
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import duration, percent, quantile_name, rate
from modeling.wording import count_of
from planner.ledger.entries import Outcome
from planner.scaling_schedule import ScheduledStep


def outcome_sentences(decision: DecisionReport, outcome: DecisionOutcome) -> tuple[Sentence, ...]:
    """Whether the target was kept, and whether the peak was foreseen."""
    peaks = [
        Sentence("Peak", _peak(decision, forecast, outcome.arrivals.series[source]))
        for source, forecast in sorted(decision.forecasts.items())
        if source in outcome.arrivals.series
    ]
    return (Sentence("Target", _target(decision, outcome)), *peaks)


def _target(decision: DecisionReport, outcome: DecisionOutcome) -> str:
    largest_s = outcome.lag.largest_s
    if largest_s is None:
        return "Not known: no lag was measured."
    minutes = outcome.lag.violation_minutes(decision.max_lag_s)
    lag = outcome.lag
    so_far = _so_far(decision, lag.start + timedelta(seconds=lag.window_s * lag.lag_s.size), lag.window_s)
    kept = f"Kept{so_far}" if not minutes else f"Missed for {duration(60 * minutes)}{so_far}"
    blind_s = 60 * outcome.lag.unmeasured_minutes
    blind = f"; {duration(blind_s)} not measured" if blind_s else ""
    return f"{kept}; the largest lag was {duration(largest_s)}, {duration(decision.max_lag_s)} allowed{blind}."


def _so_far(decision: DecisionReport, known_until: datetime, window_s: float) -> str:
    """Empty once it is known to the end of the horizon: until then the peak may be still to come."""
    return "" if known_until + timedelta(seconds=window_s) > decision.schedule.end else " so far"


def _peak(decision: DecisionReport, forecast: Forecast, series: ArrivalSeries) -> str:
    """The real peak, in the forecast's steps: shorter windows would show a higher one through noise alone."""
    try:
        arrivals = series.resampled(forecast.step_s) if forecast.step_s % series.window_s == 0 else series
    except HistoryError as error:  # soon after the decision
        return f"{forecast.source}: not known yet, {error}."
    came_per_s = arrivals.rate_per_s()
    if np.isnan(came_per_s).all():
        return f"{forecast.source}: no arrivals were recorded."
    peak_per_s = float(np.nanmax(came_per_s))
    at = arrivals.start + timedelta(seconds=arrivals.window_s * int(np.nanargmax(came_per_s)))
    so_far = _so_far(decision, series.end, series.window_s)
    came = f"{forecast.source}: {rate(peak_per_s)} at {decision.local.moment(at)}{so_far}"
    planned = decision.now_estimate
    planned_per_s = planned.load_per_s.get(forecast.source, 0.0) if planned else 0.0
    if planned_per_s <= 0:
        return f"{came}; no load was planned for."
    side = "below" if peak_per_s <= planned_per_s else "above"
    gap = percent(abs(peak_per_s / planned_per_s - 1))
    return f"{came}, {gap} {side} the {rate(planned_per_s)} ({quantile_name(decision.quantile)}) planned for."


def outcome_table(decision: DecisionReport, outcome: DecisionOutcome) -> Table | None:
    """Per step: expected against measured."""
    rows = [_row(decision, index, step, outcome.steps.get(index)) for index, step in enumerate(decision.schedule.steps)]
    times = texts("Step", "Caught up", "Expected by")
    columns = (*times, *numbers("Downtime", "Expected downtime", "Catch-up", "Expected catch-up"))
    return Table(columns, tuple(rows)) if rows else None


def _row(decision: DecisionReport, index: int, step: ScheduledStep, outcome: Outcome | None) -> tuple[Cell, ...]:
    size, local = count_of(step.plan.instances, "instance"), decision.local
    return (
        Cell(f"{index + 1}", (decision.state(index), size), strong=True),
        Cell(
            local.day_moment(outcome.verified_at) if outcome and outcome.verified_at else "not measured",
            strong=True,
        ),
        Cell(local.day_moment(step.in_place_at)),
        Cell(duration(outcome.downtime_s) if outcome and outcome.downtime_s is not None else "not measured"),
        Cell(duration(step.downtime_s)),
        Cell(_catch_up(outcome)),
        Cell(duration(step.catch_up_s)),
    )


def _catch_up(outcome: Outcome | None) -> str:
    measured = outcome.measured if outcome else {}
    if "catch_up_s" in measured:
        return duration(measured["catch_up_s"])
    at_least_s = measured.get("catch_up_at_least_s")
    return "not measured" if at_least_s is None else f"over {duration(at_least_s)}"
