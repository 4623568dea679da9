"""Streams of an undescribed job, for engines that name components and streams themselves (Heron, Storm)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.clusters.job_description import DescribedStream, grouping_of


@dataclass(frozen=True)
class ReadStream:
    """One of the engine's streams that a component reads. grouping: the engine's word for it."""

    component: str
    stream: str
    grouping: str


def described_streams(
    engine: str, reads: Mapping[str, Sequence[ReadStream]], ratios: Mapping[str, tuple[float, str]]
) -> list[DescribedStream]:
    """The streams between the components in `reads`; the engine's own, which begin with two underscores, are left out.

    ratios: for components with one stream and one reader: tuples out per tuple in, and its evidence. If several streams
    run between two components, each is labelled with its name.
    """
    kept = {
        name: [each for each in inputs if each.component in reads and not each.stream.startswith("__")]
        for name, inputs in reads.items()
    }
    readers = [each.component for inputs in kept.values() for each in inputs]
    streams = []
    for name, inputs in kept.items():
        for each in inputs:
            alike = sum(other.component == each.component for other in inputs) > 1
            grouping, question = grouping_of(each.grouping)
            ratio, counted = (
                ratios.get(each.component, (None, "")) if readers.count(each.component) == 1 else (None, "")
            )
            evidence = ", ".join(filter(None, (f"{engine}: {each.grouping.lower()}", counted)))
            label = each.stream if alike else ""
            streams.append(DescribedStream(each.component, name, grouping, label, ratio, evidence, question))
    return streams
