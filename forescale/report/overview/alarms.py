"""Alarms of a topology, worst first."""

from collections.abc import Iterator

from forescale.report.kit.decision_words import basis_summary
from forescale.report.kit.wording import duration, moment
from forescale.standing import SourceStanding, Standing
from planner.ledger.step_state import StepState


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
    if standing.ended and (last := standing.ended[-1]).state is StepState.ROLLED_BACK:
        yield f"the step of {moment(last.deploy_at)} UTC was rolled back: {last.reason}"


def _of_schedule(standing: Standing) -> Iterator[str]:
    if standing.schedule is None:
        return
    schedule = standing.schedule.schedule
    if schedule.end <= standing.at:
        yield f"the newest schedule ended {moment(schedule.end)} UTC; run `forescale plan {standing.topology}`"
    if told := basis_summary(schedule.basis):
        yield f"planned by: {told}"


def _of_guard(standing: Standing) -> Iterator[str]:
    if (action := standing.open_action) is not None:
        yield f"the guard acts: {action.action} of {action.operator}, {action.why}"
    for barred in standing.barred:
        yield f"the guard no longer tries {barred.action} for {barred.diagnosis}: {barred.why}"


def _of_source(source: SourceStanding) -> Iterator[str]:
    if source.cause:
        yield f"{source.source}: {source.cause}"
    for drift in source.drifts:
        if drift.alarmed:
            yield f"{source.source} drifts within {duration(drift.horizon_s)}: {drift.reason}"
