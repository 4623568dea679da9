"""Notes on effects that an estimate leaves out or covers only roughly."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from modeling.flow.key_assignment import busiest_share_bounds
from modeling.flow.rates import OperatorFlow
from modeling.flow.resources import ContainerEstimate
from modeling.flow.routing import POINTWISE
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.mixed_inputs import unseparated_outputs
from modeling.inputs.operator_profile import Feature, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.latency.site_notes import of_cores, of_site
from modeling.latency.stream_delays import BUFFER_BYTES
from modeling.queueing.bursts import Arrivals
from modeling.queueing.queues import full_line_throughput
from modeling.wording import sized

BURSTY_CV2 = 2.0
"""Arrivals with a larger cv² come in bursts, whose duration determines the waits."""

LINE, LINE_UTILISATION, LINE_CV2 = 4, 0.7, 0.5
"""Number of operators in line, utilisation and service cv² from which waits depend on each other."""

NEARLY_AS_FULL = 0.8
"""Share of the fullest operator's utilisation from which an operator blocks others if buffers are small."""

LOSS = 0.05
"""Loss of throughput beyond saturation that is worth a note."""

ALIKE = 0.3
"""Utilisation from which the waits that a batch has at one operator after the other lengthen its p95."""

POLLED_TOGETHER = 2.0
"""Tuples a poll from which they wait for each other behind the source."""

PAUSING = 0.01
"""Share of the time in garbage collection from which pauses lengthen latencies noticeably: pauses of .5 s every 10 s
made the mean twice and p95 five times as long."""

ROUTED_CV2 = 1.5
"""Service cv² from which it matters which output the slow tuples of an operator take: 1.8 where 5 % take ten times as
long as the others, 6.9 times the mean."""

LIGHT_CPU_S = 100e-6
"""CPU of a tuple at both ends of a stream below which its way from container to container counts: 4 to 17 µs were
measured of Flink (benchmarks/results/nexmark.md)."""

_EXCLUSIVE, _FLOATING = 2, 8
"""Flink's default network buffers per channel, and per reading instance."""


def notes(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    flows: Sequence[OperatorFlow],
    arrivals: Arrivals,
    site: Site,
    containers: Mapping[int, ContainerEstimate],
) -> tuple[str, ...]:
    """Notes on an estimate. flows: of the plan under its load, in topological order. containers: by id, likewise."""
    by_name = {flow.name: flow for flow in flows}
    found = [*of_site(topology, plan, flows, site), *_of_keys(topology, profiles, plan), *_of_mixes(topology, profiles)]
    varying = [each for each in map(arrivals.at, topology.sources) if each.bursts is None and each.cv2 > BURSTY_CV2]
    if varying:
        found.append(
            f"a cv² of arrivals of {varying[0].cv2:g} does not say how long bursts last: the latency may be many "
            "times too long, or too short; give bursts"
        )
    bursting = [
        source
        for source in topology.sources
        if (bursts := arrivals.at(source).bursts) is not None and bursts.factor > 1 + 1e-9
    ]
    if len(bursting) > 1:
        found.append(
            f"{', '.join(bursting)} are taken to burst at the same time: where they burst on their own, latencies are "
            "shorter, in simulations of two sources less than half"
        )
    for name in topology.order:
        profile = profiles[name]
        if profile.service_shape is not None and profile.shape is None:
            found.append(
                f"service_shape of {name} has cv² {profile.service_shape.cv2:.3g}, service_cv2 is "
                f"{profile.service_cv2:.3g}: the shape is left out"
            )
        for stream in topology.outputs(name):
            made = profile.selectivity.get(stream.name, 1.0)
            if stream.name in profile.windowed:
                found.append(
                    f"latency downstream of {name} counts from when its windows fire, not from when tuples arrived"
                )
            elif (
                made >= 2
                and stream.name not in profile.selectivity_cv2
                and stream.name not in profile.input_selectivity
            ):
                found.append(
                    f"every tuple of {name} is assumed to make {made:g} on {stream.name}: where that number varies, "
                    "tuples wait longer for each other; give selectivity_cv2"
                )
    pausing = {
        name: profile.gc_share
        for name in topology.order
        if (profile := profiles[name]).gc_share >= PAUSING and profile.gc_pause_s == 0
    }
    if pausing:
        found.append(
            f"{', '.join(pausing)} spent up to {max(pausing.values()):.1%} of the time in garbage collection when they "
            "were measured: tuples that arrive in a pause wait for its end, which latencies leave out, as the "
            "length of a collection is unknown"
        )
    paused = [name for name in topology.order if sum(each.share for each in profiles[name].all_pauses) >= PAUSING]
    if len(paused) > 1:
        found.append(
            f"{', '.join(paused)} are taken to pause each on its own: where they pause together, as in one task "
            "manager, tuples wait about half as long for pauses (three operators, simulated)"
        )
    if (line := _busy_line(topology, by_name)) >= LINE:
        found.append(
            f"{line} busy operators with even services in line: their waits are correlated, p95 up to 15 % too short"
        )
    found += [
        *_of_joins(topology, profiles),
        *_of_calls(topology, profiles),
        *_of_batches(topology, profiles, by_name),
        *_of_polls(topology, profiles, by_name),
        *_of_routes(topology, profiles),
        *_of_meeting_parts(topology, profiles, by_name),
        *_of_features(topology, profiles),
        *_of_busy_time_alone(topology, profiles, plan),
        *_of_crossings(topology, profiles, plan, site),
    ]
    return (*found, *of_cores(plan, flows, site, containers), *_small_buffers(topology, profiles, plan, by_name, site))


