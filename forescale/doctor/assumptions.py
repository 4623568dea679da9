"""What decisions on a topology assume, and what would tell instead."""

from datetime import datetime

from forescale.doctor.examination import NotUsedError
from forescale.files.topology import TopologyConfig
from forescale.jobs.violation_budget import recorded_budget
from forescale.report.kit.stands_on import stands_on_words
from forescale.situation.decision_grounds import rule_grounds
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.learned_rescale import learned_planning
from forescale.situation.workspace import Workspace
from planner.horizon.budget import Budget
from planner.provenance import Origin, Quantity

_TOLD_BY = {
    Quantity.KEYS: "name arrivals.columns.key and run `forescale history build`, or declare key_shares",
    Quantity.CONTAINERS: "add a section packing",
    Quantity.CORES: "name a site with containers.cores in packing.site",
    Quantity.DOWNTIME: "two deployments teach it; until then declare planning.downtime_s",
    Quantity.LEAD: "two deployments that add instances teach it; until then declare planning.lead_s",
    Quantity.LIMITS: "declare planning.max_instances",
    Quantity.BUDGET: "declare planning.allow",
}


def assumptions(workspace: Workspace, config: TopologyConfig, now: datetime) -> str:
    """What no file declares and nobody has measured or learnt, with what would tell.

    Raises NotUsedError if nothing is assumed.
    """
    situation, ledger = workspace.situation(config), workspace.existing_ledger
    budget = Budget() if ledger is None else recorded_budget(config, ledger, now)
    stands_on = (
        *grounds(situation),
        *rescale_grounds(situation, learned_planning(situation, ledger)),
        *rule_grounds(situation, budget, now),
    )
    assumed = [each for each in stands_on if each.provenance.origin is Origin.ASSUMED]
    words = [
        f"{stands_on_words(of)} ({_TOLD_BY[quantity]})"
        for quantity in dict.fromkeys(each.quantity for each in assumed)
        if (of := [each for each in assumed if each.quantity is quantity])
    ]
    if not words:
        raise NotUsedError("nothing that decides a plan is assumed")
    return "; ".join(words)
