"""Streams whose partitioner nobody knows: even shares are assumed until calibration sees others."""

import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import misfit
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

TOPOLOGY = Topology("parts", (Operator("in"), Operator("work", 4)), (Stream("in", "work", Grouping.CUSTOM),))
SERVICE_S = 0.01
DECLARED = {"in": OperatorProfile("in", 0.0), "work": OperatorProfile("work", SERVICE_S)}


def plan(count: int) -> PhysicalPlan:
    return PhysicalPlan("parts", {"in": 1, "work": count})


def measured(*rates_per_s: float) -> tuple[dict[str, OperatorProfile], tuple[str, ...]]:
    samples = [
        OperatorSample(
            "work", index, 60.0, 60 * rate * SERVICE_S, 0.0, 60 * rate, {}, 60.0 * span, parallelism=len(rates_per_s)
        )
        for span in range(3)
        for index, rate in enumerate(rates_per_s)
    ]
    made = calibrated(TOPOLOGY, samples, DECLARED)
    return made.profiles, made.operators["work"].notes


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_an_unknown_partitioner__is_taken_for_even_with_a_note(count: int) -> None:
    assert misfit(TOPOLOGY, plan(count)) is None
    estimate = evaluate(TOPOLOGY, DECLARED, plan(count), {"in": 50.0})
    # 1 / 10 ms of each instance
    assert estimate.mst_per_s["in"] == pytest.approx(100 * count)
    assert any("how in->work is partitioned is unknown: even shares" in each for each in estimate.notes) == (count > 1)


def test_shares_that_a_partitioner_was_measured_with__bound_the_maximum() -> None:
    profiles, notes = measured(30.0, 10.0)
    # Three quarters of 2 instances are half of all beside an even part of the other half.
    assert any("the busiest of 2 instances takes 75% of the tuples of in->work" in note for note in notes)
    many = evaluate_many(TOPOLOGY, profiles, [plan(count) for count in (1, 2, 4)], {"in": [50.0]})
    for row, (count, busiest) in enumerate([(1, 1.0), (2, 0.75), (4, 0.5 + 0.5 / 4)]):
        estimate = evaluate(TOPOLOGY, profiles, plan(count), {"in": 50.0})
        assert estimate.mst_per_s["in"] == pytest.approx(100 / busiest)
        assert many.headroom_factor[row, 0] == pytest.approx(100 / busiest / 50)
    assert any("one of 2 instances got 50% beside an even part" in note for note in estimate.notes)


def test_even_instances_of_a_partitioner__have_no_heavy_part() -> None:
    profiles, _ = measured(20.0, 20.0)
    assert profiles["work"].stream_keys == {}


def test_keys_of_an_operator__are_not_those_of_a_partitioner() -> None:
    given = Topology("given", TOPOLOGY.operators, (Stream("in", "work", Grouping.CUSTOM, shares=(0.9, 0.1)),))
    profiles, _ = measured(30.0, 10.0)
    # Declared shares go first: 100 / .9.
    estimate = evaluate(given, profiles, PhysicalPlan("given", {"in": 1, "work": 2}), {"in": 50.0})
    assert estimate.mst_per_s["in"] == pytest.approx(100 / 0.9)
    assert misfit(given, PhysicalPlan("given", {"in": 1, "work": 3})) is not None
