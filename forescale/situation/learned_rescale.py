"""Downtime, lead time and warm-up learnt from a topology's past deployments, used instead of the file's."""

import logging
from dataclasses import dataclass, replace

from forescale.files.planning_section import Planning
from forescale.files.site import SiteFile
from forescale.files.topology import TopologyConfig
from forescale.situation.past import Past
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.rescaling.rescale_model import DECLARED_NOISE, RescaleModel, declared_rescale
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from planner.clusters.engine_terms import EngineTerms
from planner.decision_basis import LearnedFacts, WarmUpFacts
from planner.learned_rescale import LearnedRescale, MeasuredDeployment, learned_rescale
from planner.learned_warm_up import LearnedWarmUp, learned_warm_up
from planner.ledger.entries import Outcome, StepEntry

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnedPlanning:
    """planning: the file's section with the learnt lead time and the learnt downtime, without the part that state
    restore adds; unchanged if too little is known. warmed: how the job warms up. facts: the values used, the number of
    deployments behind them, and the file's values.
    """

    planning: Planning
    learned: LearnedRescale
    warmed: LearnedWarmUp
    facts: LearnedFacts
    restore: StateRestore = NO_RESTORE

    @property
    def rescale(self) -> RescaleModel:
        """How long changes take, as planned with: learnt, or declared."""
        if self.learned.model is not None:
            return self.learned.model
        known = self.learned.downtime.deployments
        error = DECLARED_NOISE / known**0.5 if known else 1.0
        speed = self.restore.s_per_gib
        model = declared_rescale(
            self.planning.downtime_s, save_s_per_gib=0.0, restore_s_per_gib=speed, relative_error=error
        )
        return replace(model, measured=known)

    @property
    def engine(self) -> EngineTerms:
        """Terms of a simulated engine that rescales as planned with."""
        restore = self.restore
        return EngineTerms(
            self.planning.downtime_s,
            lead_s=self.planning.lead_s,
            restore_s_per_gib=restore.s_per_gib,
            state_gib=restore.state_gib,
            restored=restore.restored,
            parallel_restore=restore.parallel,
            warm_up=self.warmed.warm_up,
        )


def learned_planning(
    config: TopologyConfig, topology: Topology, profiles: Profiles, site: SiteFile, past: Past
) -> LearnedPlanning:
    """Learn from the past's deployments. profiles: those in force, for the size of the state. Raises LedgerError."""
    declared, verified = config.planning, past.verified
    state_gib = {name: gib for name in topology.order if (gib := profiles[name].state_gib)}
    told = site if site.rescales_known else None
    restore, downtime_s = StateRestore(state_gib=state_gib), declared.downtime_s
    if told is not None:
        restore = StateRestore(told.rescale.restore_s_per_gib, state_gib, told.restored, told.parallel_restore)
        saved_gib = sum(state_gib.values()) if told.with_savepoint else 0.0
        downtime_s += told.rescale.save_s_per_gib * saved_gib
    measured = [_measured(step, outcome, topology, restore) for step, outcome in verified]
    speed = None if told is None else told.rescale.restore_s_per_gib
    learned = learned_rescale(measured, downtime_s, declared.lead_s, speed)
    restart_s, speed_used = learned.downtime.seconds, None
    if learned.model is not None:
        speed_used = learned.model.restore_s_per_gib
        told_gib = (job_gib for _, each in verified if (job_gib := each.measured.get("state_gib")) is not None)
        newest_gib = next(told_gib, sum(state_gib.values()))
        restore = _of_size(replace(restore, s_per_gib=learned.model.restore_s_per_gib), newest_gib)
        restart_s = learned.model.restart_s if restore.takes_time else restart_s
    elif restore.takes_time:
        speed_used = restore.s_per_gib
    warmed = learned_warm_up(past.speeds, config.warm_up)
    facts = LearnedFacts(learned.downtime, learned.lead, speed_used, learned.model is not None, _warm_up_facts(warmed))
    planning = declared.model_copy(update={"downtime_s": restart_s, "lead_s": learned.lead.seconds})
    return LearnedPlanning(planning, learned, warmed, facts, restore if restore.takes_time else NO_RESTORE)


def _warm_up_facts(warmed: LearnedWarmUp) -> WarmUpFacts:
    curve = warmed.warm_up
    return WarmUpFacts(curve.start_share, curve.warm_s, warmed.declared.warm_s, warmed.deployments, warmed.known)


def _measured(step: StepEntry, known: Outcome, topology: Topology, restore: StateRestore) -> MeasuredDeployment:
    """A deployment with the part of its state that was restored, estimated from the operators' present profiles."""
    told = known.measured
    job_gib, total_gib = told.get("state_gib"), sum(restore.state_gib.values())
    if total_gib and all(_fits(plan, topology) for plan in (step.replaces, step.plan)):
        if restore.s_per_gib and job_gib is None:
            job_gib = total_gib
        if job_gib is not None:
            read_gib = replace(restore, s_per_gib=1.0).change_s(topology, step.replaces, step.plan)
            job_gib *= read_gib / total_gib
    return MeasuredDeployment(told.get("downtime_s"), told.get("lead_s"), job_gib)


def _fits(plan: PhysicalPlan, topology: Topology) -> bool:
    """Whether the plan fits the operators of the present file."""
    most = topology.max_parallelism
    return plan.parallelism.keys() == most.keys() and all(n <= most[name] for name, n in plan.parallelism.items())


def _of_size(restore: StateRestore, total_gib: float) -> StateRestore:
    """The same terms scaled to that total state."""
    factor = total_gib / known_gib if (known_gib := sum(restore.state_gib.values())) else 1.0
    return replace(restore, state_gib={name: gib * factor for name, gib in restore.state_gib.items()})
