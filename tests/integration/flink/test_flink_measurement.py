"""The model against a real Flink: a parallelism that was never measured is predicted."""

import numpy as np
import pytest
from machine import stretched

from forescale.local.demo.flink_measurement import measure_word_count
from forescale.local.demo.word_count import COUNT, WordCount
from forescale.local.flink.local_cluster import LocalFlink

pytestmark = [pytest.mark.flink, pytest.mark.slow]


def test_measurement__finds_the_predicted_throughput_and_bottleneck(flink: LocalFlink) -> None:
    job = WordCount(name="measured", skew=0.8)
    with stretched() as stretch:
        measured = measure_word_count(flink, job, [(1, 3, 2)], span_s=8.0, warm_s=5.0)
    (row,) = measured.rows
    assert row.predicted_bottleneck == row.measured_bottleneck == COUNT
    # By hand: half the words and a little more (52.5 %, by Flink's hash of the words) go to one of two counters, which
    # does 1000 a second: 1000 / (5 · 0.525) = 381 sentences a second. A machine that is late makes both less.
    assert 0.85 * 381 / stretch.factor < row.measured_per_s < 1.15 * 381
    assert abs(np.log(row.predicted_per_s / row.measured_per_s)) < np.log(1.15 * stretch.factor)
    assert row.utilisation[COUNT] > 0.95
