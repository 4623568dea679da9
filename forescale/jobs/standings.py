"""Where every topology stands, by its file, the ledger and what its last forecast left: no cluster is asked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.forecast_report import read_forecast_pages
from forescale.jobs.violation_budget import past_minutes
from forescale.report.kit.wording import duration, moment
from forescale.report.overview.standing import Standing
from forescale.report.overview.topology_page import Decided
from forescale.settings import Settings
from forescale.wiring.parts import clock_of
from planner.fallback import Footing
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, StepState

ENDED = (StepState.VERIFIED, StepState.ROLLED_BACK)
MAX_DECISIONS = 50


def standing(settings: Settings, ledger: Ledger, name: str, config: TopologyConfig | FileError | None) -> Standing:
    """config: as `known_topologies` has it."""
    now = clock_of(settings).now()
    newest = next(iter(ledger.schedules(name, limit=1)), None)
    waiting = ledger.steps(topology=name, states=WAITING)
    since = now - timedelta(days=1) if newest is None else newest.schedule.made_at
    ended = sorted(
        ledger.steps(topology=name, states=ENDED, changed_since=since), key=lambda step: (step.updated_at, step.id)
    )
    verified = [step for step in ended if step.state is StepState.VERIFIED]
    past = past_minutes(ledger, name, now, shadow=newest is not None and newest.shadow)
    running, running_since = _running(newest, verified)
    return Standing(
        name,
        newest,
        running,
        running_since,
        next(iter(waiting), None),
        len(waiting),
        past.in_violation,
        past.known,
        config.planning.allowed_share * past.known if isinstance(config, TopologyConfig) else None,
        tuple(_alarms(settings, ledger, name, config, newest, ended, now)),
    )


def decided(ledger: Ledger, schedules: Sequence[ScheduleEntry], reports: Mapping[str, str]) -> list[Decided]:
    """Decisions with where their steps stand. reports: addresses by the id of the schedule; without one there is
    none.
    """
    return [
        Decided(made, Counter(str(step.state) for step in ledger.steps(schedule_id=made.id)), reports.get(made.id, ""))
        for made in schedules
    ]


def _running(newest: ScheduleEntry | None, verified: list[StepEntry]) -> tuple[str, datetime | None]:
    if newest is None:
        return "", None
    if verified and not newest.shadow:
        return verified[-1].plan.brief(), verified[-1].updated_at
    return newest.schedule.current.brief(), newest.schedule.made_at


def _alarms(
    settings: Settings,
    ledger: Ledger,
    name: str,
    config: TopologyConfig | FileError | None,
    newest: ScheduleEntry | None,
    ended: list[StepEntry],
    now: datetime,
) -> Iterator[str]:
    if not isinstance(config, TopologyConfig):
        yield str(config or f"there is no topology file of it in {settings.topologies}")
    if ended and ended[-1].state is StepState.ROLLED_BACK:
        yield f"the step of {moment(ended[-1].deploy_at)} UTC was rolled back: {ended[-1].reason}"
    if newest is not None and newest.schedule.end <= now:
        yield f"the newest schedule ended {moment(newest.schedule.end)} UTC; run `forescale plan {name}`"
    if newest is not None and (told := Footing.of(newest.schedule.derived_from).told):
        yield f"planned by: {told}"
    if (action := ledger.guard.open_action(name)) is not None:
        yield f"the guard acts: {action.action} of {action.operator}, {action.why}"
    for barred in ledger.guard.barred(name):
        yield f"the guard no longer tries {barred.action} for {barred.diagnosis}: {barred.why}"
    for source, page in read_forecast_pages(settings, name).items():
        if page.cause:
            yield f"{source}: {page.cause}"
        for horizon_s, reason in sorted(page.alarms.items()):
            yield f"{source} drifts within {duration(horizon_s)}: {reason}"
