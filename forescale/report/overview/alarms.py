"""Alarms of a topology, worst first."""

from collections.abc import Iterator

from forescale.report.decision.proposal import NEGLIGIBLE
from forescale.report.decision.verdict import late
from forescale.report.kit.decision_words import arrival_words, basis_summary, causes_words
from forescale.report.kit.guard_words import barred_words, reason_words
from forescale.report.kit.local_time import LocalTime
from forescale.report.kit.schedule_words import impossible
from forescale.report.kit.step_reasons import why_words
from forescale.report.kit.wording import duration, minutes
from forescale.standing import SourceStanding, Standing
from planner.decision_basis import Rung
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule


def alarms(standing: Standing) -> tuple[str, ...]:
    """Alarms in words, worst first."""
    return (
        *standing.damaged,
        *filter(None, [standing.no_file]),
        *_of_steps(standing),
        *_of_schedule(standing),
        *_of_guard(standing),
        *(reason for source in standing.sources for reason in _of_source(source)),
    )


def _of_steps(standing: Standing) -> Iterator[str]:
    local = LocalTime(standing.timezone)
    if standing.ended and (last := standing.ended[-1]).state is StepState.ROLLED_BACK:
        yield f"the step of {local.moment(last.deploy_at)} was rolled back: {why_words(last.why)}"


def _of_schedule(standing: Standing) -> Iterator[str]:
    if standing.schedule is None:
        return
    schedule, local = standing.schedule.schedule, LocalTime(standing.timezone)
    if schedule.end <= standing.at:
        yield f"the newest schedule ended {local.moment(schedule.end)}; run `forescale plan {standing.topology}`"
    if schedule.basis.rung is Rung.FORECAST and (causes := causes_words(schedule.basis)):
        yield f"planned by the forecast, but {causes}"
    elif told := basis_summary(schedule.basis):
        yield f"planned without a forecast, by {told}" if schedule.basis.rung.plans else f"nothing to plan by, {told}"
    for facts in schedule.basis.arrivals:
        if facts.silent_s is not None:
            yield f"{arrival_words(facts)}: see `forescale doctor {standing.topology}`"
    if not standing.schedule.replaced_by:
        yield from _of_budget(schedule)


def _of_budget(schedule: ScalingSchedule) -> Iterator[str]:
    """Late minutes that no plan within the limits spares; those that pay the debt of the week before are no alarm."""
    allowed, expected = schedule.allowed_minutes, schedule.violation_minutes
    if allowed is None or expected <= max(allowed, schedule.own_minutes) + NEGLIGIBLE:
        return
    what_would = [f": {excuse}" for excuse in impossible(schedule)[:1]]
    yield f"{late(expected)} expected, {minutes(allowed)} allowed{''.join(what_would)}"


def _of_guard(standing: Standing) -> Iterator[str]:
    if (action := standing.open_action) is not None:
        yield f"the guard acts: {action.action} of {action.operator}, {reason_words(action.reason)}"
    for barred in standing.barred:
        yield f"the guard no longer tries {barred.action} for {barred.diagnosis}: {barred_words(barred)}"


def _of_source(source: SourceStanding) -> Iterator[str]:
    if source.cause:
        yield f"{source.source}: {source.cause}"
    for drift in source.drifts:
        if drift.alarmed:
            yield f"forecasts of {source.source} {duration(drift.horizon_s)} ahead have become worse: {drift.reason}"
