"""Joins, timers and the like, of which one output ratio and one service time hold for one rate: notes name them."""

from dataclasses import replace

import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import Feature, OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from tests.unit.modeling.calibration_samples import DECLARED, JOIN, joined

LINE = Topology("line", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c")))
ASSUMED = {name: OperatorProfile(name, 1.0) for name in "abc"}
SPAN_S = 20.0


def notes(*spans: tuple[float, float, float]) -> list[str]:
    """On rates, from samples of b: tuples a second, milliseconds of work and tuples out, both per tuple."""
    samples = [
        OperatorSample(
            "b",
            0,
            SPAN_S,
            SPAN_S * per_s * each_ms / 1000,
            0.0,
            SPAN_S * per_s,
            {"b->c": SPAN_S * per_s * out},
            began_s=SPAN_S * at,
            age_s=600.0,
        )
        for at, (per_s, each_ms, out) in enumerate(spans)
    ]
    return [note for note in calibrated(LINE, samples, ASSUMED).operators["b"].notes if "for all rates" in note]


def test_output_that_rises_with_the_rate__is_named() -> None:
    # Pairs of a join: 100 a second of 100 tuples, four times as many, 400, of twice the tuples.
    (note,) = notes((100, 2.0, 1.0), (200, 2.0, 2.0))
    assert "output on b->c rises from 1 a tuple at 100 tuples a second to 2 at 200" in note
    assert "join" in note


@pytest.mark.parametrize(
    "spans",
    [
        # 2000 tuples make 2000 and 4000 make 4360: 9 % more each, less than a tenth.
        ((100, 2.0, 1.0), (200, 2.0, 1.09)),
        # Of 120 tuples 120, of 240 twice as many and 45 % more each: chance makes 4 · √(1/120 + 1/240) = 45 %.
        ((6, 2.0, 1.0), (12, 2.0, 1.44)),
        # Twice as much of each, at 1.2 times the rate: too near to tell.
        ((100, 2.0, 1.0), (120, 2.0, 2.0)),
    ],
)
def test_output_that_rises_by_chance__is_not_named(spans: tuple[tuple[float, float, float], ...]) -> None:
    assert notes(*spans) == []


def test_output_that_rises_as_the_mix_of_inputs_changes__is_not_named() -> None:
    # Of a 1, of b 3: 1200 tuples make 1600 (1.33 each), 1600 make 4600 (2.88), each in 60 s.
    mixes = [(1000.0, 200.0), (300.0, 900.0), (700.0, 700.0), (1200.0, 100.0), (100.0, 1500.0)]
    samples = [
        joined(a, b, 0.001 * a + 0.005 * b, a + 3 * b, began_s=60.0 * at, age_s=600.0)
        for at, (a, b) in enumerate(mixes)
    ]
    assert calibrated(JOIN, samples, DECLARED).operators["j"].notes == ()
    # Where no sample tells its inputs apart, the mix may be the cause as well as the rate.
    blind = [
        joined(a, b, 2.0, a + 3 * b, began_s=60.0 * at, age_s=600.0, records_in_by={})
        for at, (a, b) in enumerate(mixes)
    ]
    assert any(
        "rises from 1.33 a tuple at 20 " in note for note in calibrated(JOIN, blind, DECLARED).operators["j"].notes
    )


def test_service_time_that_changes_with_the_rate__is_named() -> None:
    # Three standard errors of two spans, each 5 % off by its machine's minute: 3 · √2 · 5 % = 21.2 %.
    (note,) = notes((50, 4.0, 1.0), (100, 4.9, 1.0))
    assert "service time rises from 4 ms at 50 tuples a second to 4.9 ms at 100" in note
    assert notes((50, 4.0, 1.0), (100, 4.8, 1.0)) == []
    # 0.2 s of timers a second, beside a millisecond for each tuple: 5 ms of 50 a second, 3 of 100.
    (note,) = notes((50, 5.0, 1.0), (100, 3.0, 1.0))
    assert "service time falls from 5 ms at 50 tuples a second to 3 ms at 100" in note
    assert "timers" in note
    assert "declare pauses" in note


def test_an_estimate_by_numbers_of_one_rate__says_so_until_calibrated_afresh() -> None:
    def sampled(per_s: float, out: float, at: int) -> OperatorSample:
        made = {"b->c": SPAN_S * per_s * out}
        return OperatorSample("b", 0, SPAN_S, 1.0, 0.0, SPAN_S * per_s, made, began_s=SPAN_S * at, age_s=600.0)

    def said(profiles: Profiles) -> list[str]:
        plan = PhysicalPlan("line", dict.fromkeys("abc", 1))
        return [note for note in evaluate(LINE, profiles, plan, {"a": 1.0}).notes if "changed with the rate" in note]

    both = calibrated(LINE, [sampled(100, 1.0, 0), sampled(200, 2.0, 1)], ASSUMED).profiles
    assert both["b"].features == (Feature.RATE_DEPENDENT,)
    (note,) = said(both)
    assert note.startswith("what a tuple of b takes or makes")
    # One rate shows nothing new; two that are alike end it; afresh nothing is known.
    alike = [sampled(100, 2.0, 2), sampled(200, 2.0, 3)]
    alike = [replace(one, busy_s=at + 1.0) for at, one in enumerate(alike)]  # half a millisecond each
    assert said(calibrated(LINE, alike, both).profiles) == []
    assert said(calibrated(LINE, [sampled(200, 2.0, 2)], both).profiles) == [note]
    assert said(calibrated(LINE, [sampled(200, 2.0, 2)], ASSUMED).profiles) == []


def test_service_time_of_an_idle_operator__is_not_named() -> None:
    # 50 · 0.4 ms and 100 · 0.2 ms: busy for 2 % of the time at both rates.
    assert notes((50, 0.4, 1.0), (100, 0.2, 1.0)) == []


def test_polls_of_a_source__are_no_timers() -> None:
    # Polls take 2 s of 20: 1000 tuples of 1 ms take 3 ms each, 4000 take 1.5 ms.
    samples = [
        OperatorSample("a", 0, SPAN_S, 2 + 0.001 * n, 0.0, n, {"a->b": n}, began_s=SPAN_S * at, age_s=600.0, arrivals=n)
        for at, n in enumerate((1000.0, 4000.0))
    ]
    (note,) = [note for note in calibrated(LINE, samples, ASSUMED).operators["a"].notes if "for all rates" in note]
    assert "falls from 3 ms at 50 tuples a second to 1.5 ms at 200, as of polls that find nothing" in note
    assert "pauses" not in note


def test_service_time_in_a_full_container__is_not_compared_with_that_in_others() -> None:
    # A quota of .15 cores stops a thread for most of the time: busy for .7 s a second at 60/s, of which .08 computes.
    samples = [
        OperatorSample(
            "b", 0, SPAN_S, SPAN_S * busy, 0.0, SPAN_S * per_s, {}, began_s=SPAN_S * at, age_s=600.0, container="x",
            container_cpu_s=SPAN_S * cores, container_cores=0.15,
        )
        for at, (per_s, busy, cores) in enumerate([(130, 1.0, 0.15), (60, 0.7, 0.08)])
    ]  # fmt: skip
    assert not any(
        "service time" in note for note in calibrated(LINE, samples, ASSUMED).operators["b"].notes if "falls" in note
    )
