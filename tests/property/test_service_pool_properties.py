"""What holds of every chain of services."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.services.pools import CallRouting, ServicePool, service_saturation

NAMES = ("gate", "orders", "stock")
CHAIN = Topology("shop", tuple(map(Operator, NAMES)), (Stream("gate", "orders"), Stream("orders", "stock")))
PROFILES = {name: OperatorProfile(name, 0.0) for name in NAMES}
Threes = tuple[int, int, int]
counts = st.tuples(*[st.integers(1, 12)] * 3)
own_times_s = st.tuples(*[st.floats(0.001, 1.0)] * 3)


def _carried_per_s(
    own_s: tuple[float, float, float], threads: Threes, replicas: Threes, routing: CallRouting = CallRouting.SHARED
) -> float:
    held_s = (sum(own_s), own_s[1] + own_s[2], own_s[2])
    pools = {name: ServicePool(count, held) for name, count, held in zip(NAMES, threads, held_s, strict=True)}
    by_name = dict(zip(NAMES, replicas, strict=True))
    return service_saturation(CHAIN, PROFILES, pools, by_name, {"gate": 1.0}, routing).mst_per_s["gate"]


@given(own_times_s, counts, counts, st.integers(0, 2))
def test_more_replicas__never_carry_less(
    own_s: tuple[float, float, float], threads: Threes, replicas: Threes, grown: int
) -> None:
    more = tuple(count + (at == grown) for at, count in enumerate(replicas))
    assert _carried_per_s(own_s, threads, more) >= _carried_per_s(own_s, threads, replicas) * (1 - 1e-9)  # type: ignore[arg-type]


@given(own_times_s, counts, counts)
def test_saturation__is_above_no_pool_s_own_limit(
    own_s: tuple[float, float, float], threads: Threes, replicas: Threes
) -> None:
    held_s = (sum(own_s), own_s[1] + own_s[2], own_s[2])
    limits = [count * of / held for count, of, held in zip(threads, replicas, held_s, strict=True)]
    assert _carried_per_s(own_s, threads, replicas) <= min(limits) * (1 + 1e-9)


@given(own_times_s, counts, st.integers(1, 4))
def test_random_routing__carries_no_more_than_a_shared_queue(
    own_s: tuple[float, float, float], threads: Threes, stocks: int
) -> None:
    # One replica of each caller: they see the same threads of the stock, routed out to queues or not.
    replicas = (1, 1, stocks)
    random = _carried_per_s(own_s, threads, replicas, CallRouting.RANDOM)
    assert random <= _carried_per_s(own_s, threads, replicas) * (1 + 1e-9)


@given(own_times_s, counts)
def test_routing__is_all_the_same_where_there_is_one_replica(
    own_s: tuple[float, float, float], threads: Threes
) -> None:
    random = _carried_per_s(own_s, threads, (1, 1, 1), CallRouting.RANDOM)
    assert random == pytest.approx(_carried_per_s(own_s, threads, (1, 1, 1)))
