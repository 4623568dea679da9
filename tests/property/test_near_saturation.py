"""Near saturation and under extreme bursts the model warns of nothing, and its times are never negative or NaN."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import Case, cases

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.queueing.bursts import Arrivals, Bursts, burst_waits

_BURSTS = st.builds(
    lambda share, more, mean_s: Bursts(share, 1 + more * (1 / share - 1), mean_s),
    st.sampled_from([1e-6, 0.01, 0.5, 0.999]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([1e-9, 1e-3, 1.0, 60.0, 1e7]),
)
_ARRIVALS = st.builds(Arrivals, st.sampled_from([0.0, 1.0, 100.0, 1e6]), st.one_of(st.none(), _BURSTS))
_LOADS = st.sampled_from([1e-3, 0.5, 1 - 1e-6, 1 - 1e-9, 1 - 1e-13, 1.0, 1.0 + 1e-12, 1.5, 1e9])
"""Of what saturates the plan."""


@settings(max_examples=40)
@given(cases(), _ARRIVALS, _LOADS, st.data())
def test_estimates__near_saturation_warn_of_nothing(
    case: Case, arrivals: Arrivals, share: float, data: st.DataObject
) -> None:
    plan = data.draw(st.sampled_from(case.plans()))
    loads = {source: [rate] for source, rate in case.load_per_s.items()}
    full = float(evaluate_many(case.topology, case.profiles, [plan], loads, latency=False).headroom_factor[0, 0])
    load = {source: rate * full * share for source, rate in case.load_per_s.items()}
    if not all(rate < 1e12 for rate in load.values()):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = evaluate(case.topology, case.profiles, plan, load, arrival_cv2=arrivals, percentiles=True)
        many = evaluate_many(
            case.topology, case.profiles, [plan], {s: [rate] for s, rate in load.items()}, arrival_cv2=arrivals
        )
        assert one.latency is not None
        assert many.latency is not None
        of = one.latency
        times_s = [one.latency_s, of.mean_s, of.p50_s, of.p95_s, of.p99_s, float(many.latency.quantile_s(0.95)[0, 0])]
    times_s += [operator.wait_s for operator in one.operators.values()]
    assert all(time_s >= -1e-9 for time_s in times_s), times_s


@given(st.sampled_from([1e-9, 0.5, 0.97, 1 - 1e-7, 1 - 1e-12, 1.0]), st.sampled_from([1e-12, 1e-3, 1.0, 1e6]), _BURSTS)
def test_burst_waits__are_never_longer_than_a_queue_of_the_whole_bursts(rho: float, unit_s: float, of: Bursts) -> None:
    """A mean wait of 4e301 s was the reciprocal of a root that rounding had made 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        waits = burst_waits(rho, unit_s, of.levels)
        mean_s = (waits.weight * waits.moment(1)).sum()
    # M/M/1 at the largest utilisation waits 1e9 services, and bursts fill a queue that drains as slowly; twice that,
    # since level changes faster than 1e9 a service count as 1e9.
    burst_s = of.mean_s * of.factor
    assert mean_s >= 0
    assert mean_s <= 2e9 * (unit_s + burst_s * (of.variance + 1))
    assert np.isfinite(waits.moment(3)).all()
