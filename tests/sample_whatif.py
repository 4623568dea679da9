"""Three plans of two operators under one load, evaluated: small enough to be checked by hand."""

from dataclasses import replace

from forescale.jobs.evaluation import enough_instances
from forescale.report.whatif.whatif import WhatIf
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology

SIZED = Site(ContainerSize(cores=1.5, memory_mib=1024), buffer_timeout_s=0.1)


def what_if(
    counts: dict[str, int] | None = None,
    load_per_s: float = 400.0,
    *,
    source: str = "read",
    counter: str = "count",
    site: Site = NOWHERE,
    packed: bool = False,
    memory_mib: float | None = None,
) -> WhatIf:
    """`read` takes 1 ms a tuple, `count` 4 ms. counts: instances of `count`, per plan: 250/s are as much as each takes.

    packed: `read` and the first of `count` in container 1, each other one in a container of its own.
    """
    topology = Topology("pair", (Operator(source), Operator(counter)), (Stream(source, counter),))
    profiles = {
        source: OperatorProfile(source, service_s=0.001, cpu_s=0.001, memory_mib=memory_mib),
        counter: OperatorProfile(counter, service_s=0.004, cpu_s=0.002, memory_mib=memory_mib),
    }
    plans = {
        name: PhysicalPlan("pair", {source: 1, counter: count}, _packing(source, counter, count) if packed else ())
        for name, count in (counts or {"small": 1, "fair": 2, "large": 3}).items()
    }
    return evaluated(WhatIf(topology, profiles, plans, dict.fromkeys(plans), {source: load_per_s}, site=site))  # type: ignore[arg-type]


def evaluated(given: WhatIf) -> WhatIf:
    """With estimates of all its plans, and what would make each carry the load."""
    return replace(
        given,
        estimates={
            name: evaluate(given.topology, given.profiles, plan, given.load_per_s, site=given.site, percentiles=True)
            for name, plan in given.plans.items()
        },
        enough={
            name: enough_instances(
                given.topology, given.profiles, plan, given.load_per_s, given.arrival_cv2, given.site
            )
            for name, plan in given.plans.items()
        },
    )


def _packing(source: str, counter: str, count: int) -> tuple[Container, ...]:
    first = Container(1, (Instance(source, 0), Instance(counter, 0)), "near")
    return (first, *(Container(1 + number, (Instance(counter, number),), "far") for number in range(1, count)))
