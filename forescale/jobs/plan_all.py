"""Forecasts → scaling schedules of all topologies: planned in parallel by processes or Spark, then fitted, in this
process, to the quotas that they share.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

from forescale.files.file_error import FileError
from forescale.files.fleet import read_fleet_file
from forescale.files.topology import TopologyConfig, read_topology_file, topology_files
from forescale.jobs.locks import planning_all
from forescale.jobs.plan import (
    PlanRequest,
    earlier_schedule,
    kept,
    plan_request,
    published,
    request_case,
    request_schedule,
)
from forescale.jobs.planning_case import PlanningCase
from forescale.jobs.proposed_schedule import ProposedSchedule
from forescale.jobs.topology_workers import EXPECTED, Progress, TopologyWorkers, WorkerProcesses, spark_workers
from forescale.situation.known_situation import recalibrated
from forescale.situation.workspace import Workspace
from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.wording import count_of
from planner.errors import ClusterError, PlanError
from planner.fleet.grants import granted
from planner.fleet.holding import Holding
from planner.fleet.shortage import Shortage, excuse, shortages
from planner.fleet.stagger import ChangeBounds, staggered
from planner.fleet.terms import FleetTerms, Quota
from planner.ledger.entries import ScheduleEntry
from planner.ledger.step_state import WAITING
from planner.near_rescale import NearRescale
from planner.scaling_schedule import ScalingSchedule


@dataclass(frozen=True)
class PlannedFleet:
    """schedules: by name of the planned topology. failures: why a topology was not planned. moved: rescales made
    earlier than needed, to be apart from others; stuck: those that remain close to each other. uncounted: topologies
    whose instances are unknown.
    """

    schedules: tuple[ProposedSchedule, ...]
    failures: Mapping[str, str]
    moved: tuple[NearRescale, ...]
    stuck: tuple[NearRescale, ...]
    uncounted: tuple[str, ...]


@dataclass(frozen=True)
class _Shared:
    """Schedules under shared terms, by topology, and their rescales that were moved apart or could not be."""

    schedules: Mapping[str, ScalingSchedule]
    failures: Mapping[str, str]
    moved: tuple[NearRescale, ...] = ()
    stuck: tuple[NearRescale, ...] = ()


def plan_all(
    workspace: Workspace,
    fleet: Path | None = None,
    *,
    workers: int | None = None,
    spark: bool = False,
    progress: Progress | None = None,
) -> PlannedFleet:
    """Plan every topology of the folder of topology files as `plan` does, and record schedules that together meet the
    terms of a fleet file. The same forecasts, running plans and terms are planned for once.

    A failure concerns one topology, whose instances still count. workers: processes; None: as many as cores. spark:
    use the workers of the Spark master instead. Raises FileError if there are no topologies or the fleet file cannot
    be used; PlanError if a quota is below what runs, and as spark_workers.
    """
    workspace = Workspace(workspace.settings.with_absolute_paths())  # a worker may run in another folder
    configs, failures = _configs(workspace, fleet)
    terms = FleetTerms() if fleet is None else read_fleet_file(fleet, [*configs, *failures])
    count = workers or min(os.cpu_count() or 1, len(configs) or 1)
    ledger = workspace.ledger
    with (
        planning_all(workspace.settings),
        spark_workers(workspace, progress) if spark else WorkerProcesses(count, progress) as pool,
    ):
        asked, failed = pool.each("read", partial(_request, workspace), configs)
        failures |= failed
        fixed = {name: _standing(workspace, configs[name]) for name in failures if name in configs}
        asked = _marked(asked, fixed, terms)
        _check_running(asked, fixed, terms.quotas, fleet)
        entries = {name: entry for name, each in asked.items() if (entry := earlier_schedule(each, ledger)) is not None}
        # Under shared terms, schedules are recorded together or not at all.
        together = fleet is None or len(entries) == len(asked)
        entries = entries if together else {}
        tasks = {name: each for name, each in asked.items() if name not in entries}
        planned, failed = pool.each("plan", partial(_planned, workspace), tasks)
        failures |= failed
        fixed |= {name: _standing(workspace, configs[name]) for name in failed}
        shared = _under(workspace, terms, pool, tasks, planned, {name: each for name, each in fixed.items() if each})
        failures |= shared.failures
        answers: dict[str, ScheduleEntry | ScalingSchedule] = {**entries, **shared.schedules}
        keep = {name: (asked[name], answers[name]) for name in sorted(answers)}
        recorded, failed = pool.each("record", partial(_recorded, workspace), keep)
    uncounted = [name for name in failures if terms.quotas and fixed.get(name) is None]
    return PlannedFleet(
        tuple(recorded.values()),
        {**failures, **failed},
        shared.moved,
        shared.stuck,
        tuple(sorted(uncounted)),
    )


def _configs(workspace: Workspace, fleet: Path | None) -> tuple[dict[str, TopologyConfig], dict[str, str]]:
    """Configurations by topology; and errors by file name."""
    folder = workspace.settings.topologies
    files = topology_files(folder, fleet)
    if not files:
        raise FileError(f"no topology file (*.yaml) in {folder}; add one, or set FORESCALE_TOPOLOGIES to their folder")
    found, failures, read_from = dict[str, TopologyConfig](), dict[str, str](), dict[str, Path]()
    for path in files:
        try:
            config = read_topology_file(path)
        except FileError as error:
            failures[path.stem] = str(error)
            continue
        if (other := read_from.setdefault(config.topology, path)) != path:
            raise FileError(f"{path} describes topology {config.topology!r}, as {other} does; rename or remove one")
        found[config.topology] = config
    return found, failures


def _request(workspace: Workspace, config: TopologyConfig) -> PlanRequest:
    return plan_request(workspace, config)


def _planned(workspace: Workspace, request: PlanRequest) -> tuple[PlanningCase, ScalingSchedule]:
    forecasts = request.forecasts()
    _, case = request_case(workspace, request, forecasts)
    return case, request_schedule(workspace, request, case, forecasts)


def _planned_again(workspace: Workspace, task: tuple[PlanRequest, PlanningCase, int]) -> ScalingSchedule:
    request, case, at_most = task
    return request_schedule(workspace, request, case, request.forecasts(), at_most)


def _recorded(workspace: Workspace, task: tuple[PlanRequest, ScheduleEntry | ScalingSchedule]) -> ProposedSchedule:
    (request, made), ledger = task, workspace.ledger
    entry = kept(request, made, ledger) if isinstance(made, ScalingSchedule) else made
    return published(
        workspace, request, recalibrated(request.situation, workspace.settings), entry, request.forecasts()
    )


def _standing(workspace: Workspace, config: TopologyConfig) -> Holding | None:
    try:
        return standing(workspace, config)
    except EXPECTED:
        return None


def _marked(
    requests: Mapping[str, PlanRequest], fixed: Mapping[str, Holding | None], terms: FleetTerms
) -> dict[str, PlanRequest]:
    """If anything is shared, each schedule depends on all others: mark the requests accordingly."""
    mark = ""
    if terms != FleetTerms():
        held = {name: None if each is None else [str(each.schedule.current.instances)] for name, each in fixed.items()}
        rests_on = {name: each.basis.question for name, each in requests.items()}
        body = json.dumps([rests_on, held, asdict(terms)], sort_keys=True, default=sorted)
        mark = hashlib.sha256(body.encode()).hexdigest()[:12]
    return {name: replace(each, basis=replace(each.basis, fleet=mark)) for name, each in requests.items()}


def _holding(request: PlanRequest, schedule: ScalingSchedule) -> Holding:
    """Instances held besides the schedule: those that a shadow does not replace, and those above a floor."""
    kept = request.config.planning.shadow or request.config.planning.floor
    return Holding(schedule, at_least=request.running.instances if kept else 0)


def _check_running(
    requests: Mapping[str, PlanRequest],
    fixed: Mapping[str, Holding | None],
    quotas: Sequence[Quota],
    fleet: Path | None,
) -> None:
    """Raises PlanError for a quota that what runs now exceeds."""
    running = {name: max(each.running.instances, each.start.plan.instances) for name, each in requests.items()}
    running |= {name: each.running for name, each in fixed.items() if each is not None}
    for quota in quotas:
        of = {name: count for name, count in running.items() if name in quota.topologies}
        if (total := sum(of.values())) > quota.instances:
            most = sorted(of.items(), key=lambda each: (-each[1], each[0]))
            named = ", ".join(f"{name} {count}" for name, count in most[:5]) + (", …" if len(most) > 5 else "")
            raise PlanError(
                f"{fleet}: {quota.name} is {count_of(quota.instances, 'instance')}, and {total} run now "
                f"({named}); raise it to "
                f"{total} or more, or scale one down first with `forescale deploy now`"
            )


def _under(
    workspace: Workspace,
    terms: FleetTerms,
    pool: TopologyWorkers,
    requests: Mapping[str, PlanRequest],
    planned: Mapping[str, tuple[PlanningCase, ScalingSchedule]],
    fixed: Mapping[str, Holding],
) -> _Shared:
    own = {name: schedule for name, (_, schedule) in planned.items()}
    if terms == FleetTerms() or not own:
        return _Shared(own, {})
    failures: dict[str, str] = {}

    def replanned(at_most: Mapping[str, int]) -> Mapping[str, ScalingSchedule]:
        tasks = {name: (requests[name], planned[name][0], count) for name, count in at_most.items()}
        made, failed = pool.each("plan within the quotas", partial(_planned_again, workspace), tasks)
        failures.update(failed)
        return made

    wishes = [*(_holding(requests[name], schedule) for name, schedule in own.items()), *fixed.values()]
    grants = granted(wishes, terms.quotas, replanned)
    short = shortages(wishes, grants, terms.quotas)
    bounds = {name: ChangeBounds(case.terms, case.rules) for name, (case, _) in planned.items()}
    apart = staggered(grants.holdings, terms, bounds)
    lacks: dict[str, list[Shortage]] = {wish.name: [] for wish in wishes}
    for each in short:
        lacks[each.topology].append(each)
    excused = {wish.name: excuse(wish, grants, lacks[wish.name]) for wish in wishes}
    schedules = {
        each.name: _explained(each, excused[each.name], apart.stuck.get(each.name, ()))
        for each in apart.holdings
        if not each.fixed and each.name not in failures
    }
    return _Shared(
        schedules,
        failures,
        tuple(apart.moved),
        tuple(chain.from_iterable(apart.stuck.values())),
    )


def _explained(holding: Holding, excused: Excuse | None, stuck: Sequence[NearRescale]) -> ScalingSchedule:
    """The schedule with notes on why it differs from one planned alone, and what could not be avoided."""
    schedule = holding.schedule
    if excused is not None:
        schedule = replace(schedule, excuses=(*schedule.excuses, excused))
    return replace(schedule, crowded=tuple(stuck))


def standing(workspace: Workspace, config: TopologyConfig) -> Holding | None:
    """None if neither the cluster nor the ledger knows what runs."""
    now = workspace.clock.now()
    newest = next(iter(workspace.ledger.schedules(config.topology, limit=1)), None)
    last = None if newest is None else newest.schedule
    running = _running(workspace, config) or _by_schedule(last, now)
    if running is None:
        return None
    if newest is None or last is None or newest.shadow:
        return Holding(ScalingSchedule(config.topology, now, now, now, 0.95, running, (), 0.0, ""), fixed=True)
    waiting = {step.position for step in workspace.ledger.steps(schedule_id=newest.id) if step.state in WAITING}
    steps = [step for number, step in enumerate(last.steps, 1) if number in waiting and step.deploy_at > now]
    return Holding(replace(last, start=now, current=running, steps=tuple(steps)), fixed=True)


def _running(workspace: Workspace, config: TopologyConfig) -> PhysicalPlan | None:
    try:
        return workspace.cluster(config).state().plan
    except ClusterError:
        return None


def _by_schedule(last: ScalingSchedule | None, now: datetime) -> PhysicalPlan | None:
    """The plan that would run, had the last schedule been deployed."""
    if last is None:
        return None
    return next((step.plan for step in reversed(last.steps) if step.deploy_at <= now), last.current)
