"""What the guard of a topology goes by: its terms, and what they stand on."""

import logging
from dataclasses import dataclass

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.workspace import Workspace
from forescale.wiring.planning_terms import guard_terms_of
from planner.errors import LedgerError, PlanError
from planner.guard.terms import GuardTerms
from planner.plan_model import PlanModel
from planner.provenance import Ground

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KnownGuard:
    """stands_on: without the service times, which the guard measures itself where it can."""

    terms: GuardTerms
    stands_on: tuple[Ground, ...]


def known_guard(workspace: Workspace, config: TopologyConfig) -> KnownGuard:
    """The guard sizes by the longest of the downtimes planned with, and by what plans carry in the situation. If a
    record or file that says so cannot be read, it keeps working: with the topology file's downtime, and by what it
    measures alone.
    """
    model: PlanModel | None = None
    stands_on: tuple[Ground, ...] = ()
    try:
        situation = workspace.situation(config)
        model, stands_on = situation.model, grounds(situation)
        situation = situation.with_ledger(workspace.ledger.past_damage())
        learned = situation.learned
        downtime_s, stands_on = learned.engine.whole_s, (*stands_on, *rescale_grounds(situation))
        warm_up = learned.warmed.warm_up
    except (FileError, LedgerError, PlanError) as error:
        logger.warning("the guard of %s sizes by planning.downtime_s of its file: %s", config.topology, error)
        downtime_s, warm_up = config.planning.downtime_s, config.warm_up
    return KnownGuard(guard_terms_of(config, downtime_s, model, warm_up, workspace.clock.now()), stands_on)
