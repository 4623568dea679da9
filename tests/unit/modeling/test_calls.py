"""Calls to another system, of which an instance makes several at once."""

import heapq
from dataclasses import replace

import numpy as np
import pytest

from modeling.calibration.calibrated import calibrated
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.limits import OperatorLimit
from modeling.inputs.calls import Calls
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology

NAMES = ("read", "enrich", "write")
CHAIN = Topology("chain", tuple(map(Operator, NAMES)), (Stream("read", "enrich"), Stream("enrich", "write")))
CALLS = Calls(concurrency=10, call_s=0.1)
PROFILES = {
    "read": OperatorProfile("read", 0.001),
    "enrich": OperatorProfile("enrich", 0.0002, calls=CALLS),
    "write": OperatorProfile("write", 0.001),
}


def plan(enrich: int = 1) -> PhysicalPlan:
    return PhysicalPlan("chain", {"read": 1, "enrich": enrich, "write": 1})


@pytest.mark.parametrize("instances", [1, 2])
def test_ten_calls_of_100_ms_at_once__let_100_a_second_through(instances: int) -> None:
    estimate = evaluate(CHAIN, PROFILES, plan(instances), {"read": 50.0})
    assert estimate.mst_per_s["read"] == pytest.approx(100.0 * instances)
    assert estimate.bottleneck == OperatorLimit("enrich")


def test_latency__includes_the_call() -> None:
    # Ten servers of 100 ms at 50/s hardly wait: 100 ms, and 1 + .2 + 1 ms of service, a little more for waits.
    estimate = evaluate(CHAIN, PROFILES, plan(), {"read": 50.0}, percentiles=True)
    assert 0.1022 < estimate.latency_s < 0.115
    assert estimate.latency is not None
    # An exponential call: p95 = 3 · 100 ms.
    assert estimate.latency.p95_s == pytest.approx(0.3, rel=0.1)
    many = evaluate_many(CHAIN, PROFILES, [plan()], {"read": [50.0]})
    assert many.latency is not None
    assert many.latency.mean_s[0, 0] == pytest.approx(estimate.latency_s)


def simulated_s(calls: Calls, service_s: float, load_per_s: float, rng: np.random.Generator) -> list[float]:
    """Sojourns of tuples that one thread works on before each waits for one of so many calls; all exponential."""
    free, began, took = [0.0] * calls.concurrency, 0.0, []
    gaps, own = rng.exponential(1 / load_per_s, 200_000), rng.exponential(service_s, 200_000)
    for at, work_s, call_s in zip(np.cumsum(gaps), own, rng.exponential(calls.call_s, 200_000), strict=True):
        began = max(max(began, at) + work_s, free[0])
        heapq.heapreplace(free, began + call_s)
        took.append(began + call_s - at)
    return took[10_000:]


@pytest.mark.parametrize("utilisation", [0.5, 0.8])
@pytest.mark.parametrize("concurrency", [2, 10, 100])
def test_latency__is_that_of_several_calls_at_once(concurrency: int, utilisation: float) -> None:
    calls = Calls(concurrency, 0.1)
    one, alone = Topology("one", (Operator("enrich"),), ()), PhysicalPlan("one", {"enrich": 1})
    profiles = {"enrich": OperatorProfile("enrich", calls.least_s / 50, calls=calls)}
    load_per_s = utilisation / calls.least_s
    took_s = simulated_s(calls, calls.least_s / 50, load_per_s, np.random.default_rng(1))
    told = evaluate(one, profiles, alone, {"enrich": load_per_s}, percentiles=True)
    assert told.latency is not None
    assert told.latency.mean_s == pytest.approx(np.mean(took_s), rel=0.05)
    assert told.latency_s == pytest.approx(np.mean(took_s), rel=0.05)
    assert told.latency.p95_s == pytest.approx(np.quantile(took_s, 0.95), rel=0.08)
    many = evaluate_many(one, profiles, [alone], {"enrich": [load_per_s]})
    assert many.latency is not None
    assert many.latency.p95_s[0, 0] == pytest.approx(np.quantile(took_s, 0.95), rel=0.08)
    # What waits there is no service: 100 ms and a fiftieth of a server's time.
    assert told.operators["enrich"].wait_s == pytest.approx(np.mean(took_s) - 0.1 - calls.least_s / 50, abs=0.005)


