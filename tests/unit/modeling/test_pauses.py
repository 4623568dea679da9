"""Recurring pauses lengthen latencies: against simulations of servers that stand still."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.pauses import Pauses
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from tests.unit.modeling.lindley import Floats, departures_s

SERVICE_S = 0.01
TUPLES = 400_000
ONE = Topology("one", (Operator("work"),), ())
PLAN = PhysicalPlan("one", {"work": 1})


def _profiles(**fields: object) -> Mapping[str, OperatorProfile]:
    return {"work": replace(OperatorProfile("work", SERVICE_S), **fields)}


def _told(profiles: Mapping[str, OperatorProfile], load_per_s: float) -> Estimate:
    return evaluate(ONE, profiles, PLAN, {"work": load_per_s}, percentiles=True)


def _simulated_s(load_per_s: float, pauses: Pauses, rng: np.random.Generator) -> Floats:
    """Sojourns at a server whose clock stands still in pauses; exponential gaps and services."""
    arrivals = np.cumsum(rng.exponential(1 / load_per_s, TUPLES))
    starts = np.arange(pauses.interval_s * rng.random(), 1.3 * arrivals[-1] + pauses.interval_s, pauses.interval_s)
    number = np.searchsorted(starts, arrivals, side="right") - 1
    inside = np.where(number >= 0, np.minimum(arrivals - starts[number], pauses.length_s), 0.0)
    worked = arrivals - np.maximum(number, 0) * pauses.length_s - inside
    done = departures_s(worked, rng.exponential(SERVICE_S * (1 - pauses.share), TUPLES))
    begin = starts - np.arange(starts.size) * pauses.length_s
    return np.asarray(done + np.searchsorted(begin, done) * pauses.length_s - arrivals)[TUPLES // 20 :]


@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("pauses", [Pauses(10, 0.5), Pauses(10, 0.1), Pauses(60, 1)], ids=str)
def test_latencies__contain_recurring_pauses(utilisation: float, pauses: Pauses) -> None:
    load_per_s = utilisation / SERVICE_S
    took_s = _simulated_s(load_per_s, pauses, np.random.default_rng(1))
    told = _told(_profiles(pauses=pauses), load_per_s)
    assert told.latency is not None
    assert told.latency_s == pytest.approx(took_s.mean(), rel=0.1)
    assert told.latency.mean_s == pytest.approx(took_s.mean(), rel=0.1)
    assert told.latency.p95_s == pytest.approx(np.quantile(took_s, 0.95), rel=0.15)
    many = evaluate_many(ONE, _profiles(pauses=pauses), [PLAN], {"work": load_per_s})
    assert many.latency.mean_s[0, 0] == pytest.approx(told.latency_s, rel=1e-9)
    # What the search compares: the few tuples that a pause holds up decide the p95.
    assert many.latency.p95_s[0, 0] == pytest.approx(np.quantile(took_s, 0.95), rel=0.15)


@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("pauses", [Pauses(30, 1.5), Pauses(20, 3)], ids=str)
def test_mean_latency__with_long_pauses_is_that_of_simulations(utilisation: float, pauses: Pauses) -> None:
    load_per_s = utilisation / SERVICE_S
    took_s = _simulated_s(load_per_s, pauses, np.random.default_rng(1))
    told = _told(_profiles(pauses=pauses), load_per_s)
    assert told.latency is not None
    assert told.latency.mean_s == pytest.approx(took_s.mean(), rel=0.05)
    assert told.latency.p95_s == pytest.approx(np.quantile(took_s, 0.95), rel=0.1)


def test_mean_latency__with_pauses_and_hardly_a_queue_is_that_of_a_fluid() -> None:
    # Services of 1 µs: at ρ = .8 · (1 - .1) = .72 a pause of 2 s holds up all that comes within 2 / (1 - .72) s, 1 s on
    # average, of every 20 s.
    short = {"work": OperatorProfile("work", 1e-6, pauses=Pauses(20, 2))}
    told = _told(short, 0.8e6)
    assert told.latency_s == pytest.approx(2 / 0.28 / 20 * 1.0, rel=1e-3)


@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.8])
def test_many_plans__wait_for_pauses_of_several_operators_as_one_plan_does(utilisation: float) -> None:
    arms = (Stream("in", "left"), Stream("in", "right"), Stream("left", "out"), Stream("right", "out"))
    diamond = Topology("diamond", tuple(map(Operator, ("in", "left", "right", "out"))), arms)
    pauses = {"in": None, "left": Pauses(10, 0.1), "right": None, "out": Pauses(30, 2)}
    profiles = {name: OperatorProfile(name, SERVICE_S, pauses=each) for name, each in pauses.items()}
    plans = [PhysicalPlan("diamond", {"in": 1, "left": 1, "right": 1, "out": count}) for count in (2, 3)]
    load_per_s = utilisation / SERVICE_S
    latency = evaluate_many(diamond, profiles, plans, {"in": load_per_s}).latency
    assert latency is not None
    for number, plan in enumerate(plans):
        alone = evaluate(diamond, profiles, plan, {"in": load_per_s}, percentiles=True).latency
        assert alone is not None
        assert latency.mean_s[number, 0] == pytest.approx(alone.mean_s, rel=0.03)
        assert latency.p95_s[number, 0] == pytest.approx(alone.p95_s, rel=0.12)
        assert latency.quantile_s(0.95, "out")[number, 0] == latency.p95_s[number, 0]


def test_plans_that_all_do_not_fit__have_no_latency_with_pauses_either() -> None:
    misfit = PhysicalPlan("one", {"work": 1, "other": 1})
    many = evaluate_many(ONE, _profiles(pauses=Pauses(10, 0.5)), [misfit], {"work": 1.0})
    assert many.latency is not None
    assert np.isnan(many.latency.p95_s[0, 0])


def test_latencies__contain_collections_whose_length_was_measured() -> None:
    # 5 % of the time in collections of .5 s is one of .5 s every 10 s.
    collected = _told(_profiles(gc_share=0.05, gc_pause_s=0.5), 60)
    assert collected.latency == _told(_profiles(pauses=Pauses(10, 0.5)), 60).latency
    assert not any("garbage" in note for note in collected.notes)
    assert any("garbage" in note for note in _told(_profiles(gc_share=0.05), 60).notes)


def test_pauses__of_several_operators_are_said_to_be_each_its_own() -> None:
    line = Topology("line", (Operator("first"), Operator("last")), (Stream("first", "last"),))
    plan = PhysicalPlan("line", {"first": 1, "last": 1})

    def notes(*pausing: str) -> tuple[str, ...]:
        profiles = {
            name: OperatorProfile(name, SERVICE_S, pauses=Pauses(10, 0.5) if name in pausing else None)
            for name in line.order
        }
        return evaluate(line, profiles, plan, {"first": 60}).notes

    assert not any("each on its own" in note for note in notes("first"))
    assert any(note.startswith("first, last are taken to pause each on its own") for note in notes("first", "last"))


@pytest.mark.parametrize(("interval_s", "length_s"), [(10, 0), (10, 10), (float("inf"), 1), (0, 0)])
def test_pauses__refuse_lengths_without_work_between(interval_s: float, length_s: float) -> None:
    with pytest.raises(ModelError, match="give a length above 0, and a longer interval"):
        Pauses(interval_s, length_s)
