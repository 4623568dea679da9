"""What past deployments of a topology teach: the downtime and the lead time to plan with in place of the file's."""

from collections.abc import Mapping
from dataclasses import dataclass

from forescale.files.planning_section import Planning
from forescale.files.topology import TopologyConfig
from forescale.report.kit.wording import count_of
from planner.learned_rescale import MIN_DEPLOYMENTS, LearnedNumber, LearnedRescale, MeasuredDeployment, learned_rescale
from planner.ledger.entries import Outcome
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

NEWEST = 20
"""Deployments that are learnt from: older ones tell of another cluster, or of another size of the job."""


@dataclass(frozen=True)
class LearnedPlanning:
    """planning: the file's section, with the downtime and the lead time that were learnt; as it was where too little is
    known. notes: by name, what it plans with, from how many deployments, and what the file says.
    """

    planning: Planning
    learned: LearnedRescale
    notes: Mapping[str, str]


def learned_planning(ledger: Ledger, config: TopologyConfig) -> LearnedPlanning:
    """Of the newest deployments of the topology that were verified; what was undone or refused teaches nothing."""
    verified = ledger.outcomes(config.topology, states=(StepState.VERIFIED,), limit=NEWEST)
    declared = config.planning
    learned = learned_rescale([_measured(known) for _, known in verified], declared.downtime_s, declared.lead_s)
    terms = {"downtime_s": learned.downtime.seconds, "lead_s": learned.lead.seconds}
    by_state = "" if learned.model is None else f", at {learned.model.restore_s_per_gib:.3g} s per GiB of state"
    notes = {
        "downtime": f"{_note(learned.downtime)}{by_state}",
        "lead time": _note(learned.lead),
    }
    return LearnedPlanning(declared.model_copy(update=terms), learned, notes)


def _measured(known: Outcome) -> MeasuredDeployment:
    told = known.measured
    return MeasuredDeployment(told.get("downtime_s"), told.get("lead_s"), told.get("state_gib"))


def _note(number: LearnedNumber) -> str:
    file = f"{number.declared_s:.3g} s"
    if number.deployments:
        return f"{number.seconds:.3g} s, learnt from {number.deployments} deployments; the topology file says {file}"
    known = count_of(number.known, "deployment")
    return f"{file}, as the topology file says; measured in {known}, {MIN_DEPLOYMENTS} are needed"
