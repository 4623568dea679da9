"""Instances with unequal parts that neither keys nor partitions explain are named: estimates take even ones."""

from collections.abc import Mapping, Sequence

import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

HOT = (70.0, 10.0, 10.0, 10.0)
EVEN = (25.0, 25.0, 25.0, 25.0)


def notes(groupings: Sequence[Grouping], *parts: Sequence[float], partitions: int | None = None) -> Mapping[str, str]:
    """By operator. parts: tuples a second of each instance, by operator in line."""
    names = "abc"[: len(parts)]
    streams = tuple(Stream(*pair, grouping) for *pair, grouping in zip(names, names[1:], groupings, strict=False))
    operators = (Operator("a", partitions=partitions), *map(Operator, names[1:]))
    samples = [
        OperatorSample(
            name, at, 60.0, 0.06 * per_s, 0.0, 60 * per_s, {}, 60.0 * span, age_s=600.0, parallelism=len(rates)
        )
        for span in range(3)
        for name, rates in zip(names, parts, strict=True)
        for at, per_s in enumerate(rates)
    ]
    made = calibrated(
        Topology("line", operators, streams), samples, {name: OperatorProfile(name, 1.0) for name in names}
    )
    found = {
        name: [note for note in each.notes if "estimates do not know" in note] for name, each in made.operators.items()
    }
    return {name: note for name, each in found.items() for note in each}


def test_a_hot_partition__is_named_at_its_source_alone() -> None:
    found = notes([Grouping.FORWARD] * 2, HOT, HOT, HOT)
    # 70 of 100, not 25: what is said of an even part, .25 / .7 = .36 of it fills the busiest.
    assert list(found) == ["a"]
    assert "the busiest of 4 instances takes 70% of the tuples, not 25%, as of unequal partitions" in found["a"]
    assert "full at 0.36 of the load" in found["a"]
    assert notes([Grouping.SHUFFLE], EVEN, EVEN) == {}


def test_parts_of_a_backlog__are_as_each_container_lets_them_be() -> None:
    """Four instances with more to read than they get through: that in the emptiest container reads most. If the busiest
    alone is full, its part is no less than what it reads.
    """
    topology = Topology("one", (Operator("a"),), ())

    def uneven(waited_s: Sequence[float]) -> list[str]:
        samples = [
            OperatorSample("a", at, 60.0, 6.0, spent_s, 60 * per_s, {}, 0.0, age_s=600.0, parallelism=4)
            for at, (per_s, spent_s) in enumerate(zip(HOT, waited_s, strict=True))
        ]
        made = calibrated(topology, samples, {"a": OperatorProfile("a", 1.0)}).operators["a"]
        return [note for note in made.notes if "estimates do not know" in note]

    assert uneven([50.0] * 4) == []
    (note,) = uneven([50.0, 0.0, 0.0, 0.0])
    assert "takes 70% of the tuples, not 25%" in note


def test_an_estimate__says_that_parts_were_unequal() -> None:
    topology = Topology("one", (Operator("a"),), ())

    def profiles(parts: Sequence[float], before: Mapping[str, OperatorProfile]) -> Mapping[str, OperatorProfile]:
        samples = [
            OperatorSample("a", at, 60.0, 6.0, 0.0, 60 * per_s, {}, age_s=600.0, parallelism=4)
            for at, per_s in enumerate(parts)
        ]
        return calibrated(topology, samples, before).profiles

    def said(known: Mapping[str, OperatorProfile]) -> list[str]:
        notes = evaluate(topology, known, PhysicalPlan("one", {"a": 4}), {"a": 1.0}).notes
        return [note for note in notes if "unequal parts" in note]

    hot = profiles(HOT, {"a": OperatorProfile("a", 1.0)})
    (note,) = said(hot)
    assert note.startswith("instances of a worked on unequal parts")
    assert said(profiles(EVEN, hot)) == []


def test_partitions_that_instances_share_unequally__are_no_surprise() -> None:
    # 5 partitions for 3 instances: two of them, two and one.
    assert notes([], (40.0, 40.0, 20.0), partitions=5) == {}
    assert notes([], (39.0, 39.0, 22.0)) == {}  # 39 of 100 are 1.17 of a third, less than 1.2
    assert list(notes([], (50.0, 25.0, 25.0))) == ["a"]


def test_instances_of_unequal_output__are_named_at_their_readers() -> None:
    # Instances of b take as much each and pass on .7 of all, or a tenth: c reads in line.
    found = notes([Grouping.SHUFFLE, Grouping.FORWARD], EVEN, EVEN, HOT)
    assert list(found) == ["c"]
    assert "as of senders of unequal output" in found["c"]
    assert notes([Grouping.SHUFFLE] * 2, EVEN, EVEN, EVEN) == {}


def test_readers_in_line_behind_keys__get_what_their_senders_do() -> None:
    # The skew of b is told by its keys; c passes it on.
    assert notes([Grouping.FIELDS, Grouping.FORWARD], EVEN, HOT, HOT) == {}


@pytest.mark.parametrize("readers", [(25.0, 25.0, 50.0), (34.0, 33.0, 33.0)])
def test_pointwise_ranges_of_flink__are_uneven_by_themselves(readers: tuple[float, ...]) -> None:
    """Of 2 senders readers 0 and 1 share the first, reader 2 has the second: a quarter, a quarter and a half."""
    assert notes([Grouping.RESCALE], (50.0, 50.0), readers) == {}