def _of_keys(topology: Topology, profiles: Profiles, plan: PhysicalPlan) -> list[str]:
    """Streams whose keys have an unknown hash, or whose partitioner is unknown: which instance gets what is left to
    chance.
    """
    lines = []
    for stream in topology.streams:
        count, reader = plan.parallelism[stream.downstream], topology.operator(stream.downstream)
        keys = profiles[reader.name].partitioned_by(stream)
        if stream.grouping is Grouping.CUSTOM and not stream.shares and count > 1:
            lines.append(_of_partitioner(stream, keys))
            continue
        if stream.grouping is not Grouping.FIELDS or count == 1 or keys is None:
            continue
        if keys.measured_at is not None:
            lines.append(
                f"the keys of {stream.name} are unknown: {len(keys.shares)} heavy, {keys.heaviest:.0%} the heaviest, "
                f"explain the shares that {keys.measured_at} instances of {reader.name} were measured with; count the "
                "keys (arrivals.columns.key), or declare key_shares"
            )
            continue
        bounds = busiest_share_bounds(topology.engine, count, reader.max_parallelism, keys)
        if bounds is not None:
            lines.append(
                f"the type of the keys of {stream.name} is unknown, and so is the instance of each: the busiest of "
                f"{count} instances of {reader.name} gets {bounds[0]:.0%} to {bounds[1]:.0%} of the tuples (p5 to p95 "
                "of random assignments), and the mean of these is used; declare key_type, or the hash of each key"
            )
    return lines


def _of_partitioner(stream: Stream, keys: KeyHistogram | None) -> str:
    taken = (
        "even shares are assumed"
        if keys is None
        else f"one of {keys.measured_at} instances got {keys.heaviest:.0%} beside an even part, and so does one of any"
    )
    return f"how {stream.name} is partitioned is unknown: {taken}; declare its shares for this parallelism"


def _of_features(topology: Topology, profiles: Profiles) -> list[str]:
    """What the engine reported of the job and the model leaves out."""
    lines = []
    if any(Feature.UNALIGNED_CHECKPOINTS in profiles[name].features for name in topology.order):
        lines.append(
            "checkpoints are unaligned: they hold the tuples in buffers, of which state and downtime here know nothing"
        )
    changing, uneven, beside, bundling = (
        ", ".join(name for name in topology.order if feature in profiles[name].features)
        for feature in (Feature.RATE_DEPENDENT, Feature.UNEVEN_PARTS, Feature.OTHER_JOBS, Feature.MINI_BATCHES)
    )
    if changing:
        lines.append(
            f"what a tuple of {changing} takes or makes changed with the rate when it was measured, as of joins or "
            "timers: what is said holds at the rates of then; calibrate at the rate that plans are for"
        )
    if uneven:
        lines.append(
            f"instances of {uneven} worked on unequal parts when they were measured; even ones are assumed, so "
            "the busiest is full before that is said"
        )
    if beside:
        lines.append(
            f"containers of {beside} also ran tasks of other jobs when they were measured: every container is taken to "
            "lose the cores that these used; calibrate again when they use more, or give the job containers of its own"
        )
    if bundling:
        lines.append(
            f"{bundling} ends mini-batches by the clock: latencies leave out that tuples wait for theirs, up to "
            "table.exec.mini-batch.allow-latency, and aggregations of them make less per tuple at higher rates; "
            "calibrate at the rate that plans are for"
        )
    on_disk = [
        name
        for name in topology.order
        if Feature.STATE_ON_DISK in profiles[name].features and profiles[name].state_gib > 0
    ]
    if on_disk:
        state_gib = sum(profiles[name].state_gib for name in on_disk)
        lines.append(
            f"state of {', '.join(on_disk)} is on disk, and its access slows down as it grows: service times are those "
            f"with {sized(state_gib)} of it; calibrate again once it has grown"
        )
    return lines


