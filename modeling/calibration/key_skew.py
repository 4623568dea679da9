"""Uneven instances of a keyed operator: their measured shares, as the heavy keys that explain them.

Where nobody knows the keys, an even partition would be assumed, and the busiest instance saturates first. What an
instance takes beyond the light ones is taken for one heavy key: at the measured parallelism the busiest instance gets
its measured share again, and at any other the key stays whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modeling.arrays import Floats
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.service_time import MIN_TUPLES
from modeling.calibration.sifting import held_back
from modeling.calibration.spans import spans
from modeling.flow.key_assignment import key_shares
from modeling.flow.routing import partition_shares, routing
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Topology

UNEVEN = 1.2
"""Ratio of the busiest instance's share to the expected one from which skew is believed: keys of many kinds fall
unevenly by chance too."""

SIGMAS = 5.0
"""Standard errors of a count by which the busiest share must exceed the expected one."""

_EVEN = (Grouping.SHUFFLE, Grouping.FORWARD, Grouping.RESCALE)


@dataclass(frozen=True)
class KeySkew:
    """keys: by keyed stream whose skew was measured, the keys that explain it; None where instances are even. notes:
    what was found, and contradictions of declared keys.
    """

    keys: Mapping[str, KeyHistogram | None]
    notes: tuple[str, ...]


def key_skew(topology: Topology, samples: Sequence[OperatorSample], known: OperatorProfile) -> KeySkew:
    """The skew of one operator, by the samples of its newest parallelism. Nothing is said unless all its instances were
    measured, and of several inputs only where tuples are counted by input.
    """
    name = known.operator
    inputs = topology.inputs(name)
    found: dict[str, KeyHistogram | None] = {}
    notes = []
    for stream in inputs:
        if stream.grouping not in (Grouping.FIELDS, Grouping.CUSTOM) or stream.shares:
            continue
        counts = _counts(samples, stream.name, alone=len(inputs) == 1)
        if counts is None or counts.size < 2 or counts.sum() < MIN_TUPLES * counts.size:
            continue
        total, busiest = float(counts.sum()), float(counts.max() / counts.sum())
        declared = known.partitioned_by(stream)
        measured = declared is not None and declared.measured_at is not None
        believed = None if measured else declared
        custom = stream.grouping is Grouping.CUSTOM
        groups = counts.size if custom else topology.operator(name).max_parallelism
        expected = float(key_shares(topology.engine, counts.size, groups, believed).max())
        sure = SIGMAS * float(np.sqrt(busiest * (1 - busiest) / total))
        skewed = busiest > UNEVEN * expected and busiest - expected > sure
        if believed is None:
            found[stream.name] = _heavy_keys(counts) if skewed else None
            if skewed:
                remedy = "declare shares" if custom else "count the keys (arrivals.columns.key) or declare key_shares"
                notes.append(
                    f"the busiest of {counts.size} instances takes {busiest:.0%} of the tuples of {stream.name}: taken "
                    f"for heavy keys; {remedy} for other parallelisms"
                )
        elif skewed or (expected > UNEVEN * busiest and expected - busiest > sure):
            notes.append(
                f"the busiest of {counts.size} instances takes {busiest:.0%} of the tuples of {stream.name}, by its "
                f"declared keys it would take {expected:.0%}: the declared ones are used; correct key_shares, or leave "
                "them out"
            )
    return KeySkew(found, tuple(notes))


def uneven_parts(topology: Topology, used: Mapping[str, Sequence[OperatorSample]]) -> dict[str, str]:
    """By operator whose instances work on parts that are less even than partitions, groupings and what their senders
    work on make them, a note: estimates do not know that. used: samples of each.
    """
    counts = {name: _counts([_taken_in(each) for each in samples], "", alone=True) for name, samples in used.items()}
    notes: dict[str, str] = {}
    for name in topology.order:
        inputs = topology.inputs(name)
        of = counts[name] if inputs else _counts([_taken_in(each) for each in _as_offered(used[name])], "", alone=True)
        if of is None or of.sum() < MIN_TUPLES * of.size or any(stream.grouping not in _EVEN for stream in inputs):
            continue
        total, expected = float(of.sum()), _expected_part(topology, name, of.size, counts)
        busiest = float(of.max()) / total
        sure = SIGMAS * float(np.sqrt(busiest * (1 - busiest) / total))
        if busiest > UNEVEN * expected and busiest - expected > sure:
            cause = "senders of unequal output" if inputs else "unequal partitions, or fewer than instances"
            notes[name] = (
                f"the busiest of {of.size} instances takes {busiest:.0%} of the tuples, not {expected:.0%}, as of "
                f"{cause}: estimates do not know that; it is full at {expected / busiest:.2g} of the load that they say"
            )
    return notes


def _as_offered(samples: Sequence[OperatorSample]) -> list[OperatorSample]:
    """Of a source, the spans in which no instance but the busiest is held back: of a backlog that all have, each takes
    as much as its container lets it.
    """
    found = []
    for span in spans(samples):
        there = sorted((samples[at] for at in span), key=lambda sample: _taken_in(sample).records_in)
        if not any(held_back(sample) for sample in there[:-1]):
            found += there
    return found


def _taken_in(sample: OperatorSample) -> OperatorSample:
    """The sample of a source with what it took in, which some engines do not count as tuples in."""
    return replace(sample, records_in=sample.arrivals or sample.records_in or sum(sample.records_out.values()))


def _expected_part(topology: Topology, name: str, count: int, counts: Mapping[str, Floats | None]) -> float:
    """Share of the busiest instance if each partition and each tuple of a sender brings as much."""
    inputs = topology.inputs(name)
    if not inputs:
        return float(partition_shares(topology.operator(name).partitions, count).max())
    shares = np.zeros(count)
    for stream in inputs:
        sent = counts[stream.upstream]
        sent = np.ones(1) if sent is None or sent.sum() == 0 else sent
        most = topology.operator(name).max_parallelism
        routed = routing(stream.grouping, sent.size, count, max_parallelism=most).shares
        shares += sent @ np.broadcast_to(routed, (sent.size, count)) / sent.sum() / len(inputs)
    return float(shares.max())


def _counts(samples: Sequence[OperatorSample], stream: str, *, alone: bool) -> Floats | None:
    """Tuples of the stream by instance, shape (parallelism,); None unless all instances were measured."""
    newest = max(samples, key=lambda sample: sample.began_s or 0.0, default=None)
    if newest is None or newest.parallelism is None:
        return None
    counts = np.zeros(newest.parallelism)
    seen = np.zeros(newest.parallelism, dtype=np.bool_)
    for sample in samples:
        if sample.parallelism != newest.parallelism or not sample.index < newest.parallelism:
            continue
        if not alone and stream not in sample.records_in_by:
            return None
        counts[sample.index] += sample.records_in_by.get(stream, sample.records_in if alone else 0.0)
        seen[sample.index] = True
    return counts if seen.all() else None


def _heavy_keys(counts: Floats) -> KeyHistogram:
    """Keys that give instances their shares beyond the light ones', and light keys that fall evenly.

    >>> skewed = _heavy_keys(np.array([50.0, 10.0, 10.0, 10.0]))  # 40 of 80 beyond the 10 of the others
    >>> skewed.shares, skewed.measured_at
    ({'heaviest': 0.5}, 4)
    """
    shares = np.sort(counts / counts.sum())[::-1]
    light = float(np.median(shares))
    heavy = [share for share in shares.tolist() if share > UNEVEN * light]
    rest = shares[len(heavy) :]
    even = float(rest.mean()) if rest.size else light
    names = ["heaviest", *(f"heavy {number}" for number in range(2, len(heavy) + 1))]
    excess = {name: round(share - even, 6) for name, share in zip(names, heavy, strict=False)}
    return KeyHistogram(excess, key_type=KeyType.OTHER, measured_at=int(counts.size))
