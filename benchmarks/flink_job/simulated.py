"""The same jobs without Flink: first come, first served, by Lindley's recursion, with Flink's routing.

Without threads and buffers, it shows which part of the error between model and cluster is the model's.
"""

from collections.abc import Mapping

import numpy as np
from cases import Case

from modeling.arrays import Floats, Ints
from modeling.flow.key_assignment import flink_instance_of_key
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Stream

WARM = 0.1
"""Share of the span, from its start with an empty job, that is left out."""
RUNS, ITEMS = 8, 25_000


def simulated_p95_s(case: Case, plan: PhysicalPlan, load_per_s: Mapping[str, float], seed: int = 1) -> float:
    """p95 of several runs together: each draws anew which receiver each sender starts with, which matters."""
    rng = np.random.default_rng(seed)
    runs = [simulated_latencies_s(case, plan, load_per_s, ITEMS, rng) for _ in range(RUNS)]
    return float(np.quantile(np.concatenate(runs), 0.95))


def simulated_latencies_s(
    case: Case, plan: PhysicalPlan, load_per_s: Mapping[str, float], items: int, rng: np.random.Generator
) -> Floats:
    """End-to-end latencies at the one sink, for so many arrivals at all sources together."""
    job, topology = case.job, case.topology
    span_s = items / sum(load_per_s.values())
    keys = np.cumsum(list(job.key_shares.shares.values()))
    ways: dict[str, _Way] = {}
    latencies_s = np.zeros(0)
    for name in topology.order:
        if name in topology.sources:
            count = rng.poisson(load_per_s[name] * span_s)
            due_s = np.sort(rng.random(count)) * span_s
            left = _Way(due_s, due_s, rng.integers(0, plan.parallelism[name], count), _drawn(keys, count, rng))
        else:
            left = _served(case, plan, name, ways, rng)
        for stream in topology.outputs(name):
            ways[stream.name] = left.made(job.truth[name].selectivity.get(stream.name, 1.0), keys, rng)
        if not topology.outputs(name):
            latencies_s = (left.at_s - left.due_s)[left.due_s > WARM * span_s]
    return latencies_s


class _Way:
    """Items on a stream in the order of time: when each was emitted and due, by which instance, with which key."""

    def __init__(self, at_s: Floats, due_s: Floats, sender: Ints, key: Ints) -> None:
        self.at_s, self.due_s, self.sender, self.key = at_s, due_s, sender, key

    def made(self, ratio: float, keys: Floats, rng: np.random.Generator) -> "_Way":
        """Make `ratio` items of each on average: the first has its key, the others draw theirs."""
        counts = int(ratio) + (rng.random(self.at_s.size) < ratio % 1)
        of = np.repeat(np.arange(self.at_s.size), counts)
        further = np.flatnonzero(np.diff(of, prepend=-1) == 0)
        key = self.key[of]
        key[further] = _drawn(keys, further.size, rng)
        return _Way(self.at_s[of], self.due_s[of], self.sender[of], key)


def _served(case: Case, plan: PhysicalPlan, name: str, ways: dict[str, _Way], rng: np.random.Generator) -> _Way:
    profile, parallelism = case.job.truth[name], plan.parallelism[name]
    inputs: tuple[Stream, ...] = case.topology.inputs(name)
    merged = [ways[stream.name] for stream in inputs]
    at_s = np.concatenate([way.at_s for way in merged])
    order = np.argsort(at_s, kind="stable")
    mean_s = np.concatenate(
        [
            np.full(way.at_s.size, profile.stream_service_s.get(stream.name, profile.service_s))
            for stream, way in zip(inputs, merged, strict=True)
        ]
    )[order]
    # Senders of different streams are distinct.
    first = np.cumsum([0, *(plan.parallelism[stream.upstream] for stream in inputs)])
    sender = np.concatenate([way.sender + offset for way, offset in zip(merged, first[:-1], strict=True)])[order]
    at_s, key = at_s[order], np.concatenate([way.key for way in merged])[order]
    due_s = np.concatenate([way.due_s for way in merged])[order]
    instance = (
        _routed_in_turn(sender, int(first[-1]), parallelism, rng)
        if inputs[0].grouping is Grouping.SHUFFLE
        else np.array([flink_instance_of_key(f"k{each}", parallelism) for each in range(case.job.keys)])[key]
    )
    cv2 = profile.service_cv2
    service_s = mean_s * (rng.standard_gamma(1 / cv2, at_s.size) * cv2 if cv2 else 1.0)
    done_s = np.empty(at_s.size)
    for own in (np.flatnonzero(instance == each) for each in range(parallelism)):
        worked_s = np.cumsum(service_s[own])
        done_s[own] = worked_s + np.maximum.accumulate(at_s[own] - worked_s + service_s[own])
    order = np.argsort(done_s, kind="stable")
    return _Way(done_s[order], due_s[order], instance[order], key[order])


def _routed_in_turn(sender: Ints, senders: int, parallelism: int, rng: np.random.Generator) -> Ints:
    """Each sender routes to all instances in turn, starting with a random one."""
    instance = np.empty(sender.size, dtype=np.int64)
    for each in range(senders):
        own = np.flatnonzero(sender == each)
        instance[own] = (np.arange(own.size) + rng.integers(parallelism)) % parallelism
    return instance


def _drawn(keys: Floats, count: int, rng: np.random.Generator) -> Ints:
    return np.minimum(np.searchsorted(keys, rng.random(count)), keys.size - 1)
