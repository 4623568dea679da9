"""What a site adds to a tuple's way: network, buffers, serialisation of every stream; and when its links are full."""

from modeling.flow.hop_delay import hop_delays
from modeling.flow.rates import Rates
from modeling.flow.routing import POINTWISE
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import node_of_container, places_nodes
from modeling.inputs.site import Site
from modeling.inputs.topology import Grouping, Topology
from modeling.latency.delay import Delay, buffer_timeout_delay

BUFFER_BYTES = 32 * 1024
"""Of Flink's network buffers, by default: one that is full leaves before its time-out."""


def stream_delays(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, rates: Rates, site: Site
) -> dict[str, Delay]:
    """The delay of every stream that has any, by its name; and of sources that poll, by theirs.

    A buffer leaves after buffer_timeout_s, or as soon as it is full where bytes_per_tuple tell when that is: a tuple
    waits evenly between nothing and that. Operators that the engine chains have no buffer between them, which a plan
    does not tell.
    """
    delays: dict[str, Delay] = {}
    hops = (
        hop_delays(topology, profiles, plan, rates, node_of_container(plan), site.network)
        if site.network is not None and places_nodes(plan)
        else {}
    )
    for name in topology.sources:
        polling = profiles[name].polling
        if polling is not None and polling.interval_s > 0:
            delays[name] = buffer_timeout_delay(polling.interval_s)
    for stream in topology.streams:
        delay = Delay(site.serialisation_s.get(stream.name, 0.0))
        if stream.name in hops:
            hop = hops[stream.name]
            delay += Delay(hop.mean_ms / 1e3, (hop.jitter_ms / 1e3) ** 2)
        if site.buffer_timeout_s > 0:
            senders, receivers = plan.parallelism[stream.upstream], plan.parallelism[stream.downstream]
            match stream.grouping:
                case Grouping.ALL | Grouping.GLOBAL:
                    channels = senders  # each sender's whole stream goes to every receiver, or to the one
                case grouping if grouping in POINTWISE:
                    channels = max(senders, receivers)
                case _:
                    channels = senders * receivers
            bytes_per_s = rates.stream_per_s[stream.name] * site.bytes_per_tuple.get(stream.name, 0.0) / channels
            full_s = BUFFER_BYTES / bytes_per_s if bytes_per_s > 0 else float("inf")
            delay += buffer_timeout_delay(min(site.buffer_timeout_s, full_s))
        if delay.mean_s > 0:
            delays[stream.name] = delay
    return delays
