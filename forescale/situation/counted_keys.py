"""Key histograms that the history has counted, as the keys of the streams that carry the counted events."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from forecasting.arrivals.arrival_source import DailyKeyCounts
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.storage.key_histograms import read_key_histograms
from forecasting.arrivals.store import built_until
from forecasting.errors import HistoryError
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Grouping, Topology

logger = logging.getLogger(__name__)

SPAN = timedelta(days=7)
"""The newest part of the history: every weekday counts once, and keys of last month do not count."""


@dataclass(frozen=True)
class CountedKeys:
    """The keys of one source. days: number of UTC days that were counted. until: end of the last of them."""

    histogram: KeyHistogram
    days: int
    until: datetime


def counted_keys(directory: Directory, topology: str) -> dict[str, CountedKeys]:
    """By source, over the newest SPAN of the history; empty where no keys were counted or nothing can be read."""
    try:
        end = built_until(directory, topology)
        days = [] if end is None else read_key_histograms(directory, topology, end - SPAN, end)
    except HistoryError as error:
        logger.info("the keys of %s are not read from its history: %s", topology, error)
        return {}
    by_source: dict[str, list[DailyKeyCounts]] = {}
    for day in days:
        by_source.setdefault(day.source, []).append(day)
    counted = {source: _counted(of) for source, of in by_source.items()}
    return {source: keys for source, keys in counted.items() if keys is not None}


def with_counted_keys(
    topology: Topology, profiles: Profiles, counted: Mapping[str, CountedKeys], key_types: Mapping[str, KeyType | None]
) -> tuple[dict[str, OperatorProfile], dict[str, str]]:
    """The profiles with counted keys where nobody else knows them; and the source of each stream that got some.
    key_types: declared, by operator. Raises ModelError for a counted key that is not of the declared type.
    """
    known, sources = dict(profiles), dict[str, str]()
    for source, keys in counted.items():
        if source not in topology.sources:
            continue
        for stream, operator in _keyed_streams(topology, profiles, source):
            profile = known[operator]
            keys_before = profile.keys_of(stream)
            if keys_before is None or keys_before.measured_at is not None:
                histogram = replace(keys.histogram, key_type=key_types.get(operator))
                known[operator] = replace(profile, stream_keys={**profile.stream_keys, stream: histogram})
                sources[stream] = source
    return known, sources


def _keyed_streams(topology: Topology, profiles: Profiles, source: str) -> Iterator[tuple[str, str]]:
    """Streams grouped by key, with their reader, whose tuples are still the events of the source: from it, or from
    operators that have no other input and make at most one tuple of each.
    """
    at = [source]
    while at:
        name = at.pop()
        for stream in topology.outputs(name):
            if name != source and profiles[name].selectivity.get(stream.name, 1.0) > 1:
                continue
            if stream.grouping is Grouping.FIELDS:
                yield stream.name, stream.downstream
            elif len(topology.inputs(stream.downstream)) == 1:
                at.append(stream.downstream)


def _counted(days: Iterable[DailyKeyCounts]) -> CountedKeys | None:
    """None without events. The number of keys is known if every day named or counted all of them: as many as the named
    ones, else at least the most of any day.
    """
    days = list(days)
    events: Counter[str] = Counter()
    for day in days:
        events.update(day.heavy)
    unnamed = sum(day.residual for day in days)
    total = sum(events.values()) + unnamed
    if total == 0:
        return None
    distinct: int | None = None
    counts = [day.distinct_keys for day in days if day.distinct_keys is not None]
    if len(counts) == len(days):
        distinct = max(len(events) + (unnamed > 0), *counts)
    last = max(day.day for day in days)
    until = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
    shares = {key: number / total for key, number in events.most_common()}
    return CountedKeys(KeyHistogram(shares, distinct_keys=distinct), len(days), until)
