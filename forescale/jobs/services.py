"""Saturation of a graph of micro-services, whose calls hold the caller's threads."""

from collections.abc import Mapping
from dataclasses import replace
from math import nan

from modeling.errors import ModelError
from modeling.estimate import Estimate, LatencyEstimate
from modeling.flow.limits import OperatorLimit
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.queueing.queues import UNSTABLE
from modeling.services.pools import ServiceSaturation, ServiceTerms, service_saturation

NOT_OF_REQUESTS = (
    "waits, latencies and cores are those of a stream's operators, not of requests: they leave threads out, "
    "count the time of called services twice, and take a held thread for a busy core where no cpu_s is known"
)
"""Of the estimates of services."""

SIMULATED = (
    "services take in no more than their threads let through while these wait for calls; how long requests wait for a "
    "thread below that is not simulated"
)
"""Of replays."""


def service_notes(full: ServiceSaturation | str, load_per_s: Mapping[str, float]) -> tuple[str, ...]:
    """full: the saturation, or why it is unknown. load_per_s: offered, by source."""
    if isinstance(full, str):
        return NOT_OF_REQUESTS, full
    most = ", ".join(f"{source} {rate:.4g}/s" for source, rate in full.mst_per_s.items())
    beyond = any(rate < load_per_s[source] for source, rate in full.mst_per_s.items())
    less = ", less than is offered" if beyond else ""
    return NOT_OF_REQUESTS, f"threads that wait for calls let at most {most} through{less}"


def saturation(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float], terms: ServiceTerms
) -> ServiceSaturation | str:
    """Or why it is unknown. load_per_s: by source; only the mix matters."""
    try:
        return service_saturation(topology, profiles, terms.pools, plan.parallelism, load_per_s, terms.routing)
    except ModelError as error:
        return f"saturation by threads is unknown: {error}"


def most_per_s(full: ServiceSaturation | str) -> float:
    """Of all sources together; NaN if unknown."""
    return nan if isinstance(full, str) else sum(full.mst_per_s.values())


def saturated(estimate: Estimate, full: ServiceSaturation) -> Estimate:
    """The estimate of a stream's operators with the intake that the threads of services let through."""
    headroom_factor = most_per_s(full) / sum(estimate.load_per_s.values())
    load_per_s, latency = estimate.load_per_s, estimate.latency
    taken_per_s = {source: min(rate, full.mst_per_s[source]) for source, rate in load_per_s.items()}
    return replace(
        estimate,
        throughput_per_s=taken_per_s,
        mst_per_s=dict(full.mst_per_s),
        headroom_factor=headroom_factor,
        bottleneck=OperatorLimit(full.bottleneck),
        excess_per_s={source: rate - taken_per_s[source] for source, rate in load_per_s.items()},
        latency_s=estimate.latency_s if headroom_factor > 1 else UNSTABLE,
        latency=latency if latency is None or headroom_factor > 1 else LatencyEstimate.unstable(latency.slowest_sink),
    )
