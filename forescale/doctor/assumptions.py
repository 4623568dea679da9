"""What decisions on a topology assume, and what would tell instead."""

from datetime import datetime

from forescale.doctor.examination import NotUsedError
from forescale.files.topology import TopologyConfig
from forescale.report.kit.stands_on import stands_on_words
from forescale.situation.decision_grounds import rule_grounds
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.workspace import Workspace
from planner.provenance import UNCALIBRATED, Ground, Quantity, placeholders

_TOLD_BY = {
    Quantity.SERVICE_TIME: "`forescale model calibrate {topology}` measures them",
    Quantity.SPREAD: "`forescale model calibrate {topology}` measures it, or declare service_cv2",
    Quantity.SELECTIVITY: "`forescale model calibrate {topology}` measures them, or declare selectivity",
    Quantity.KEYS: "name arrivals.columns.key and run `forescale history build {topology}`, or declare key_shares",
    Quantity.TASKS: "declare max_parallelism, the tasks that it was submitted with; plans read them from what runs",
    Quantity.STATE: "`forescale model calibrate {topology}` measures it, or declare state_gib",
    Quantity.CONTAINERS: "add a section packing",
    Quantity.NODES: "name a site with nodes in packing.site",
    Quantity.CORES: "name a site with containers.cores in packing.site",
    Quantity.IDLE_CORES: "`forescale model calibrate {topology}` at two loads measures them where containers "
    "report their CPU; elsewhere lower containers.cores by them",
    Quantity.MEMORY: "name a site with containers.memory_mib in packing.site",
    Quantity.BUFFERS: "name a site with buffer_timeout_s in packing.site; Flink waits 0.1 s by default",
    Quantity.LINKS: "name a site with links in packing.site",
    Quantity.DOWNTIME: "two deployments teach it; until then declare planning.downtime_s",
    Quantity.RESTORE: "name a site with rescale in packing.site",
    Quantity.LEAD: "two deployments that add instances teach it; until then declare planning.lead_s",
    Quantity.WARM_UP: "two deployments with a backlog teach it; until then declare planning.warm_up_s",
    Quantity.LIMITS: "declare them in planning",
    Quantity.BUDGET: "declare planning.allow",
}
"""What measures or tells a value that is assumed."""
_DECLARED_BY = {
    Quantity.SPREAD: "declare service_cv2",
    Quantity.SELECTIVITY: "declare selectivity",
    Quantity.STATE: "declare state_gib",
}
"""The same for a value that no calibration can measure."""


def assumptions(workspace: Workspace, config: TopologyConfig, now: datetime) -> str:
    """What nobody has declared, measured or learnt, with what would tell; service times that only the file declares
    come first.

    Raises NotUsedError if nothing is assumed.
    """
    situation = workspace.situation(config, now)
    stands_on = (*grounds(situation), *rescale_grounds(situation), *rule_grounds(situation))
    by_remedy: dict[tuple[Quantity, str], list[Ground]] = {}
    for each in placeholders(stands_on):
        by_remedy.setdefault((each.quantity, _remedy(each, config.topology)), []).append(each)
    words = [f"{stands_on_words(of)} ({remedy})" for (_, remedy), of in by_remedy.items()]
    if not words:
        raise NotUsedError("nothing that decides a plan is assumed")
    return "; ".join(words)


def _remedy(ground: Ground, topology: str) -> str:
    """What would tell the value; of a service time that the job does not report, where to declare it."""
    quantity, provenance = ground.quantity, ground.provenance
    if quantity is Quantity.SERVICE_TIME and provenance.samples:
        return "the job reports none; declare service_s as another tool measures it"
    if quantity in _DECLARED_BY and provenance != UNCALIBRATED:
        return _DECLARED_BY[quantity]
    return _TOLD_BY[quantity].format(topology=topology)
