"""Calibration from counters, against hand arithmetic."""

import pytest

from modeling.calibration.calibrated import calibrated, calibrated_profiles
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Topology

Profiles = dict[str, OperatorProfile]


def test_service_time__is_busy_seconds_over_tuples_pooled(chain: Topology, chain_profiles: Profiles) -> None:
    samples = [
        OperatorSample("b", 0, 60, busy_s=12, backpressured_s=0, records_in=1000, records_out={"b->c": 6000}),
        OperatorSample("b", 1, 60, busy_s=6, backpressured_s=0, records_in=500, records_out={"b->c": 3000}),
    ]
    measured = calibrated_profiles(chain, samples, chain_profiles)["b"]
    # 18 s / 1500 tuples, and 9000 / 1500 out per tuple in
    assert measured.service_s == pytest.approx(0.012)
    assert measured.selectivity["b->c"] == pytest.approx(6)
    assert measured.samples == 2


def test_service_time__is_not_lengthened_by_backpressure(chain: Topology, chain_profiles: Profiles) -> None:
    held_up = OperatorSample("b", 0, 60, busy_s=10, backpressured_s=50, records_in=1000, records_out={"b->c": 5000})
    assert calibrated_profiles(chain, [held_up], chain_profiles)["b"].service_s == pytest.approx(0.010)


def test_source__is_measured_by_what_it_gives_out(chain: Topology, chain_profiles: Profiles) -> None:
    sample = OperatorSample("a", 0, 60, busy_s=2, backpressured_s=0, records_in=0, records_out={"a->b": 1000})
    assert calibrated_profiles(chain, [sample], chain_profiles)["a"].service_s == pytest.approx(0.002)


def test_too_few_tuples__leave_the_declared_profile(chain: Topology, chain_profiles: Profiles) -> None:
    idle = OperatorSample("b", 0, 60, busy_s=1, backpressured_s=0, records_in=3, records_out={"b->c": 15})
    assert calibrated_profiles(chain, [idle], chain_profiles)["b"] == chain_profiles["b"]


def test_error__shrinks_with_more_samples(chain: Topology, chain_profiles: Profiles) -> None:
    def error_s(repeats: int) -> float:
        samples = [
            OperatorSample("b", 0, 60, busy_s=busy_s, backpressured_s=0, records_in=1000, records_out={})
            for busy_s in (9.0, 10.0, 11.0) * repeats
        ]
        return calibrated_profiles(chain, samples, chain_profiles)["b"].service_s_error

    assert 0 < error_s(12) < error_s(3) < error_s(1)


def test_unknown_operators_and_streams__are_refused(chain: Topology, chain_profiles: Profiles) -> None:
    with pytest.raises(ModelError, match="unknown operator 'q'"):
        calibrated_profiles(chain, [OperatorSample("q", 0, 1, 0, 0, 0, {})], chain_profiles)
    with pytest.raises(ModelError, match="unknown stream b->q"):
        calibrated_profiles(chain, [OperatorSample("b", 0, 1, 0, 0, 0, {"b->q": 1})], chain_profiles)


@pytest.mark.parametrize("busy_s", [float("nan"), -1.0, float("inf")])
def test_sample__with_a_number_that_cannot_be_is_refused(busy_s: float) -> None:
    with pytest.raises(ModelError, match="busy_s"):
        OperatorSample("b", 0, 60, busy_s=busy_s, backpressured_s=0, records_in=1, records_out={})


def test_source__that_makes_many_tuples_of_an_arrival_is_measured_per_arrival(chain: Topology) -> None:
    declared = {n: OperatorProfile(n, 0.001) for n in "abc"}
    declared["a"] = OperatorProfile("a", 0.1, {"a->b": 400.0})
    # 80,000 sentences are 200 calls at 400 a call: 8 s / 200
    sample = OperatorSample("a", 0, 60, busy_s=8, backpressured_s=0, records_in=80_000, records_out={"a->b": 80_000})
    measured = calibrated_profiles(chain, [sample], declared)["a"]
    assert measured.service_s == pytest.approx(0.04)
    assert measured.selectivity["a->b"] == pytest.approx(400)


def test_source__that_counts_its_arrivals_has_its_selectivity_and_time_of_an_arrival_measured(chain: Topology) -> None:
    # 1 s busy with 2000 arrivals, of which a chained aggregation makes 100 tuples: .5 ms each, .05 out for each in.
    declared = {name: OperatorProfile(name, 1.0) for name in chain.order}
    source, out = chain.sources[0], chain.outputs(chain.sources[0])[0].name
    sample = OperatorSample(source, 0, 10.0, 1.0, 0.0, 2000, {out: 100}, arrivals=2000)
    profile = calibrated_profiles(chain, [sample, sample], declared)[source]
    assert profile.service_s == pytest.approx(0.0005)
    assert profile.selectivity[out] == pytest.approx(0.05)


def test_output_that_falls_with_the_rate__is_named(chain: Topology) -> None:
    # A source with a chained aggregation of 100 keys each second: 1000 tuples in 10 s, of 4000/s as of 2000/s.
    declared = {name: OperatorProfile(name, 1.0) for name in chain.order}
    source, out = chain.sources[0], chain.outputs(chain.sources[0])[0].name

    def at(per_s: float, made: float, began_s: float) -> OperatorSample:
        return OperatorSample(
            source,
            0,
            10.0,
            per_s / 400,
            0.0,
            10 * per_s,
            {out: made},
            arrivals=10 * per_s,
            began_s=began_s,
            age_s=600.0,
        )

    slow, fast = at(2000, 1000, 0.0), at(4000, 1000, 20.0)
    (note,) = (n for n in calibrated(chain, [slow, fast], declared).operators[source].notes if "falls" in n)
    assert "from 0.05 a tuple at 2000 tuples a second to 0.025 at 4000" in note
    # Twice as much at twice the rate
    alike = calibrated(chain, [slow, at(4000, 2000, 20.0)], declared).operators[source]
    assert not any("falls" in note for note in alike.notes)
