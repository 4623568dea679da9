"""Which operator holds the others up, read from the counters of a saturated job."""

import pytest

from forescale.local.demo.flink_measurement import measured_bottleneck, throughput_per_s
from forescale.local.demo.word_count import COUNT, SOURCE, SPLIT, WordCount
from modeling.calibration.operator_sample import OperatorSample

TOPOLOGY = WordCount().topology


def sample(operator: str, index: int, busy_s: float, backpressured_s: float = 0.0) -> OperatorSample:
    return OperatorSample(operator, index, 10.0, busy_s, backpressured_s, 100.0, {})


def test_bottleneck__is_the_busy_operator_before_which_the_others_wait() -> None:
    samples = [sample(SOURCE, 0, 0.1, 9.9), sample(SPLIT, 0, 10.0), sample(COUNT, 0, 8.0)]
    assert measured_bottleneck(TOPOLOGY, samples) == SPLIT
    samples = [sample(SOURCE, 0, 0.1, 9.9), sample(SPLIT, 0, 6.0, 4.0), sample(COUNT, 0, 7.0), sample(COUNT, 1, 10.0)]
    assert measured_bottleneck(TOPOLOGY, samples) == COUNT  # one hot instance is enough


def test_bottleneck__of_equally_busy_operators_is_the_most_downstream() -> None:
    samples = [sample(SOURCE, 0, 0.1), sample(SPLIT, 0, 10.0), sample(COUNT, 0, 9.95)]
    assert measured_bottleneck(TOPOLOGY, samples) == COUNT


def test_throughput__adds_up_the_instances() -> None:
    assert throughput_per_s([sample(COUNT, 0, 1.0), sample(COUNT, 1, 1.0)], COUNT) == pytest.approx(20.0)


def test_word_shares__follow_zipf() -> None:
    keys = WordCount(vocabulary=3, skew=1.0).declared_profiles()[COUNT].keys
    assert keys is not None
    assert keys.shares == pytest.approx({"w0": 6 / 11, "w1": 3 / 11, "w2": 2 / 11})  # 1 : 1/2 : 1/3
