"""Operator samples of a Heron topology, from the three hours of minutes that its tracker keeps.

Written from the code of Heron's last releases (the metrics of an instance and of its JVM, the default
metrics_sinks.yaml, the tracker's own queries); no Heron is available any more, so none of this was run against one.

Each instance reports every minute: `__execute-count/COMPONENT/STREAM` and `__execute-latency/COMPONENT/STREAM` (mean,
in nanoseconds, without deserialisation, which is added if `__tuple-deserialization-time-ns/…` is reported; by default
it is not), `__emit-count/STREAM` (once per tuple, however many instances receive it), `__jvm-process-cpu-load` (cores
in use), `__jvm-memory-used-mb` (of the heap), `__jvm-gc-collection-time-ms` and `__jvm-uptime-secs` (since the JVM
began). Stream managers report `__time_spent_back_pressure_by_compid/INSTANCE`: milliseconds in which the buffer to that
instance held back all spouts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Unpack

from engines.heron.tracker import (
    COUNTED,
    DESERIALISED,
    EMITTED,
    EXECUTED,
    KEPT_S,
    LATENCY,
    MANAGERS,
    MINUTE_S,
    PRESSURE,
    SAME_MINUTE_S,
    UPTIME,
    Timeline,
    TrackedTopology,
    same_minutes,
)
from engines.http import Connection
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.topology import Topology
from planner.clusters.component_streams import Read, component_of_operator, streams_read
from planner.errors import ClusterError

_CPU, _MEMORY, _GC = "__jvm-process-cpu-load", "__jvm-memory-used-mb", "__jvm-gc-collection-time-ms"
# Uptime is sampled every ten seconds, so between two reports a minute apart it may increase by less or more.
_ONE_REPORT_S = (45.0, 75.0)

Values = Mapping[str, Mapping[int, float]]
"""For one instance: metric → stamp in seconds since the epoch → value."""


def heron_operator_samples(
    url: str,
    *,
    cluster: str,
    environ: str,
    topology_name: str,
    topology: Topology,
    role: str | None = None,
    operators: Mapping[str, str] | None = None,
    span_s: float = 600.0,
    **connection: Unpack[Connection],
) -> Sequence[OperatorSample]:
    """One sample per instance and whole minute of the last span_s seconds.

    operators: operator → component, where their names differ. Left out: minutes in which an instance reported not at
    all or twice, and the one in which it began. A spout's busy time is unknown: busy_s of sources is 0, and their
    records_in is what they emitted on the topology's streams. backpressured_s of sources is the longest time for which
    any one instance held back the spouts, so a lower bound; bolts go on meanwhile, theirs is 0.

    Raises ClusterError if the tracker cannot be reached, does not know the topology or a component, answers in another
    shape, or has no whole minute.
    """
    tracked = TrackedTopology(
        url,
        ClusterError,
        cluster=cluster,
        environ=environ,
        topology=topology_name,
        role=role,
        **connection,
    )
    place = tracked.place
    if not MINUTE_S <= span_s <= KEPT_S:
        raise ClusterError(f"{place}: span_s {span_s}; it keeps minutes of three hours, so give 60 to {KEPT_S:.0f}")
    instances, reads = _plans(tracked)
    component_of = component_of_operator(place, topology, operators, sorted(instances))
    read = {name: reads.get(component, ()) for name, component in component_of.items()}
    carried = streams_read(place, topology, component_of, read)
    if silent := [name for name, ids in carried.items() if not ids]:
        raise ClusterError(f"{place} has nothing that flows along {silent[0]}; take the stream out of the topology")
    now_s = datetime.now(UTC).timestamp()
    # One minute more to compare the first with, and one for the minute that is still open.
    since_s, until_s = math.floor(now_s - span_s - 2 * MINUTE_S), math.ceil(now_s)
    pressed = _held_back_s(tracked, instances, since_s, until_s)
    samples: list[OperatorSample] = []
    for name, component in component_of.items():
        flows = _Flows.of(topology, name, read[name], component_of, carried)
        timeline = tracked.timeline(component, flows.metrics(), since_s, until_s)
        samples += _operator_samples(place, flows, instances[component], timeline, pressed if flows.is_source else {})
    samples = [sample for sample in samples if now_s - span_s - MINUTE_S <= (sample.began_s or 0) <= now_s - MINUTE_S]
    if not samples:
        raise ClusterError(
            f"{place} reports no whole minute in the last {span_s:.0f} s; see whether it runs, or give a longer span_s"
        )
    return _together(samples)


def _plans(tracked: TrackedTopology) -> tuple[dict[str, list[str]], dict[str, list[Read]]]:
    """Instances of each component ordered by task id, and what each bolt reads."""
    physical, logical = tracked.plans()
    try:
        instances = {
            str(name): sorted(map(str, ids), key=lambda id: int(id.rpartition("_")[2]))
            for name, ids in {**physical["bolts"], **physical["spouts"]}.items()
        }
        reads = {
            str(name): [(str(each["component_name"]), str(each["stream_name"])) for each in bolt["inputs"]]
            for name, bolt in logical["bolts"].items()
        }
    except (KeyError, TypeError, AttributeError, ValueError):
        raise tracked.unexpected_plans(physical, logical) from None
    return instances, reads


def _held_back_s(
    tracked: TrackedTopology, instances: Mapping[str, Sequence[str]], since_s: int, until_s: int
) -> dict[int, float]:
    """Per stamp, the longest time in seconds for which the buffer to any one instance held back the spouts."""
    metrics = [PRESSURE + instance for ids in instances.values() for instance in ids]
    longest_s: dict[int, float] = {}
    for by_instance in tracked.timeline(MANAGERS, metrics, since_s, until_s).values():
        for values in by_instance.values():
            for stamp, pressed_ms in values.items():
                longest_s[stamp] = max(longest_s.get(stamp, 0.0), pressed_ms / 1000)
    return longest_s


@dataclass(frozen=True)
class _Flows:
    """What flows through one operator. entering: `COMPONENT/STREAM` → the topology's stream that it is part of.
    leaving: the topology's stream → the engine's streams.
    """

    operator: str
    entering: Mapping[str, str]
    leaving: Mapping[str, tuple[str, ...]]
    is_source: bool

    @classmethod
    def of(
        cls,
        topology: Topology,
        name: str,
        read: Sequence[Read],
        component_of: Mapping[str, str],
        carried: Mapping[str, tuple[str, ...]],
    ) -> "_Flows":
        entering = {
            f"{component}/{stream_id}": stream.name
            for component, stream_id in read
            for stream in topology.inputs(name)
            if component_of[stream.upstream] == component and stream_id in carried[stream.name]
        }
        leaving = {stream.name: carried[stream.name] for stream in topology.outputs(name)}
        return cls(name, entering, leaving, name in topology.sources)

    @property
    def emitted(self) -> list[str]:
        return sorted({stream_id for ids in self.leaving.values() for stream_id in ids})

    def metrics(self) -> list[str]:
        entering = [kind + key for key in self.entering for kind in (EXECUTED, LATENCY, DESERIALISED)]
        return [*entering, *(EMITTED + stream_id for stream_id in self.emitted), UPTIME, _CPU, _MEMORY, _GC]


def _operator_samples(
    place: str,
    flows: _Flows,
    ids: Sequence[str],
    timeline: Timeline,
    pressed_s: Mapping[int, float],
) -> list[OperatorSample]:
    """For the instances that run now, all minutes in which they reported once."""
    samples, untimed = [], []
    for index, id in enumerate(ids):
        values = {metric: by_instance[id] for metric, by_instance in timeline.items() if id in by_instance}
        groups = same_minutes(stamp for by_stamp in values.values() for stamp in by_stamp)
        minutes = [_Minute.of(values, stamps) for stamps in groups]
        for before, minute in pairwise(minutes):
            if not _reported_once(before, minute):
                continue
            if lacking := [key for key in flows.entering if minute.lacks_latency(key)]:
                untimed.append(LATENCY + lacking[0])
                continue
            try:
                sample = _sample(flows, index, len(ids), before, minute)
            except ModelError as error:
                raise ClusterError(f"{place} reported an impossible sample: {error}; check its version") from None
            held_s = max((s for at, s in pressed_s.items() if abs(at - minute.began_s) <= SAME_MINUTE_S), default=0.0)
            samples.append(replace(sample, backpressured_s=min(MINUTE_S, held_s)))
    if untimed and not samples:
        raise ClusterError(
            f"{place} reports no {untimed[0]} of operator {flows.operator!r}; add __execute-latency to the metrics of "
            "the topology master in metrics_sinks.yaml"
        )
    return samples


@dataclass(frozen=True)
class _Minute:
    """What one instance reported in one minute: counts are summed, other values are the last."""

    began_s: int
    values: Mapping[str, float]

    @classmethod
    def of(cls, values: Values, stamps: Sequence[int]) -> "_Minute":
        reported = {
            metric: [by_stamp[stamp] for stamp in stamps if stamp in by_stamp] for metric, by_stamp in values.items()
        }
        return cls(
            stamps[0],
            {metric: sum(all) if metric.startswith(COUNTED) else all[-1] for metric, all in reported.items() if all},
        )

    def count(self, metric: str) -> float:
        return self.values.get(metric, 0.0)

    def reported(self, metric: str) -> float | None:
        """None if unknown, which Java reports as a negative number."""
        value = self.values.get(metric)
        return None if value is None or value < 0 else value

    def lacks_latency(self, key: str) -> bool:
        return self.count(EXECUTED + key) > 0 and self.reported(LATENCY + key) is None

    def busy_s(self, key: str) -> float:
        ns = self.count(EXECUTED + key) * (self.reported(LATENCY + key) or 0.0) + self.count(DESERIALISED + key)
        return ns / 1e9


def _sample(flows: _Flows, index: int, parallelism: int, before: _Minute, minute: _Minute) -> OperatorSample:
    entered: dict[str, float] = {}
    busy_s: dict[str, float] = {}
    for key, stream in flows.entering.items():
        entered[stream] = entered.get(stream, 0.0) + minute.count(EXECUTED + key)
        busy_s[stream] = busy_s.get(stream, 0.0) + minute.busy_s(key)
    emitted = {stream_id: minute.count(EMITTED + stream_id) for stream_id in flows.emitted}
    uptime_s, cores = minute.reported(UPTIME), minute.reported(_CPU)
    collected_ms, collected_before_ms = minute.reported(_GC), before.reported(_GC)
    return OperatorSample(
        operator=flows.operator,
        index=index,
        span_s=MINUTE_S,
        busy_s=sum(busy_s.values()),
        backpressured_s=0.0,
        records_in=sum(emitted.values()) if flows.is_source else sum(entered.values()),
        records_out={name: sum(emitted[stream_id] for stream_id in ids) for name, ids in flows.leaving.items()},
        began_s=float(minute.began_s),
        age_s=None if uptime_s is None else max(0.0, uptime_s - MINUTE_S),
        records_in_by=entered,
        busy_s_by=busy_s,
        parallelism=parallelism,
        cpu_s=None if cores is None else cores * MINUTE_S,
        memory_mib=minute.reported(_MEMORY),
        gc_s=None
        if collected_ms is None or collected_before_ms is None
        else max(0.0, collected_ms - collected_before_ms) / 1000,
    )


def _reported_once(before: _Minute, minute: _Minute) -> bool:
    """Whether the instance ran on and reported once in the minute: then its uptime grew by a minute.

    A bucket without a report shows zeros like one without tuples, but also an uptime of 0.
    """
    shortest_s, longest_s = _ONE_REPORT_S
    if minute.began_s - before.began_s > longest_s:
        return False
    return shortest_s <= minute.values.get(UPTIME, 0.0) - before.values.get(UPTIME, 0.0) <= longest_s


def _together(samples: Sequence[OperatorSample]) -> list[OperatorSample]:
    """Give samples of the same minute the same start time."""
    groups = same_minutes(int(sample.began_s or 0) for sample in samples)
    first = {stamp: float(stamps[0]) for stamps in groups for stamp in stamps}
    return [replace(sample, began_s=first[int(sample.began_s or 0)]) for sample in samples]
