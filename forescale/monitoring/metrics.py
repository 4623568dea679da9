"""The metrics: name, unit, help text, and how each is read from where a topology stands.

Moments are Unix times in seconds, not ages: an age would stand still if the job that computes it stopped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from forescale.standing import SourceStanding, Standing
from planner.decision_basis import Rung
from planner.guard_facts import GuardState
from planner.horizon.budget import Budget
from planner.scaling_schedule import ScalingSchedule

MINUTE_S = 60
HOUR_S = 3600
Value = float | None
Samples = Iterable[tuple[Mapping[str, str], Value]]


@dataclass(frozen=True)
class MetricDefinition:
    """name: of the samples. labels: beside `topology`. unit: suffix of the name, empty if there is none. read: returns
    label values with a value each; without a value there is no sample.
    """

    name: str
    help: str
    read: Callable[[Standing], Samples]
    labels: tuple[str, ...] = ()
    kind: Literal["gauge", "counter"] = "gauge"

    @property
    def unit(self) -> str:
        ending = self.name.removesuffix("_total").rpartition("_")[2]
        return ending if ending in ("seconds", "ratio", "bytes") else ""


def _one(name: str, help_text: str, value: Callable[[Standing], Value]) -> MetricDefinition:
    return MetricDefinition(name, help_text, lambda standing: [({}, value(standing))])


def _of_source(name: str, help_text: str, value: Callable[[SourceStanding], Value]) -> MetricDefinition:
    return MetricDefinition(
        name, help_text, lambda standing: [({"source": of.source}, value(of)) for of in standing.sources], ("source",)
    )


def _of_horizon(
    name: str, help_text: str, field: Literal["scores", "drifts"], value: Callable[..., Value]
) -> MetricDefinition:
    def read(standing: Standing) -> Samples:
        for of in standing.sources:
            for each in getattr(of, field):
                yield {"source": of.source, "horizon_s": str(each.horizon_s)}, value(each)

    return MetricDefinition(name, help_text, read, ("source", "horizon_s"))


def _of_schedule(name: str, help_text: str, value: Callable[[ScalingSchedule], Value]) -> MetricDefinition:
    """Of the schedule in force; none if a plan deployed by hand took its place."""

    def in_force(standing: Standing) -> Value:
        made = standing.schedule
        return None if made is None or made.replaced_by else value(made.schedule)

    return _one(name, help_text, in_force)


def _of_budget(name: str, help_text: str, value: Callable[[Budget], Value]) -> MetricDefinition:
    return _one(name, help_text, lambda standing: None if standing.budget is None else value(standing.budget))


def _of_change(name: str, help_text: str, which: Literal["predicted", "measured"], key: str) -> MetricDefinition:
    """A metric of the newest verified deployment."""

    def value(standing: Standing) -> Value:
        if standing.last_change is None:
            return None
        numbers: Mapping[str, float] = getattr(standing.last_change[1], which)
        return numbers.get(key)

    return _one(name, help_text, value)


def _time(moment: datetime | None) -> Value:
    return None if moment is None else moment.timestamp()


def _minutes(minutes: float | None) -> Value:
    return None if minutes is None else minutes * MINUTE_S


def _overdraft_s(budget: Budget) -> Value:
    allowed = budget.past_allowed_minutes
    return None if allowed is None else _minutes(max(0.0, budget.used_minutes - allowed))


def _next_step(standing: Standing) -> Samples:
    step = standing.next_step
    return [] if step is None else [({"state": step.state.value}, _time(step.deploy_at))]


def _rungs(standing: Standing) -> Samples:
    if standing.schedule is None:
        return []
    now = standing.schedule.schedule.basis.rung
    return [({"rung": rung.value}, float(rung is now)) for rung in Rung]


def _actions(standing: Standing) -> Samples:
    numbers: dict[tuple[str, str], int] = {}
    for of in standing.guard_counts:
        if of.state is not GuardState.ADVISED:
            numbers[of.diagnosis, of.action] = numbers.get((of.diagnosis, of.action), 0) + of.number
    return [({"diagnosis": diagnosis, "action": action}, n) for (diagnosis, action), n in numbers.items()]


def _in_state(standing: Standing, state: GuardState) -> float:
    return float(sum(of.number for of in standing.guard_counts if of.state is state))


def _verdicts(standing: Standing) -> Samples:
    judged = (GuardState.EFFECTIVE, GuardState.INEFFECTIVE, GuardState.MOOT)
    return [({"verdict": state.value}, _in_state(standing, state)) for state in judged]


def _barred(standing: Standing) -> Samples:
    return [({"diagnosis": pair.diagnosis, "action": pair.action}, _time(pair.since)) for pair in standing.barred]


METRICS: tuple[MetricDefinition, ...] = (
    _one("forescale_clock_timestamp_seconds", "Time of forescale's clock when this was read.", lambda s: _time(s.at)),
    _of_source(
        "forescale_history_end_timestamp_seconds", "End of the arrival history.", lambda s: _time(s.history_end)
    ),
    _of_source(
        "forescale_forecast_timestamp_seconds", "When the newest forecast was issued.", lambda s: _time(s.issued_at)
    ),
    _of_source(
        "forescale_forecast_end_timestamp_seconds",
        "Until when the newest forecast reaches.",
        lambda s: _time(s.ends_at),
    ),
    _of_source(
        "forescale_forecast_failed",
        "1 where the source could not be forecast the last time.",
        lambda s: float(bool(s.cause)),
    ),
    _of_horizon(
        "forescale_forecast_completed",
        "Past forecasts whose horizon is over and whose peak is known.",
        "scores",
        lambda s: s.completed,
    ),
    _of_horizon(
        "forescale_forecast_coverage_ratio",
        "Share of these whose peak stayed at or below the p95.",
        "scores",
        lambda s: s.coverage,
    ),
    _of_horizon(
        "forescale_forecast_loss_per_second",
        "Mean pinball loss of the peak over p90, p95 and p99, in tuples a second.",
        "scores",
        lambda s: s.loss_per_s,
    ),
    _of_horizon(
        "forescale_forecast_loss_to_naive_ratio",
        "Loss over that of the better seasonal naive; below 1 the forecast wins.",
        "scores",
        lambda s: s.ratio_to_naive,
    ),
    _of_horizon(
        "forescale_forecast_loss_to_backtest_ratio",
        "Loss over what the backtests promised.",
        "drifts",
        lambda d: d.loss_ratio_to_backtest,
    ),
    _of_horizon(
        "forescale_forecast_drifted",
        "1 where forecasts became worse than their backtest said, beyond chance.",
        "drifts",
        lambda d: float(d.alarmed),
    ),
    _one(
        "forescale_calibration_timestamp_seconds",
        "When the operators were measured last.",
        lambda s: _time(s.calibrated_at),
    ),
    _one(
        "forescale_calibration_flagged",
        "1 where the newest schedule notes a problem with the calibration.",
        lambda s: None if s.schedule is None else float(s.schedule.schedule.basis.calibration.amiss),
    ),
    _of_schedule(
        "forescale_schedule_timestamp_seconds", "When the newest schedule was made.", lambda s: _time(s.made_at)
    ),
    _of_schedule("forescale_schedule_end_timestamp_seconds", "End of the newest schedule.", lambda s: _time(s.end)),
    _of_schedule(
        "forescale_schedule_instance_hours",
        "Instance-hours of the newest schedule, expected.",
        lambda s: s.cost_instance_hours,
    ),
    _of_schedule(
        "forescale_schedule_price",
        "Price of the newest schedule in the currency of the prices, expected.",
        lambda s: s.price,
    ),
    _of_schedule(
        "forescale_schedule_violation_seconds",
        "Time in violation under the newest schedule, expected.",
        lambda s: _minutes(s.violation_minutes),
    ),
    _of_schedule(
        "forescale_schedule_violation_allowed_seconds",
        "Time in violation that the newest schedule aimed at.",
        lambda s: _minutes(s.allowed_minutes),
    ),
    _of_schedule(
        "forescale_schedule_violation_probability_ratio",
        "Probability of any violation under it.",
        lambda s: s.violation_probability,
    ),
    MetricDefinition(
        "forescale_rung", "What the newest schedule is planned by: 1 on its rung of the ladder.", _rungs, ("rung",)
    ),
    _of_budget(
        "forescale_violation_seconds",
        "Time in violation in the past week, as far as the lag is known.",
        lambda b: _minutes(b.used_minutes),
    ),
    _of_budget(
        "forescale_violation_known_seconds",
        "Time of the past week of which the lag is known.",
        lambda b: _minutes(b.past_minutes),
    ),
    _of_budget(
        "forescale_violation_allowed_seconds",
        "Time in violation that was allowed in it.",
        lambda b: _minutes(b.past_allowed_minutes),
    ),
    _of_budget(
        "forescale_violation_overdraft_seconds", "Time in violation in it beyond what was allowed.", _overdraft_s
    ),
    MetricDefinition(
        "forescale_next_step_timestamp_seconds", "Deploy time of the next step, with its state.", _next_step, ("state",)
    ),
    MetricDefinition(
        "forescale_steps",
        "Steps in the ledger by state.",
        lambda s: [({"state": state.value}, float(count)) for state, count in s.step_counts.items()],
        ("state",),
    ),
    _one(
        "forescale_rescale_timestamp_seconds",
        "When the newest verified deployment ran.",
        lambda s: None if s.last_change is None else _time(s.last_change[1].verified_at),
    ),
    _of_change(
        "forescale_rescale_predicted_downtime_seconds", "Downtime that was predicted of it.", "predicted", "downtime_s"
    ),
    _of_change("forescale_rescale_downtime_seconds", "Downtime that was measured.", "measured", "downtime_s"),
    _of_change(
        "forescale_rescale_predicted_catch_up_seconds", "Catch-up that was predicted of it.", "predicted", "catch_up_s"
    ),
    _of_change("forescale_rescale_catch_up_seconds", "Catch-up that was measured.", "measured", "catch_up_s"),
    _of_change(
        "forescale_rescale_predicted_utilisation_ratio",
        "Utilisation of its bottleneck under the planned load.",
        "predicted",
        "utilisation",
    ),
    _one(
        "forescale_planned_downtime_seconds",
        "Downtime to plan with, learnt or declared.",
        lambda s: None if s.learned is None else s.learned.downtime.seconds,
    ),
    MetricDefinition(
        "forescale_operator_busy_ratio",
        "Share of the time that the operator's busiest instance worked when the guard last looked.",
        lambda s: [({"operator": name}, busy) for name, busy in s.busy.items()],
        ("operator",),
    ),
    MetricDefinition(
        "forescale_guard_actions_total", "Actions that the guard began.", _actions, ("diagnosis", "action"), "counter"
    ),
    MetricDefinition(
        "forescale_guard_verdicts_total", "Actions of the guard that were judged.", _verdicts, ("verdict",), "counter"
    ),
    _one(
        "forescale_guard_open_actions",
        "Actions of the guard that wait for their verdict.",
        lambda s: _in_state(s, GuardState.OPEN),
    ),
    _one(
        "forescale_guard_advice_kept",
        "Advice of the guard that the ledger keeps.",
        lambda s: _in_state(s, GuardState.ADVISED),
    ),
    MetricDefinition(
        "forescale_guard_barred_since_timestamp_seconds",
        "Since when a pair is barred.",
        _barred,
        ("diagnosis", "action"),
    ),
)