def _wait_of_batches_s(size: int, calls: Calls, utilisation: float) -> float:
    """Mean wait of a tuple for one of its calls: M^X/M/c. As many batches take the number of calls from n or less to
    more than n as calls end at n + 1.
    """
    per_s = utilisation / calls.least_s / size
    chance = np.zeros(calls.concurrency + 400 * size)
    chance[0] = 1.0
    for number in range(chance.size - 1):
        risen_per_s = per_s * chance[max(0, number - size + 1) : number + 1].sum()
        chance[number + 1] = risen_per_s * calls.call_s / min(number + 1, calls.concurrency)
    chance /= chance.sum()
    there, before = np.arange(chance.size)[:, None], np.arange(size)
    behind = np.maximum(there + before - calls.concurrency + 1, 0)
    return float((chance[:, None] * behind).sum() / size * calls.least_s)


@pytest.mark.parametrize("utilisation", [0.3, 0.7])
@pytest.mark.parametrize(("size", "concurrency"), [(5, 10), (20, 10), (50, 30), (20, 2)])
def test_latency__of_tuples_made_of_one_that_call_together_is_that_of_batches(
    size: int, concurrency: int, utilisation: float
) -> None:
    calls = Calls(concurrency, 0.1)
    topology = Topology("two", (Operator("split"), Operator("enrich")), (Stream("split", "enrich"),))
    profiles = {
        "split": OperatorProfile("split", 1e-6, selectivity={"split->enrich": float(size)}),
        "enrich": OperatorProfile("enrich", 0.0, calls=calls),
    }
    plan = PhysicalPlan("two", {"split": 1, "enrich": 1})
    load = {"split": utilisation / calls.least_s / size}
    told = evaluate(topology, profiles, plan, load, percentiles=True)
    took_s = 0.1 + _wait_of_batches_s(size, calls, utilisation)
    assert told.latency is not None
    assert told.latency.mean_s == pytest.approx(took_s, rel=0.1)
    assert told.latency_s == pytest.approx(took_s, rel=0.1)


def test_work_about_as_long_as_a_call__is_said_to_get_less_through() -> None:
    # 50 ms of work and one call of 100 ms at once: a tuple each max(work, call), 1 / .1167 s
    calls, rng = Calls(1, 0.1), np.random.default_rng(1)
    took_s = simulated_s(calls, 0.05, 1e3, rng)
    assert 1e3 / (1 + np.diff(took_s).mean() * 1e3) == pytest.approx(10 * (1 - calls.lost_share(0.05)), rel=0.01)
    enrich = OperatorProfile("enrich", 0.05, calls=calls)

    def noted(enrich: OperatorProfile) -> list[str]:
        notes = evaluate(CHAIN, {**PROFILES, "enrich": enrich}, plan(), {"read": 1.0}).notes
        return [note for note in notes if "each waits for the other" in note]

    (note,) = noted(enrich)
    assert "up to 14% less" in note
    assert not noted(PROFILES["enrich"])
    assert not noted(replace(enrich, calls=Calls(10, 0.1)))


def test_calls_of_constant_time__hardly_vary() -> None:
    constant = {**PROFILES, "enrich": OperatorProfile("enrich", 0.0002, calls=Calls(10, 0.1, 0.0))}
    estimate = evaluate(CHAIN, constant, plan(), {"read": 20.0}, percentiles=True)
    assert estimate.latency is not None
    # Two of ten calls are in use, so none waits for one: 100 ms, and the p95 of two exponential services of 1 ms.
    assert estimate.latency.p95_s == pytest.approx(0.1 + 0.0047, abs=0.001)


def test_waiting_for_a_call__takes_no_core() -> None:
    # .2 ms of work at 50/s
    assert evaluate(CHAIN, PROFILES, plan(), {"read": 50.0}).resources.cores["enrich"] == pytest.approx(0.01)


def test_an_operator_whose_own_work_takes_longer__is_bounded_by_that() -> None:
    slow = {**PROFILES, "enrich": OperatorProfile("enrich", 0.025, calls=CALLS)}
    assert evaluate(CHAIN, slow, plan(), {"read": 10.0}).mst_per_s["read"] == pytest.approx(40.0)


def test_impossible_calls__are_refused() -> None:
    with pytest.raises(ModelError, match="concurrency of 0"):
        Calls(0, 0.1)
    with pytest.raises(ModelError, match="call_s"):
        Calls(1, -0.1)


