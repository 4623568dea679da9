"""Calibration of an operator with several inputs: what each of them costs and makes."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import CalibratedOperator, calibrated
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from tests.unit.modeling.calibration_samples import DECLARED, JOIN, joined, profile_of

MIXES = [(1000.0, 200.0), (300.0, 900.0), (700.0, 700.0), (1200.0, 100.0), (100.0, 1500.0)]


def test_inputs__that_differ_are_told_apart_by_their_mix() -> None:
    # a tuple of a takes 1 ms and makes 1, one of b takes 5 ms and makes 3
    profile = profile_of(*(joined(a, b, 0.001 * a + 0.005 * b, a + 3 * b) for a, b in MIXES))
    assert profile.stream_service_s == {"a->j": pytest.approx(0.001), "b->j": pytest.approx(0.005)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(1), "b->j": pytest.approx(3)}}
    # Of all together: a 3300, b 3400. 3.3 s + 17 s, and 3300 + 10,200, over 6700
    assert profile.service_s == pytest.approx(20.3 / 6700)
    assert profile.selectivity["j->k"] == pytest.approx(13_500 / 6700)
    assert "stream_service_s[b->j]" in profile.intervals
    assert "input_selectivity[j->k][a->j]" in profile.intervals


def test_inputs__that_do_not_differ_have_one_ratio() -> None:
    rng = np.random.default_rng(1)
    samples = [joined(a, b, 0.002 * (a + b) * rng.normal(1, 0.05), 2 * (a + b) * rng.normal(1, 0.05)) for a, b in MIXES]
    known = {**DECLARED, "j": replace(DECLARED["j"], stream_service_s={"a->j": 0.3}, intervals={"x": (0.0, 1.0)})}
    made = calibrated(JOIN, samples, known).operators["j"]
    assert (made.profile.stream_service_s, made.notes) == ({}, ())
    # Seen at five mixes: known to be equal, which one mix would not have shown.
    pooled = made.profile.selectivity["j->k"]
    assert made.profile.input_selectivity == {"j->k": {"a->j": pooled, "b->j": pooled}}
    assert "x" not in made.profile.intervals


def test_inputs__that_go_up_and_down_together_are_pooled_with_a_note() -> None:
    made = calibrated(JOIN, [joined(n, 2 * n, 0.01 * n, n) for n in (100, 200, 300, 400, 500)], DECLARED).operators["j"]
    assert made.profile.stream_service_s == {}
    assert made.profile.service_s == pytest.approx(0.01 / 3)
    assert "go up and down together" in made.notes[0]


def test_inputs__that_were_known_to_differ_do_so_until_data_show_otherwise() -> None:
    before = replace(
        DECLARED["j"],
        stream_service_s={"a->j": 0.001, "b->j": 0.005},
        input_selectivity={"j->k": {"a->j": 1.0, "b->j": 3.0}},
    )
    known = {**DECLARED, "j": before}
    # Collinear: a and twice as many of b, all of it half as much again as it was.
    together = [joined(n, 2 * n, 1.5 * (0.001 * n + 0.005 * 2 * n), 1.5 * (n + 6 * n)) for n in (100, 200, 300, 400)]
    profile = profile_of(*together, known=known)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.0015), "b->j": pytest.approx(0.0075)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(1.5), "b->j": pytest.approx(4.5)}}
    # Told apart, and the other way round: 5 ms and 1 ms, 3 and 1.
    swapped = profile_of(*(joined(a, b, 0.005 * a + 0.001 * b, 3 * a + b) for a, b in MIXES), known=known)
    assert swapped.stream_service_s == {"a->j": pytest.approx(0.005), "b->j": pytest.approx(0.001)}
    assert swapped.input_selectivity == {"j->k": {"a->j": pytest.approx(3), "b->j": pytest.approx(1)}}


def test_sample_that_does_not_tell_a_stream__is_no_sample_of_nothing() -> None:
    told = [joined(n, 0, 1, 3 * n) for n in (100.0, 200.0)]
    untold = joined(1000.0, 0, 1, 0, records_out={})
    # 900 out of the 300 that were told with them, not of 1300
    assert profile_of(*told, untold).selectivity["j->k"] == pytest.approx(3)
    # What is told to be nothing is nothing: 900 of 1300
    assert profile_of(*told, joined(1000.0, 0, 1, 0)).selectivity["j->k"] == pytest.approx(900 / 1300)
    assert profile_of(untold).selectivity["j->k"] == 7.0
    by_mix = [joined(a, b, 1, a + 3 * b) for a, b in MIXES]
    found = profile_of(*by_mix, joined(500.0, 500.0, 1, 0, records_out={})).input_selectivity["j->k"]
    assert found == {"a->j": pytest.approx(1), "b->j": pytest.approx(3)}


DIFFERED = {
    **DECLARED,
    "j": replace(
        DECLARED["j"],
        service_s=0.003,
        selectivity={"j->k": 2.0},
        stream_service_s={"a->j": 0.001, "b->j": 0.005},
        input_selectivity={"j->k": {"a->j": 1.0, "b->j": 3.0}},
        intervals={"stream_service_s[b->j]": (0.004, 0.006)},
    ),
}


def test_input_that_comes_alone__is_measured_by_itself_where_inputs_were_known_to_differ() -> None:
    # 8 s and 12 s over 1000 tuples of b each: 10 ms, no longer 5. a stays as it was.
    profile = profile_of(joined(0, 1000, 8, 4000), joined(0, 1000, 12, 4000), known=DIFFERED)
    assert profile.stream_service_s == {"a->j": 0.001, "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": 1.0, "b->j": pytest.approx(4)}}
    low, high = profile.intervals["stream_service_s[b->j]"]
    assert low < 0.010 < high
    # Where nothing was known, the ratio of all is that of the one.
    assert profile_of(joined(0, 1000, 8, 4000), joined(0, 1000, 12, 4000)).stream_service_s == {}


def test_one_sample_of_two_inputs__scales_what_was_known() -> None:
    # 0.1 s + 0.5 s as it was, now 1.2 s; 100 + 300 tuples out, now 800
    profile = profile_of(joined(100, 100, 1.2, 800), known=DIFFERED)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.002), "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(2), "b->j": pytest.approx(6)}}
    low, high = profile.intervals["stream_service_s[b->j]"]
    assert low < 0.010 < high


def test_samples_that_do_not_tell_inputs__scale_what_was_known_by_the_ratio_of_all() -> None:
    # 6 ms a tuple where it was 3, and 1 tuple out where it was 2
    untold = [joined(n, n, 0.012 * n, 2 * n, records_in_by={}) for n in (100.0, 200.0, 300.0)]
    profile = profile_of(*untold, known=DIFFERED)
    assert profile.stream_service_s == {"a->j": pytest.approx(0.002), "b->j": pytest.approx(0.010)}
    assert profile.input_selectivity == {"j->k": {"a->j": pytest.approx(0.5), "b->j": pytest.approx(1.5)}}
    # Declared as 0.5 s, which inputs of 1 and 5 ms cannot have together: they have 5 ms at most, now 6.
    odd = {**DIFFERED, "j": replace(DIFFERED["j"], service_s=0.5)}
    assert profile_of(*untold, known=odd).stream_service_s["b->j"] == pytest.approx(0.006)


def test_busy_seconds_by_input__are_taken_as_told() -> None:
    told = [
        joined(n, 2 * n, 0.011 * n, n, busy_s_by={"a->j": 0.001 * n, "b->j": 0.010 * n}) for n in (100.0, 200.0, 300.0)
    ]
    # 1 ms a tuple of a; 10 ms over 2 tuples of b
    assert profile_of(*told).stream_service_s == {"a->j": pytest.approx(0.001), "b->j": pytest.approx(0.005)}


def test_silent_input__keeps_the_ratio_that_was_known() -> None:
    three = Topology("three", tuple(Operator(n) for n in "abcjk"), (*JOIN.streams, Stream("c", "j")))
    known = {**DECLARED, "c": OperatorProfile("c", 0.1)}
    known["j"] = replace(known["j"], input_selectivity={"j->k": {"c->j": 9.0}})
    samples = [joined(a, b, 0.001 * a + 0.005 * b, a + 3 * b) for a, b in MIXES]
    found = calibrated(three, samples, known).operators["j"].profile.input_selectivity["j->k"]
    assert found == {"a->j": pytest.approx(1), "b->j": pytest.approx(3), "c->j": 9.0}


def test_inputs__of_which_few_tuples_were_seen_are_not_called_alike() -> None:
    """Samples of a alone and of b alone, a tenth and a half off the mean: 90 and 110 made of 100 a, 2 and 6 of 4 b.

    Weighted by the root of their tuples they are 1 off each, 4 squares over 2 degrees of freedom: a variance of 2. That
    of the ratio of b is 2 / (4 + 4), an error of 0.5, and Student's t for 2 is 4.30: up to 1 + 4.3 · 0.5 = 3.15.
    """

    def made(of_b: float, off: float) -> CalibratedOperator:
        seen = [(100.0, 0.0, 90.0), (100.0, 0.0, 110.0), (0.0, of_b, of_b - off), (0.0, of_b, of_b + off)]
        return calibrated(JOIN, [joined(a, b, 0.001 * out, out) for a, b, out in seen], DECLARED).operators["j"]

    few = made(4.0, 2.0)
    assert few.profile.input_selectivity == few.profile.stream_service_s == {}
    assert [note for note in few.notes if "a tuple of b->j may count for up to 3.2 times the mean" in note] == list(
        few.notes
    )
    assert len(few.notes) == 2
    # Of 40 a tenth off: 2 + 2 · 16 / 40 over 2 are 1.4; √(1.4 / 80) is 0.13, up to 1.57: alike as far as matters.
    enough = made(40.0, 4.0)
    assert enough.notes == ()
    assert enough.profile.input_selectivity == {"j->k": {"a->j": pytest.approx(1), "b->j": pytest.approx(1)}}
