"""A hot instance of a keyed operator is measured, and bounds what plans carry."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

TOPOLOGY = Topology("hot", (Operator("in"), Operator("count")), (Stream("in", "count", Grouping.FIELDS),))
DECLARED = {"in": OperatorProfile("in", 0.0), "count": OperatorProfile("count", 0.001)}
SERVICE_S = 0.0125
HOT = (52.6, 21.7, 21.6, 21.7)
"""Tuples per second by instance: 117.6 in all."""


def measured(
    rates_per_s: Sequence[float], declared: OperatorProfile = DECLARED["count"]
) -> tuple[dict[str, OperatorProfile], tuple[str, ...]]:
    samples = [
        OperatorSample(
            "count", index, 60.0, 60 * rate * SERVICE_S, 0.0, 60 * rate, {}, 60.0 * span, parallelism=len(rates_per_s)
        )
        for span in range(3)
        for index, rate in enumerate(rates_per_s)
    ]
    made = calibrated(TOPOLOGY, samples, {**DECLARED, "count": declared})
    return made.profiles, made.operators["count"].notes


def mst_per_s(profiles: dict[str, OperatorProfile], count: int) -> float:
    plan = PhysicalPlan("hot", {"in": 1, "count": count})
    return evaluate(TOPOLOGY, profiles, plan, {"in": 100.0}).mst_per_s["in"]


def test_a_hot_instance__bounds_the_maximum_as_measured() -> None:
    profiles, notes = measured(HOT)
    # One instance carries 80/s; the hot one takes 52.6 of 117.6.
    assert mst_per_s(profiles, 4) == pytest.approx(80 / (52.6 / 117.6), rel=0.01)
    assert mst_per_s(DECLARED | {"count": replace(profiles["count"], stream_keys={})}, 4) == pytest.approx(320)
    # At 8 the heavy key of (52.6 - 21.67) / 117.6 stays whole: 0.263 + 0.737 / 8.
    heavy = (52.6 - 65 / 3) / 117.6
    assert mst_per_s(profiles, 8) == pytest.approx(80 / (heavy + (1 - heavy) / 8), rel=0.01)
    assert any("the busiest of 4 instances takes 45% of the tuples of in->count" in note for note in notes)


def test_instances_that_are_even_again__end_the_skew() -> None:
    hot, _ = measured(HOT)
    profiles, notes = measured((29.0, 29.5, 29.4, 29.7), hot["count"])
    assert profiles["count"].stream_keys == {}
    assert not [note for note in notes if "instances take" in note]


def test_declared_keys__that_contradict_the_instances_are_named_and_kept() -> None:
    even = KeyHistogram({}, distinct_keys=1_000_000)
    profiles, notes = measured(HOT, replace(DECLARED["count"], keys=even))
    assert profiles["count"].keys_of("in->count") == even
    (note,) = [note for note in notes if "declared keys" in note]
    assert "takes 45% of the tuples of in->count, by its declared keys it would take 25%" in note


def test_declared_keys__that_agree_are_not_named() -> None:
    rng = np.random.default_rng(1)
    rates = 29.4 * (1 + 0.02 * rng.standard_normal(4))
    even = KeyHistogram({}, distinct_keys=1_000_000)
    assert not [note for note in measured(rates, replace(DECLARED["count"], keys=even))[1] if "keys" in note]


def test_instances_that_were_not_all_measured__say_nothing() -> None:
    samples = [
        OperatorSample("count", index, 60.0, 30.0, 0.0, 2400.0 * (1 + index), {}, 0.0, parallelism=4)
        for index in (0, 1)
    ]
    assert calibrated(TOPOLOGY, samples, DECLARED).profiles["count"].stream_keys == {}
