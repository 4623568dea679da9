"""What holds of every calibration: more data, other order, other units."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modeling.calibration.calibrated import Calibrated, calibrated
from modeling.calibration.drift import drifts
from modeling.calibration.offered_load import offered_load
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology

JOIN = Topology("join", tuple(Operator(n) for n in "abjk"), (Stream("a", "j"), Stream("b", "j"), Stream("j", "k")))
DECLARED = {name: OperatorProfile(name, 0.5) for name in "abjk"}


@st.composite
def _samples(draw: st.DrawFn, least: int = 2) -> list[OperatorSample]:
    """Of an operator with two inputs, on some instances and spans, telling what an engine may tell."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    count = draw(st.integers(least, 12))
    instances = draw(st.integers(1, 3))
    made = []
    for number in range(count):
        of_a, of_b = (float(n) for n in rng.poisson(rng.uniform(100, 900, 2)))
        busy_s = float(0.004 * of_a + 0.008 * of_b) * rng.gamma(100, 0.01)
        made.append(
            OperatorSample(
                "j",
                number % instances,
                60.0,
                busy_s,
                float(rng.uniform(0, 10)),
                of_a + of_b,
                {"j->k": float(rng.poisson(2 * of_a + of_b))},
                began_s=60.0 * (number // instances),
                age_s=float(rng.choice([5.0, 500.0], p=[0.1, 0.9])) if draw(st.booleans()) else None,
                records_in_by={"a->j": of_a, "b->j": of_b},
                parallelism=draw(st.sampled_from([2, 4])),
                cpu_s=busy_s * 0.8,
                memory_mib=float(rng.normal(300, 5)),
                state_gib=float(rng.uniform(1, 2)),
                gc_s=float(rng.uniform(0, 1)),
            )
        )
    return made


def _profile(samples: list[OperatorSample], known: dict[str, OperatorProfile] = DECLARED) -> OperatorProfile:
    return calibrated(JOIN, samples, known).operators["j"].profile


@pytest.mark.slow
@settings(deadline=None)
@given(_samples(), st.integers(2, 5))
def test_uncertainty__shrinks_with_data(samples: list[OperatorSample], times: int) -> None:
    """The same again in later spans: the same values, known better."""
    plain = [replace(one, age_s=None, records_in_by={}, parallelism=None, state_gib=None) for one in samples]
    later = [replace(one, began_s=(one.began_s or 0.0) + 3600.0 * again) for again in range(times) for one in plain]
    once, more = _profile(plain), _profile(later)
    assert more.service_s == pytest.approx(once.service_s)
    assert 0 < more.service_s_error < once.service_s_error
    assert more.selectivity_error["j->k"] < once.selectivity_error["j->k"]
    for name in ("service_s", "selectivity[j->k]", "gc_share"):
        (low, high), (lower, higher) = more.intervals[name], once.intervals[name]
        assert high - low < higher - lower, name


@pytest.mark.slow
@settings(deadline=None)
@given(_samples(), st.randoms(use_true_random=False))
def test_order_of_samples__makes_no_difference(samples: list[OperatorSample], random: object) -> None:
    shuffled = list(samples)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    there: Calibrated = calibrated(JOIN, samples, DECLARED)
    assert calibrated(JOIN, shuffled, DECLARED) == there


_SPAN = st.tuples(st.integers(0, 3), st.sampled_from([0.0, 4.0, 5.0, 60.0, 63.0]), st.integers(0, 900), st.booleans())
_TIED = [(1, 0.0, 600, False), (0, 4.0, 600, False), (0, 5.0, 900, False), (2, 5.0, 300, False)]
_Span = tuple[int, float, int, bool]


@settings(deadline=None)
@given(
    st.lists(_SPAN, min_size=1, max_size=10).flatmap(lambda each: st.tuples(st.just(each), st.permutations(each))),
    st.booleans(),
)
@example((_TIED, _TIED[::-1]), True)
def test_offered_load__does_not_depend_on_the_order_of_samples(
    orders: tuple[list[_Span], list[_Span]], timed: bool
) -> None:
    """Of some instances, begun at once or a little apart, held back or not, of which some spans lack a few."""
    there, again = (
        offered_load(
            [
                OperatorSample("a", index, 60.0, 6.0, 9.0 * held, count, {}, began_s if timed else None)
                for index, began_s, count, held in spans
            ],
            [count for _, _, count, _ in spans],
            4,
        )
        for spans in orders
    )
    # The order of a sum may show in its last digit.
    assert again.rate_per_s == pytest.approx(there.rate_per_s, rel=1e-12)
    assert (again.censored, again.spans) == (there.censored, there.spans)


@pytest.mark.slow
@settings(deadline=None)
@given(_samples(4), st.floats(0.01, 100))
def test_slower_machine__scales_every_time_and_nothing_else(samples: list[OperatorSample], factor: float) -> None:
    """All seconds longer by a factor, and spans too: rates fall, times per tuple rise, shares stay."""
    samples = [replace(one, age_s=None) for one in samples]
    slower = [
        replace(
            one,
            span_s=one.span_s * factor,
            busy_s=one.busy_s * factor,
            backpressured_s=one.backpressured_s * factor,
            cpu_s=(one.cpu_s or 0.0) * factor,
            gc_s=(one.gc_s or 0.0) * factor,
        )
        for one in samples
    ]
    plain, scaled = _profile(samples), _profile(slower)
    assert scaled.service_s == pytest.approx(factor * plain.service_s)
    assert scaled.service_s_error == pytest.approx(factor * plain.service_s_error, rel=1e-5)
    assert scaled.cpu_s == pytest.approx(factor * (plain.cpu_s or 0.0))
    assert scaled.stream_service_s == pytest.approx(
        {s: factor * v for s, v in plain.stream_service_s.items()}, rel=1e-5
    )
    assert scaled.efficiency.exponent == pytest.approx(plain.efficiency.exponent)
    assert dict(scaled.selectivity) == pytest.approx(dict(plain.selectivity))
    assert scaled.service_cv2 == pytest.approx(plain.service_cv2, rel=1e-5)
    assert scaled.gc_share == pytest.approx(plain.gc_share)


@settings(deadline=None)
@given(_samples())
def test_values__lie_within_their_intervals(samples: list[OperatorSample]) -> None:
    profile = _profile(samples)
    for name, (low, high) in profile.intervals.items():
        assert 0 <= low <= high, name
    if "service_s" in profile.intervals:
        low, high = profile.intervals["service_s"]
        assert low <= profile.service_s <= high


@pytest.mark.slow
@settings(deadline=None)
@given(_samples())
def test_same_data__never_drift(samples: list[OperatorSample]) -> None:
    profiles = calibrated(JOIN, samples, DECLARED).profiles
    assert drifts(profiles, profiles) == []
    # On top of itself a calibration says the same again.
    again = calibrated(JOIN, samples, profiles).profiles
    assert drifts(profiles, again) == []
