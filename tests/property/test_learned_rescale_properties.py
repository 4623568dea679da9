"""What holds of whatever past deployments teach."""

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.learned_rescale import MIN_DEPLOYMENTS, MeasuredDeployment, learned_rescale, steadied_median

SECONDS = st.floats(0.1, 3600)
MIB = st.integers(0, 500_000)
MEASURED = st.lists(SECONDS, min_size=MIN_DEPLOYMENTS, max_size=20)


def _learned(downtimes_s: list[float], declared_s: float) -> float:
    return learned_rescale([MeasuredDeployment(each) for each in downtimes_s], declared_s, 0.0).downtime.seconds


@given(MEASURED, SECONDS)
def test_learned_downtime__lies_between_what_was_measured_and_declared_in_whatever_order(
    downtimes_s: list[float], declared_s: float
) -> None:
    learned = _learned(downtimes_s, declared_s)
    assert min(*downtimes_s, declared_s) <= learned <= max(*downtimes_s, declared_s)
    assert _learned(downtimes_s[::-1], declared_s) == learned


@given(MEASURED, SECONDS, st.floats(0, 1e6))
def test_learned_downtime__is_not_ruled_by_one_deployment(
    downtimes_s: list[float], declared_s: float, wrong_s: float
) -> None:
    # However wrong the first is, what is learnt stays among the others and the declared one.
    learned = steadied_median([wrong_s, *downtimes_s[1:]], declared_s)
    assert min(*downtimes_s[1:], declared_s) <= learned <= max(*downtimes_s[1:], declared_s)


@given(MEASURED, SECONDS, st.floats(0, 600))
def test_learned_downtime__grows_with_what_was_measured(
    downtimes_s: list[float], declared_s: float, more: float
) -> None:
    assert _learned([each + more for each in downtimes_s], declared_s) >= _learned(downtimes_s, declared_s)


@given(SECONDS, SECONDS, st.integers(3, 20))
def test_learned_downtime__is_what_three_deployments_agree_on(took_s: float, declared_s: float, count: int) -> None:
    assert _learned([took_s] * count, declared_s) == took_s


@settings(max_examples=30)
@given(st.lists(st.tuples(SECONDS, MIB), min_size=5, max_size=20), SECONDS)
def test_learned_downtime__is_a_number_whatever_the_state(pairs: list[tuple[float, int]], declared_s: float) -> None:
    known = [MeasuredDeployment(took_s, state_gib=mib / 1024) for took_s, mib in pairs]
    learned = learned_rescale(known, declared_s, 0.0)
    assert learned.downtime.seconds >= 0
    assert learned.downtime.deployments <= learned.downtime.known == len(pairs)
