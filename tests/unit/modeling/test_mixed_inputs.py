"""A join's ratio of output to input holds for one mix: said until another mix has been seen."""

from dataclasses import replace

from modeling.calibration.calibrated import calibrated
from modeling.evaluate import evaluate
from modeling.inputs.mixed_inputs import mixed_operators, unseparated_outputs
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from tests.unit.modeling.calibration_samples import DECLARED, JOIN, joined

PLAN = PhysicalPlan(JOIN.name, dict.fromkeys(JOIN.order, 1))
LOAD = {"a": 1.0, "b": 1.0}


def test_an_estimate__notes_a_join_whose_ratio_was_seen_at_one_mix_alone() -> None:
    # Three of a for each of b, whatever the load: 0.75 on average may be one of each of a and none of b.
    samples = [joined(3 * n, n, 0.002 * n, 3 * n) for n in (100, 200, 300, 400)]
    profiles = calibrated(JOIN, samples, DECLARED).profiles
    assert unseparated_outputs(JOIN, profiles) == {"j": ("j->k",)}
    (note,) = [note for note in evaluate(JOIN, profiles, PLAN, LOAD).notes if "mix" in note]
    assert note.startswith("j makes 0.75 on j->k per tuple of any input, which holds for one mix")


def test_an_estimate__notes_nothing_once_another_mix_was_seen() -> None:
    mixes = [(1000.0, 200.0), (300.0, 900.0), (700.0, 700.0), (1200.0, 100.0), (100.0, 1500.0)]
    apart = calibrated(JOIN, [joined(a, b, 0.001 * (a + b), a) for a, b in mixes], DECLARED).profiles
    equal = calibrated(JOIN, [joined(a, b, 0.001 * (a + b), a + b) for a, b in mixes], DECLARED).profiles
    for profiles in (apart, equal):
        assert unseparated_outputs(JOIN, profiles) == {}
        assert not [note for note in evaluate(JOIN, profiles, PLAN, LOAD).notes if "mix" in note]


def test_inputs_of_one_source__keep_their_mix() -> None:
    streams = (Stream("a", "x"), Stream("a", "y"), Stream("x", "j"), Stream("y", "j"), Stream("j", "k"))
    diamond = Topology("diamond", tuple(map(Operator, "axyjk")), streams)
    assert mixed_operators(diamond) == {}
    assert mixed_operators(replace(diamond, streams=streams[1:])) == {"j": ("x->j", "y->j")}


def test_a_mixed_sink__makes_nothing_that_could_be_wrong() -> None:
    sink = Topology("sink", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j")))
    assert unseparated_outputs(sink, {name: OperatorProfile(name, 0.001) for name in "abj"}) == {}