def _of_busy_time_alone(topology: Topology, profiles: Profiles, plan: PhysicalPlan) -> Iterator[str]:
    """Where operators run in another mix than that whose CPU is known in sum, which equal parallelisms keep."""
    names = [name for name in topology.order if Feature.BUSY_TIME_ALONE in profiles[name].features]
    if len({plan.parallelism[name] for name in names}) > 1:
        yield (
            f"how much CPU {', '.join(names)} take was told apart by busy time alone, as all containers ran one mix of "
            "them: the sum is known, but where parallelisms differ, as here, a container may be full before or after "
            "that is said; calibrate at a plan where they differ"
        )


def _of_crossings(topology: Topology, profiles: Profiles, plan: PhysicalPlan, site: Site) -> Iterator[str]:
    """Streams whose tuples take so little CPU that sending them to another container is a part of it."""
    if site.container.cores is None or not plan.packing:
        return
    light = {}
    for stream in topology.streams:
        ends = profiles[stream.upstream], profiles[stream.downstream]
        made = ends[0].selectivity.get(stream.name, 1.0)
        if stream.grouping in POINTWISE or stream.name in ends[0].windowed or made <= 0:
            continue
        cpu_s = sum((one.cpu_s or 0.0) / of for one, of in zip(ends, (made, 1.0), strict=True))
        if all(one.cpu_s is not None and one.samples for one in ends) and cpu_s <= LIGHT_CPU_S:
            light[stream.name] = cpu_s
    if light:
        each = ", ".join(f"{name} ({cpu_s * 1e6:.0f} µs)" for name, cpu_s in light.items())
        yield (
            f"tuples of {each} take little CPU, of which the way from container to container took 4 to 17 µs on Flink: "
            "as many are taken to go that way as in the calibrated plan, so that less gets through more containers "
            "than said, by up to a third, and more through one, by up to a half"
        )


def _of_mixes(topology: Topology, profiles: Profiles) -> list[str]:
    return [
        f"{name} makes {profiles[name].selectivity.get(outputs[0], 1.0):.3g} on {outputs[0]} per tuple of any input, "
        "which holds for one mix of its inputs: at another mix what is downstream gets more or less; calibrate while "
        "the mix is another"
        for name, outputs in unseparated_outputs(topology, profiles).items()
    ]


def _of_joins(topology: Topology, profiles: Profiles) -> Iterator[str]:
    """Operators that may hold a tuple back until its partner comes."""
    for name in topology.order:
        keyed = [stream for stream in topology.inputs(name) if stream.grouping is Grouping.FIELDS]
        if len(keyed) > 1 and not profiles[name].windowed:
            streams = " and ".join(stream.name for stream in keyed)
            copies = any(
                sum(stream.upstream in {fork, *topology.reached[fork]} for stream in keyed) > 1
                for fork in topology.forks
            )
            yield (
                f"{name} reads {streams} by key: if it joins them, waits for partners are left out of latencies, and a "
                "tuple is taken to cost and make as much at any rate, while pairs grow with the square of it"
            ) + ("; copies of a tuple are taken to have one key: else they take up to a quarter less" if copies else "")


def _of_calls(topology: Topology, profiles: Profiles) -> Iterator[str]:
    """Operators whose own work and calls take turns in being what the other waits for."""
    for name in topology.order:
        profile = profiles[name]
        lost = 0.0 if profile.calls is None else profile.calls.lost_share(profile.service_s)
        if lost >= LOSS:
            yield (
                f"own work and calls of {name} are about as long, and each waits for the other: where both vary, up to "
                f"{lost:.0%} less gets through than said, and latencies are longer; raise calls.concurrency"
            )


def _of_batches(topology: Topology, profiles: Profiles, flows: dict[str, OperatorFlow]) -> Iterator[str]:
    """Batches that wait at several operators one after the other."""
    busy = {name for name, flow in flows.items() if float(flow.busiest[0, 0]) >= ALIKE}
    for name in topology.order:
        profile = profiles[name]
        made = [
            stream.downstream
            for stream in topology.outputs(name)
            if profile.selectivity.get(stream.name, 1.0) >= 2 or profile.selectivity_cv2.get(stream.name, 0.0) > 0
        ]
        in_turn = [(one, stream.downstream) for one in made for stream in topology.outputs(one)]
        if pairs := [pair for pair in in_turn if busy.issuperset(pair)]:
            yield (
                f"tuples that {name} makes of one wait at {pairs[0][0]} and then at {pairs[0][1]}, long or short at "
                "both: p95 up to a fifth too short"
            )


