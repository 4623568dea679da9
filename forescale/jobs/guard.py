"""The guard of a topology: turns, its record, and lifting of barred pairs."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from forescale.codec import Moment
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.jobs.locks import deployment_lock
from forescale.report.kit.guard_words import reasons_words
from forescale.situation.grounds import measured_grounds
from forescale.situation.known_guard import known_guard
from forescale.situation.workspace import Workspace
from forescale.wiring.backlogs import recorded_backlogs
from forescale.wiring.engines.registry import cluster_kind
from planner.deployment import Patience
from planner.errors import PlanError
from planner.guard.terms import GuardTerms
from planner.guard_facts import ActionKind, Diagnosis, DiagnosisKind, Reason, Symptom
from planner.guarding import Guarded, GuardTurn, guard_turn
from planner.horizon.budget import Budget
from planner.ledger.entries import BarredPair, GuardAction
from planner.provenance import Ground

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Guarding:
    """One turn of the guard. plan: running parallelism. reasons: conclusions from symptoms and diagnoses.

    action: begun in this turn; judged: earlier action that got its verdict in this turn; advice: what only people can
    do, or what the guard would do if it were to act. unmeasured: reason by source whose arrivals are estimated.
    stands_on: with the service times that this turn has measured.
    """

    topology: str
    at: Moment
    mode: str
    plan: Mapping[str, int]
    symptoms: tuple[Symptom, ...]
    diagnoses: tuple[Diagnosis, ...]
    reasons: tuple[Reason, ...]
    action: GuardAction | None
    judged: GuardAction | None
    advice: tuple[GuardAction, ...]
    unmeasured: Mapping[str, str]
    stands_on: tuple[Ground, ...] = ()


@dataclass(frozen=True)
class GuardRecord:
    """Actions of a topology's guard, newest first, and the pairs that it must not try."""

    topology: str
    mode: str
    actions: tuple[GuardAction, ...]
    barred: tuple[BarredPair, ...]


def guard(workspace: Workspace, topology: str) -> Guarding:
    """One turn; safe to run again after a kill. Raises PlanError if the guard is off or would see nothing, and
    ClusterError.
    """
    config = workspace.config(topology)
    mode = config.planning.guard_mode
    if mode == "off":
        raise PlanError(
            f"the guard of topology {config.topology!r} is off; set planning.guard.mode: advise or act in its file"
        )
    if not config.cluster.counts_tuples:
        raise PlanError(
            f"topology {config.topology!r} has no guard: a cluster of kind {config.cluster.kind!r} counts no tuples, "
            "which a guard needs; its plans are made and deployed without one"
        )
    clock, ledger = workspace.clock, workspace.ledger
    cluster = workspace.cluster(config)
    known = known_guard(workspace, config)
    guarded = replace(_guarded(config, known.terms), alone=partial(deployment_lock, workspace))
    turn = guard_turn(guarded, ledger, cluster, clock, recorded_backlogs(config, cluster, ledger, clock))
    logger.info("guard of %s: %s", config.topology, reasons_words(turn.reasons))
    return _guarding(turn, mode, known.stands_on)


def guard_record(workspace: Workspace, topology: str, *, limit: int = 20) -> GuardRecord:
    config = workspace.config(topology)
    records = workspace.ledger.guard
    actions = tuple(records.actions(config.topology, limit=limit))
    return GuardRecord(config.topology, config.planning.guard_mode, actions, tuple(records.barred(config.topology)))


def lift(workspace: Workspace, topology: str, diagnosis: str, action: str, *, by: str) -> BarredPair:
    """Allow a barred pair again. Raises PlanError for an unknown diagnosis or action, LedgerError for a pair that is
    not barred.
    """
    config = workspace.config(topology)
    for what, word, kinds in (("diagnosis", diagnosis, DiagnosisKind), ("action", action, ActionKind)):
        if word not in [kind.value for kind in kinds]:
            raise PlanError(f"{what} {word!r} is unknown; give one of {', '.join(kinds)}")
    return workspace.ledger.guard.lift(config.topology, diagnosis, action, at=workspace.clock.now(), by=by)


def guarded_topologies(workspace: Workspace, names: Iterable[str]) -> list[str]:
    """Topologies whose guard is on and has something to see. Includes topologies that cannot be read: the turn of such
    a one then fails by itself.
    """
    return [name for name in names if _may_be_guarded(workspace, name)]


def _may_be_guarded(workspace: Workspace, name: str) -> bool:
    try:
        config = workspace.config(name)
        return config.planning.guard_mode != "off" and config.cluster.counts_tuples
    except FileError:
        return True


def _guarded(config: TopologyConfig, terms: GuardTerms) -> Guarded:
    planning = config.planning
    look_s = cluster_kind(config.cluster).look_s(config.cluster)
    return Guarded(
        config.as_topology(),
        terms,
        acts=planning.guard_mode == "act",
        look_s=min(look_s, terms.window_s),
        lead_s=planning.lead_s,
        patience=Patience(planning.deploy_timeout_s, hold_s=planning.hold_s),
        floor=planning.floor,
        rescale_h=planning.rescale_cost_instance_hours,
        held_s=config.forecast.every_s / 2,
        most_late_s=Budget(planning.allowed_share, price_h=planning.price_per_violation_minute).most_late_s(
            config.forecast.horizon_s / 60
        ),
    )


def _guarding(turn: GuardTurn, mode: str, known: Iterable[Ground]) -> Guarding:
    found = turn.assessment
    return Guarding(
        turn.topology,
        turn.at,
        mode,
        turn.plan,
        () if found is None else found.symptoms,
        () if found is None else found.diagnoses,
        turn.reasons,
        turn.action,
        turn.judged,
        turn.advice,
        {} if found is None else found.unmeasured,
        measured_grounds(known, turn.at, turn.looks, turn.timed),
    )
