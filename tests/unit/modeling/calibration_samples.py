"""Samples of a join of two inputs and of its sink, and what calibration makes of them."""

from collections.abc import Mapping
from dataclasses import replace

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology

JOIN = Topology("join", tuple(Operator(n) for n in "abjk"), (Stream("a", "j"), Stream("b", "j"), Stream("j", "k")))
DECLARED = {name: OperatorProfile(name, 0.5, {"j->k": 7.0} if name == "j" else {}) for name in "abjk"}


def sample(busy_s: float, records_in: float, index: int = 0, **told: object) -> OperatorSample:
    """60 s of an instance of k."""
    plain = OperatorSample("k", index, 60.0, busy_s, 0.0, records_in, {})
    return replace(plain, **told)  # type: ignore[arg-type]


def joined(of_a: float, of_b: float, busy_s: float, out: float, **told: object) -> OperatorSample:
    """60 s of an instance of j."""
    by = {"a->j": of_a, "b->j": of_b}
    plain = OperatorSample("j", 0, 60.0, busy_s, 0.0, of_a + of_b, {"j->k": out}, records_in_by=by)
    return replace(plain, **told)  # type: ignore[arg-type]


def profile_of(*samples: OperatorSample, known: Mapping[str, OperatorProfile] = DECLARED) -> OperatorProfile:
    return calibrated(JOIN, samples, known).operators[samples[0].operator].profile