def _of_polls(topology: Topology, profiles: Profiles, flows: dict[str, OperatorFlow]) -> Iterator[str]:
    """Batches of polls that wait at a reader: what waits long for the poll waits short there."""
    for name in topology.sources:
        polling, flow = profiles[name].polling, flows[name]
        if (
            polling is None
            or float(flow.entering_per_s[0, 0] / flow.parallelism[0]) * polling.interval_s < POLLED_TOGETHER
        ):
            continue
        readers = [stream.downstream for stream in topology.outputs(name)]
        busy = [reader for reader in readers if float(flows[reader].busiest[0, 0]) >= ALIKE]
        if busy:
            yield (
                f"what {name} takes in soon after a poll waits long for the next one and then short at "
                f"{', '.join(busy)}: p95 up to a third too long"
            )


def _of_routes(topology: Topology, profiles: Profiles) -> Iterator[str]:
    """Operators of slow and quick tuples that go on by different streams."""
    for name in topology.order:
        profile = profiles[name]
        parts = [each.name for each in topology.outputs(name) if 0 < profile.selectivity.get(each.name, 1.0) < 1]
        if len(parts) > 1 and profile.service_cv2 >= ROUTED_CV2:
            yield (
                f"some tuples of {name} take much longer than others (service_cv2 {profile.service_cv2:.2g}), and each "
                f"goes on by one of {', '.join(parts)}: where the slow ones take the same, tuples of that path take "
                "longer than said"
            )


def _of_meeting_parts(topology: Topology, profiles: Profiles, flows: dict[str, OperatorFlow]) -> Iterator[str]:
    """Operators whose output takes several ways in part, which meet at a busy one."""
    for name in topology.order:
        parts = [s for s in topology.outputs(name) if 0 < profiles[name].selectivity.get(s.name, 1.0) < 1]
        ways = [topology.reached[each.downstream] | {each.downstream} for each in parts]
        met = [each for each in topology.order if sum(each in way for way in ways) > 1]
        if busy := [each for each in met if float(flows[each].busiest[0, 0]) >= ALIKE]:
            yield (
                f"tuples of {name} are taken to go by as few of {', '.join(each.name for each in parts)} as they can: "
                f"those that go by several meet at {busy[0]}, and take up to a fifth longer than said"
            )


def _busy_line(topology: Topology, flows: dict[str, OperatorFlow]) -> int:
    """Maximum number of busy operators with even services on a path."""
    longest: dict[str, int] = {}
    for name in topology.order:
        flow = flows[name]
        counts = float(flow.busiest[0, 0]) >= LINE_UTILISATION and 0 < float(flow.cv2[0]) <= LINE_CV2
        before = max((longest[stream.upstream] for stream in topology.inputs(name)), default=0)
        longest[name] = before + counts
    return max(longest.values())


def _small_buffers(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, flows: dict[str, OperatorFlow], site: Site
) -> tuple[str, ...]:
    """With small buffers, operators nearly as full as the fullest block each other."""
    busy = {name: float(flow.busiest[0, 0]) for name, flow in flows.items()}
    full = [name for name in topology.order if busy[name] >= NEARLY_AS_FULL * max(busy.values()) > 0]
    cv2 = {name: float(flows[name].cv2[0]) for name in full}
    lost, held = {}, {}
    for stream in topology.streams:
        size = site.bytes_per_tuple.get(stream.name, 0.0)
        if stream.upstream not in full or stream.downstream not in full or size == 0:
            continue
        name, sender = stream.name, profiles[stream.upstream]
        held[name] = (_EXCLUSIVE * plan.parallelism[stream.upstream] + _FLOATING) * BUFFER_BYTES / size
        # Tuples made of one have to find room one after the other: then a batch counts as one tuple.
        made = max(sender.selectivity.get(name, 1.0) / plan.parallelism[stream.downstream], 1.0)
        of_batch = cv2[stream.downstream] / made + sender.selectivity_cv2.get(name, 0.0)
        mean_cv2 = float(np.mean(list({**cv2, stream.downstream: of_batch}.values())))
        room = max(held[name] - (made - 1), 0.0) / made
        lost[name] = 1 - float(full_line_throughput(len(full), mean_cv2, room))
    most = max(lost, key=lambda name: lost[name], default="")
    if lost.get(most, 0.0) < LOSS:
        return ()
    return (
        f"buffers of {most} hold about {held[most]:.0f} tuples: beyond saturation up to {lost[most]:.0%} less gets "
        "through than throughput and maximum say",
    )
