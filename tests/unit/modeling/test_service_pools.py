"""Services that hold a thread while another answers: by hand, and against a simulation."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.queueing.closed_network import closed_throughput_per_s
from modeling.services.pools import CallRouting, ServicePool, pool_of, service_saturation

CHAIN = Topology(
    "shop",
    (Operator("gate"), Operator("orders"), Operator("stock")),
    (Stream("gate", "orders"), Stream("orders", "stock")),
)
PROFILES = {name: OperatorProfile(name, 0.0) for name in CHAIN.order}
LOAD = {"gate": 1.0}


def _chain(gate: int, orders: int, stock: int) -> dict[str, ServicePool]:
    """Own times 10, 20 and 30 ms: held for 60, 50 and 30 ms while nobody waits."""
    return {
        "gate": ServicePool(gate, 0.06),
        "orders": ServicePool(orders, 0.05),
        "stock": ServicePool(stock, 0.03),
    }


ONE_EACH = dict.fromkeys(CHAIN.order, 1)


def test_closed_network__of_one_station_without_delay_works_at_its_speed() -> None:
    assert closed_throughput_per_s(3, 0.0, [np.array([2.0, 4.0, 4.0])]).tolist() == pytest.approx([2, 4, 4])


def test_closed_network__of_two_equal_single_servers() -> None:
    # n customers over two equal stations of 1/s: n + 1 states alike, all but one keep a given station busy: n/(n + 1).
    ones = np.ones(4)
    assert closed_throughput_per_s(4, 0.0, [ones, ones]).tolist() == pytest.approx([1 / 2, 2 / 3, 3 / 4, 4 / 5])


def test_closed_network__of_many_customers_keeps_within_floats() -> None:
    found = closed_throughput_per_s(2000, 1.0, [np.full(2000, 100.0)])
    assert found[0] == pytest.approx(1 / 1.01)
    assert found[-1] == pytest.approx(100.0)


def test_saturation__where_no_call_waits_is_threads_by_holding_time() -> None:
    # 4 threads of the gate can never be more than the 8 of each service behind: 4 / 60 ms
    found = service_saturation(CHAIN, PROFILES, _chain(4, 8, 8), ONE_EACH, LOAD)
    assert found.mst_per_s == {"gate": pytest.approx(4 / 0.06)}
    assert found.bottleneck == "gate"


def test_saturation__by_a_service_behind_holds_all_threads_before() -> None:
    # 2 threads of 30 ms: 66.7/s, though the gate alone would carry 1000/s.
    found = service_saturation(CHAIN, PROFILES, _chain(60, 60, 2), ONE_EACH, LOAD)
    assert found.mst_per_s["gate"] == pytest.approx(2 / 0.03, rel=1e-6)
    assert found.bottleneck == "stock"
    assert found.own_limit_per_s == {"gate": 1000, "orders": 1200, "stock": pytest.approx(66.67, abs=0.01)}


def test_saturation__of_equal_pools_loses_to_waits() -> None:
    # Gate: 2 threads, 1 s own; back: 1 thread, 1 s. Weights of 0, 1, 2 requests at the back: 1/2, 1, 1; the back is
    # busy for 4/5 of the time: 0.8/s, where the pools alone would carry 1/s each.
    pair = Topology("pair", (Operator("gate"), Operator("back")), (Stream("gate", "back"),))
    profiles = {name: OperatorProfile(name, 0.0) for name in pair.order}
    pools = {"gate": ServicePool(2, 2.0), "back": ServicePool(1, 1.0)}
    assert service_saturation(pair, profiles, pools, {"gate": 1, "back": 1}, LOAD).mst_per_s["gate"] == pytest.approx(
        0.8
    )


def test_saturation__by_cpu_is_cores_by_cpu_time() -> None:
    # 2 replicas of 1.5 cores, 10 ms of CPU: 300/s, far below 2 · 100 threads of 20 ms
    lone = Topology("lone", (Operator("gate"),), ())
    pools = {"gate": ServicePool(100, 0.02, cpu_s=0.01, cores=1.5)}
    found = service_saturation(lone, {"gate": OperatorProfile("gate", 0.0)}, pools, {"gate": 2}, LOAD)
    assert found.mst_per_s["gate"] == pytest.approx(300, rel=1e-6)


def test_saturation__with_two_calls_per_request_halves_what_the_callee_carries() -> None:
    profiles = PROFILES | {"orders": OperatorProfile("orders", 0.0, {"orders->stock": 2.0})}
    pools = _chain(200, 200, 2) | {"gate": ServicePool(200, 0.09), "orders": ServicePool(200, 0.08)}
    found = service_saturation(CHAIN, profiles, pools, ONE_EACH, LOAD)
    assert found.mst_per_s["gate"] == pytest.approx(2 / 0.03 / 2, rel=1e-6)


def test_saturation__of_a_shared_service_is_divided_by_calls() -> None:
    # Both fronts call the back, 3 : 1; its 4 threads of 10 ms carry 400/s, so 300 and 100.
    names = ("web", "app", "back")
    shared = Topology("shared", tuple(map(Operator, names)), (Stream("web", "back"), Stream("app", "back")))
    pools = {"web": ServicePool(100, 0.02), "app": ServicePool(100, 0.02), "back": ServicePool(4, 0.01)}
    profiles = {name: OperatorProfile(name, 0.0) for name in names}
    found = service_saturation(shared, profiles, pools, dict.fromkeys(names, 1), {"web": 3.0, "app": 1.0})
    assert found.mst_per_s == {"web": pytest.approx(300, rel=1e-4), "app": pytest.approx(100, rel=1e-4)}


def test_saturation__of_thousands_of_threads_is_that_of_their_closed_network() -> None:
    # Twenty replicas of 200 threads, of whose .06 s half is a call to 2000 threads: where both are equally short, the
    # loss to waits is largest.
    pools = {"gate": ServicePool(200, 0.06), "stock": ServicePool(100, 0.03)}
    pair = Topology("pair", (Operator("gate"), Operator("stock")), (Stream("gate", "stock"),))
    found = service_saturation(pair, PROFILES, pools, {"gate": 20, "stock": 20}, LOAD)
    one_by_one = closed_throughput_per_s(4000, 0.03, [np.minimum(np.arange(1.0, 4001.0), 2000.0) / 0.03])[-1]
    assert one_by_one < 0.996 * 4000 / 0.06
    assert found.mst_per_s["gate"] == pytest.approx(one_by_one, rel=0.006)


def test_pool_of__a_profile_holds_a_thread_for_the_replica_s_time_times_its_threads() -> None:
    assert pool_of(OperatorProfile("gate", 0.0075), 8) == ServicePool(8, 0.06)


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ({"gate": ServicePool(1, 0.06)}, "'orders' has no pool"),
        (_chain(1, 1, 1) | {"gate": ServicePool(1, 0.02)}, "'gate' holds a thread for 0.02 s, but its calls take 0.05"),
        (_chain(2_000_000, 1, 1), "2000000 threads in all; give 1 to 1000000"),
    ],
)
def test_saturation__of_what_cannot_be_says_so(pools: dict[str, ServicePool], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        service_saturation(CHAIN, PROFILES, pools, ONE_EACH, LOAD)


def _simulated_per_s(threads: tuple[int, int, int], own_s: tuple[float, float, float], seconds: float) -> float:
    """Requests a second of three tiers whose gate always has another request waiting; exponential own times.

    A Markov chain by its jumps: own work of each tier comes before its call. Of those at work in a tier, one is done
    next in proportion to their number.
    """
    rng = np.random.default_rng(5)
    # at[i]: threads of tier i at work by themselves; queue[i]: calls that wait for a thread of tier i
    at, queue, now_s, done = [threads[0], 0, 0], [0, 0, 0], 0.0, 0
    held = [threads[0], 0, 0]
    while now_s < seconds:
        speeds = np.array([at[tier] / own_s[tier] for tier in range(3)])
        now_s += rng.exponential(1 / speeds.sum())
        tier = int(rng.choice(3, p=speeds / speeds.sum()))
        at[tier] -= 1
        if tier < 2:
            queue[tier + 1] += 1
        else:
            # The answer goes back through all tiers and frees a thread of each; the gate takes its next request.
            done += 1
            held[1], held[2], at[0] = held[1] - 1, held[2] - 1, at[0] + 1
        for behind in (1, 2):
            while queue[behind] and held[behind] < threads[behind]:
                queue[behind], held[behind], at[behind] = queue[behind] - 1, held[behind] + 1, at[behind] + 1
    return done / seconds


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(4, 8, 8), (8, 6, 4), (12, 6, 3), (6, 6, 6), (20, 5, 5)])
def test_saturation__agrees_with_a_simulation_of_threads(threads: tuple[int, int, int]) -> None:
    told = service_saturation(CHAIN, PROFILES, _chain(*threads), ONE_EACH, LOAD).mst_per_s["gate"]
    # Some 10,000 requests: their count varies by 1 % and less.
    assert _simulated_per_s(threads, (0.01, 0.02, 0.03), 150.0) == pytest.approx(told, rel=0.03)


def test_saturation__of_calls_to_random_replicas_is_that_of_one_queue_each() -> None:
    # 4 threads that do nothing but call two replicas of one thread, 1 s each: a closed network of two equal stations,
    # each busy for 4/5 of the time (n/(n + 1)): 1.6/s instead of 2/s.
    pair = Topology("pair", (Operator("gate"), Operator("back")), (Stream("gate", "back"),))
    profiles = {name: OperatorProfile(name, 0.0) for name in pair.order}
    pools, replicas = {"gate": ServicePool(4, 1.0), "back": ServicePool(1, 1.0)}, {"gate": 1, "back": 2}
    told = {
        routing: service_saturation(pair, profiles, pools, replicas, LOAD, routing).mst_per_s["gate"]
        for routing in CallRouting
    }
    assert told == {CallRouting.SHARED: pytest.approx(2.0), CallRouting.RANDOM: pytest.approx(1.6)}


def test_saturation__of_two_callers_that_meet_at_a_service_is_that_of_one_station_visited_twice() -> None:
    # 4 threads of the gate: .1 s by themselves, then by way of `web` and of `app`, which only pass on, two visits of
    # .05 s to one thread of the back: exactly one station of .1 s. By mean value analysis with n = 1, 2, 3, 4: waits
    # .1, .15, .22, .30625 s, throughput 5, 8, 9.375, 9.846/s. The bound that a part of the thread gives each is 7.5.
    names = ("gate", "web", "app", "back")
    calls = (Stream("gate", "web"), Stream("gate", "app"), Stream("web", "back"), Stream("app", "back"))
    twice = Topology("twice", tuple(map(Operator, names)), calls)
    pools = dict.fromkeys(("web", "app"), ServicePool(4, 0.05)) | {
        "gate": ServicePool(4, 0.2),
        "back": ServicePool(1, 0.05),
    }
    profiles = {name: OperatorProfile(name, 0.0) for name in names}
    found = service_saturation(twice, profiles, pools, dict.fromkeys(names, 1), LOAD)
    assert found.mst_per_s["gate"] == pytest.approx(9.846, rel=0.03)


def test_saturation__of_replicas_whose_calls_meet_at_random_is_that_of_one_queue_each() -> None:
    # 8 threads of the gate, 1 s by themselves and 1 s at one of 5 replicas of the stock, by way of orders that only
    # pass on: five stations visited 1/5 of the time. Mean value analysis, n = 1 to 8: 1 + queue of one before, so
    # waits 1, 1.1, 1.210, 1.328, 1.456, 1.593, 1.737, 1.888 s and at last 8 / 2.888 s.
    pools = {"gate": ServicePool(8, 2.0), "orders": ServicePool(8, 1.0), "stock": ServicePool(1, 1.0)}
    replicas = {"gate": 1, "orders": 5, "stock": 5}
    found = service_saturation(CHAIN, PROFILES, pools, replicas, LOAD, CallRouting.RANDOM)
    assert found.mst_per_s["gate"] == pytest.approx(8 / 2.8885, rel=0.05)