def samples(*, waiting: float = 0.8, busy: float = 0.02, per_s: float = 100.0) -> list[OperatorSample]:
    """30 s: the source waits for room, the operator that calls is idle."""
    made = 30.0 * per_s
    each = {
        "read": (3.0, waiting * 30.0, {"read->enrich": made}),
        "enrich": (busy * 30.0, 0.0, {"enrich->write": made}),
        "write": (3.0, 0.0, {}),
    }
    return [
        OperatorSample(name, 0, 30.0, busy_s, waited_s, made, out, began_s=0.0, age_s=600.0, parallelism=1)
        for name, (busy_s, waited_s, out) in each.items()
    ]


def test_the_time_of_a_call__is_measured_while_its_senders_wait() -> None:
    # All ten calls are in use at 80/s: 125 ms each, not the 100 ms that were declared.
    found = calibrated(CHAIN, samples(per_s=80.0), PROFILES).operators["enrich"]
    assert found.profile.calls is not None
    assert found.profile.calls.concurrency == 10
    assert found.profile.calls.call_s == pytest.approx(0.125)
    low, high = found.profile.intervals["calls.call_s"]
    assert low < 0.125 < high
    estimate = evaluate(CHAIN, {**PROFILES, "enrich": found.profile}, plan(2), {"read": 1.0})
    assert estimate.mst_per_s["read"] == pytest.approx(160.0)


def test_an_idle_operator_that_its_senders_wait_for__is_named() -> None:
    undeclared = {**PROFILES, "enrich": OperatorProfile("enrich", 0.0002)}
    found = calibrated(CHAIN, samples(), undeclared).operators
    (note,) = [note for note in found["enrich"].notes if "calls.concurrency" in note]
    assert "80%" in note
    assert "100 tuples a second" in note
    assert not any("calls.concurrency" in note for name in ("read", "write") for note in found[name].notes)


@pytest.mark.parametrize("seen", [{"waiting": 0.05}, {"busy": 0.95}])
def test_an_operator_that_is_busy_or_that_nobody_waits_for__is_not_named(seen: dict[str, float]) -> None:
    undeclared = {**PROFILES, "enrich": OperatorProfile("enrich", 0.0002)}
    notes = calibrated(CHAIN, samples(**seen), undeclared).operators["enrich"].notes
    assert not any("calls.concurrency" in note for note in notes)


def test_calls_that_are_not_all_in_use__keep_the_declared_time() -> None:
    found = calibrated(CHAIN, samples(waiting=0.0, per_s=20.0), PROFILES).operators["enrich"]
    assert found.profile.calls == CALLS


def test_waiting_for_a_free_call__is_no_service_although_the_engine_counts_it_as_busy() -> None:
    # All ten calls in use, and waiting for a free one counts as busy: 30 s busy with 3000 tuples, 10 ms each; the
    # container used .3 CPU seconds.
    full = [replace(each, container="one", container_cpu_s=0.3, container_cores=2.0) for each in samples(busy=1.0)]
    found = calibrated(CHAIN, full, {**PROFILES, "enrich": OperatorProfile("enrich", 0.0002, calls=Calls(10, 3.0))})
    profile = found.operators["enrich"].profile
    assert profile.calls is not None
    assert profile.calls.call_s == pytest.approx(0.1)
    # At most all the CPU there was: .3 s over 3000 tuples.
    assert profile.service_s <= 0.0001 * 1.0001
    estimate = evaluate(CHAIN, {**PROFILES, "enrich": profile}, plan(2), {"read": 1.0})
    assert estimate.mst_per_s["read"] == pytest.approx(200.0)


@pytest.mark.parametrize("calls", [None, CALLS])
def test_an_operator_that_waits_for_a_core_of_a_full_container__is_neither_idle_nor_full_of_calls(
    calls: Calls | None,
) -> None:
    # A tenth of a core, all of it used: of 27 s busy the operator computed at most 3.
    full = [replace(each, container="one", container_cpu_s=3.0, container_cores=0.1) for each in samples(busy=0.9)]
    found = calibrated(CHAIN, full, {**PROFILES, "enrich": OperatorProfile("enrich", 0.0002, calls=calls)})
    assert found.operators["enrich"].profile.calls == calls
    assert not any("senders waited" in note for note in found.operators["enrich"].notes)
