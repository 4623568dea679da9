"""Operator samples of micro-services, from histograms or summaries of request durations that Prometheus scrapes.

A replica is an instance. The raw samples of its `_count` and `_sum` are read, without rate(): their increase between
two scrapes is the number of answered requests, and the seconds for which threads were held. busy_s is seconds held ÷
threads: the time until the answer, including calls to other services. A request is counted when it is answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from engines.http import Connection
from engines.prometheus.server import Points, PrometheusServer, selector_with_suffix
from modeling.arrays import Floats
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Topology
from planner.errors import ClusterError


@dataclass(frozen=True)
class RequestCounters:
    """threads: per replica, of each service. requests: selector of each service's durations, without suffix. calls:
    selector of each stream's counter, kept by the caller; without one, the callee's requests are its calls.
    replica_label: the label that distinguishes replicas.
    """

    threads: Mapping[str, int]
    requests: Mapping[str, str]
    calls: Mapping[str, str]
    replica_label: str = "instance"


@dataclass(frozen=True)
class _Risen:
    """Increase of a replica's counters since the first sample. moments_s, values: shape (samples,)."""

    moments_s: Floats
    values: Floats

    def between(self, begin_s: float, end_s: float) -> float:
        ends = np.interp([begin_s, end_s], self.moments_s, self.values)
        return float(ends[1] - ends[0])


def service_operator_samples(
    url: str,
    topology: Topology,
    counters: RequestCounters,
    *,
    until_s: float,
    span_s: float,
    spans: int,
    **connection: Unpack[Connection],
) -> Sequence[OperatorSample]:
    """One sample per replica for each of `spans` equal parts of the span that ends at until_s (seconds since the
    epoch), from scrape to scrape. A replica has no sample for a part with fewer than two of its scrapes.

    Raises ClusterError if Prometheus cannot be reached, has no data for a service or call, or does not tell its
    replicas apart, or if a counter of calls is not kept by the caller's replicas.
    """
    server, label = PrometheusServer(url, ClusterError, **connection), counters.replica_label

    def risen(what: str, selector: str) -> dict[str, _Risen]:
        after_ms, until_ms = round((until_s - span_s) * 1000), round(until_s * 1000)
        series = server.samples(selector, after_ms, until_ms)
        for labels in map(dict, series):
            if not labels.get(label):
                raise ClusterError(
                    f"{server.place}: series of {selector} ({what}) have no label {label!r}, which distinguishes "
                    f"replicas; their labels are {', '.join(sorted(set(labels) - {'__name__'})) or 'none'}. Give "
                    "services.replica_label in the topology file, or narrow the selector"
                )
        found = _by_replica(series, label)
        if not found:
            raise ClusterError(
                f"{server.place} has no two samples of {selector} ({what}) in the last {span_s:g} s; check "
                "the targets, and services in the topology file: requests, calls and sample_s"
            )
        return found

    count, held_s = (
        {
            name: risen(f"service {name!r}", selector_with_suffix(counters.requests[name], end))
            for name in topology.order
        }
        for end in ("_count", "_sum")
    )
    calls = {stream: risen(f"calls {stream}", selector) for stream, selector in counters.calls.items()}
    for stream in topology.streams:
        if stream.name in calls and not calls[stream.name].keys() & count[stream.upstream].keys():
            raise ClusterError(
                f"{server.place}: {counters.calls[stream.name]} counts the calls {stream.name} by {label} "
                f"{min(calls[stream.name])!r}, which is no replica of {stream.upstream!r}; they are "
                f"{', '.join(sorted(count[stream.upstream]))}. Give services.calls a counter that the caller keeps"
            )
    edges_s = np.linspace(until_s - span_s, until_s, spans + 1)
    samples = []
    for name in topology.order:
        windows = {replica: _windows(of.moments_s, edges_s) for replica, of in count[name].items()}
        running = [sum(part in of for of in windows.values()) for part in range(spans)]
        for index, replica in enumerate(sorted(windows)):
            for part, (begin_s, end_s) in windows[replica].items():
                answered = count[name][replica].between(begin_s, end_s)
                of_all = _total(count[name], begin_s, end_s)
                out = {}
                for stream in topology.outputs(name):
                    if stream.name in calls:
                        own = calls[stream.name].get(replica)
                        out[stream.name] = own.between(begin_s, end_s) if own else 0.0
                    elif of_all > 0:
                        # The caller is unknown: assume that every replica makes equally many calls per request.
                        out[stream.name] = _total(count[stream.downstream], begin_s, end_s) * answered / of_all
                held = held_s[name].get(replica)
                samples.append(
                    OperatorSample(
                        operator=name,
                        index=index,
                        span_s=end_s - begin_s,
                        busy_s=held.between(begin_s, end_s) / counters.threads[name] if held else 0.0,
                        backpressured_s=0.0,
                        records_in=answered,
                        records_out=out,
                        began_s=begin_s,
                        parallelism=running[part],
                        threads=counters.threads[name],
                    )
                )
    return samples


def _by_replica(series: Mapping[tuple[tuple[str, str], ...], Points], label: str) -> dict[str, _Risen]:
    """Sum the counters of each replica (paths, status codes). A counter that appears later than its replica
    began at 0.
    """
    replicas: dict[str, list[Points]] = {}
    for labels, points in series.items():
        if points[0].size:
            replicas.setdefault(dict(labels)[label], []).append(points)
    found = {}
    for replica, counters in replicas.items():
        first_ms = min(int(times_ms[0]) for times_ms, _ in counters)
        moments_ms = np.unique(np.concatenate([times_ms for times_ms, _ in counters]))
        rises = np.zeros(moments_ms.size)
        for times_ms, values in counters:
            before = np.concatenate(([values[0] if times_ms[0] == first_ms else 0.0], values[:-1]))
            # A counter that fell was reset by a restart, so its whole value is the increase.
            rose = np.where(values >= before, values - before, values)
            np.add.at(rises, np.searchsorted(moments_ms, times_ms), rose)
        if moments_ms.size > 1:
            found[replica] = _Risen(moments_ms / 1000, np.cumsum(rises))
    return found


def _windows(moments_s: Floats, edges_s: Floats) -> dict[int, tuple[float, float]]:
    """From the scrape nearest to each part's start to the one nearest to its end; parts without two scrapes are left
    out.
    """
    at = np.minimum(np.searchsorted(moments_s, edges_s), moments_s.size - 1)
    ends = moments_s[at]
    return {
        part: (float(ends[part]), float(ends[part + 1])) for part in range(edges_s.size - 1) if at[part] < at[part + 1]
    }


def _total(replicas: Mapping[str, _Risen], begin_s: float, end_s: float) -> float:
    return sum(of.between(begin_s, end_s) for of in replicas.values())
