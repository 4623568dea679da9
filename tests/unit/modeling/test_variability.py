"""How even arrivals are after each grouping: by hand, and against the simulation of what deals to whom."""

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.plan_rates import plan_flows
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.latency.distribution import stations
from modeling.queueing.batches import as_customers
from modeling.queueing.queues import klb_waits_s

KEYS = KeyHistogram({f"k{number}": 0.001 for number in range(1000)})


def case(
    parallelism: tuple[int, int, int],
    grouping: Grouping = Grouping.SHUFFLE,
    *,
    made: float = 1.0,
    service_s: float = 0.0,
) -> tuple[Topology, dict[str, OperatorProfile], PhysicalPlan]:
    """a → b → c, shuffled to b; b takes no time, so that it gives out what it is given, `made` tuples of each."""
    topology = Topology("abc", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c", grouping)))
    profiles = {
        "a": OperatorProfile("a", 0.0),
        "b": OperatorProfile("b", 0.0, {"b->c": made}),
        "c": OperatorProfile("c", service_s, keys=KEYS),
    }
    return topology, profiles, PhysicalPlan("abc", dict(zip("abc", parallelism, strict=True)))


def ca2_at_c(
    parallelism: tuple[int, int, int], busy: float, grouping: Grouping = Grouping.SHUFFLE, **of: float
) -> float:
    """Of the first instance of c, at about that utilisation."""
    topology, profiles, plan = case(parallelism, grouping, service_s=1.0, **of)
    load = {"a": busy * parallelism[2] / of.get("made", 1.0)}
    return float(stations(topology, plan_flows(topology, profiles, plan, load))["c"].ca2[0])


def test_one_that_deals_in_turn__gives_each_every_so_manieth() -> None:
    # every 4th of a Poisson stream: Erlang-4
    assert ca2_at_c((1, 1, 4), 0.5) == pytest.approx(1 / 4)


def test_several_that_are_routed_to_in_turn__give_together_what_they_were_given() -> None:
    # Each of 3 gets every third, Erlang-3; their outputs keep in step, and are together as Poisson as what came. Over
    # long spans, which near saturation count, the variation is that of the whole, 1, not the third of each.
    assert ca2_at_c((1, 3, 1), 0.999) == pytest.approx(1.0, abs=0.001)
    # each then deals by itself to 2: 1/2 over long spans
    assert ca2_at_c((1, 3, 2), 0.999) == pytest.approx(0.5, abs=0.001)
    # at ρ = ½ and cs² 1 three streams: 1/(1 + 2·½·(½/4 + ½·½)) = 8/11 of ½, the rest near Poisson
    assert ca2_at_c((1, 3, 2), 0.5) == pytest.approx(8 / 11 * 0.5 + 3 / 11)


def test_batches__stay_batches_wherever_they_come_together() -> None:
    # 3 of each, all to one instance: 3 over long spans and short ones
    assert ca2_at_c((1, 2, 1), 0.5, made=3.0) == pytest.approx(3.0)
    # routed in turn to 6, no batch comes to one of them: 3/6 over long spans, near Poisson over short ones, which at
    # ρ = ½ and two senders weigh 1/(1 + ½·(½/4 + ½·½)) = 16/19 and 3/19
    assert ca2_at_c((1, 2, 6), 0.5, made=3.0) == pytest.approx(16 / 19 * 0.5 + 3 / 19)
    # by keys: of 2 instances each keeps half of a batch at random, ½·3 + ½
    assert ca2_at_c((1, 2, 2), 0.5, Grouping.FIELDS, made=3.0) == pytest.approx(2.0, rel=0.02)


def test_forward__goes_on_as_it_came() -> None:
    # one to one: Erlang-4 stays
    assert ca2_at_c((1, 4, 4), 0.5, Grouping.FORWARD) == pytest.approx(1 / 4)
    # one of 2 deals to its own 3 of 6: Erlang-2 and every third of it
    assert ca2_at_c((1, 2, 6), 0.5, Grouping.RESCALE) == pytest.approx(1 / 2 / 3)
    # all of 3 to one is a shuffle to one; 2 of 4 lie between the quarter of one and the whole of all: ¼ + ⅓·¾
    assert ca2_at_c((1, 3, 1), 0.999, Grouping.RESCALE) == pytest.approx(1.0, abs=0.001)
    assert ca2_at_c((1, 4, 2), 0.999, Grouping.RESCALE) == pytest.approx(0.5, abs=0.001)


def test_sources__share_arrivals_at_random() -> None:
    topology, profiles, plan = case((4, 1, 1))
    flows = plan_flows(topology, profiles, plan, {"a": 8.0})
    assert stations(topology, flows)["a"].ca2.tolist() == [1.0]
    # of cv² 3 a quarter is kept: ¼·3 + ¾
    assert stations(topology, flows, 3.0)["a"].ca2.tolist() == [1.5]


@pytest.mark.parametrize(("senders", "receivers"), [(2, 1), (3, 2), (4, 6)])
@pytest.mark.parametrize("busy", [0.5, 0.75])
def test_wait_behind_several_senders__is_the_simulated_one(senders: int, receivers: int, busy: float) -> None:
    """Poisson arrivals routed in turn to the senders, and by each of these in turn to the receivers; 400,000 tuples,
    exponential services. Within a quarter: even streams together are told a little too bursty at low load.
    """
    rng = np.random.default_rng(3)
    count = 400_000
    at_s = np.cumsum(rng.exponential(1 / (busy * receivers), count))
    sender = np.arange(count) % senders
    receiver = (np.arange(count) // senders + rng.integers(receivers, size=senders)[sender]) % receivers
    # As they leave the senders: each takes about as long as the others, which mixes the order of what they give out.
    at_s = at_s + rng.gamma(2.0, 1.0, count)
    order = np.argsort(at_s)
    at_s, receiver = at_s[order], receiver[order]
    waits = []
    for own in (at_s[receiver == each] for each in range(receivers)):
        service_s = rng.exponential(1.0, own.size)
        worked = np.cumsum(service_s)
        waits.append(worked + np.maximum.accumulate(own - worked + service_s) - own - service_s)
    told = float(klb_waits_s(busy, 1.0, ca2_at_c((1, senders, receivers), busy), 1.0))
    assert told == pytest.approx(float(np.concatenate(waits).mean()), rel=0.25)


@pytest.mark.parametrize(
    ("workers", "spouts", "bolts", "ca2"),
    [
        # One spout deals to the bolts of its worker alone: each of n gets every n-th of a Poisson stream, Erlang-n.
        (8, 1, 1, 1.0),
        (4, 1, 4, 1 / 4),
        # Two spouts of a worker, each Erlang-2 to two bolts: at ρ = ½ and cs² 1 of two streams
        # 1/(1 + 1·½·(½/4 + ½·½)) = 16/19 of -½ are left.
        (8, 2, 2, 1 - 16 / 19 / 2),
    ],
)
def test_tuples_that_stay_in_their_worker__come_from_its_instances_alone(
    workers: int, spouts: int, bolts: int, ca2: float
) -> None:
    stream = Stream("spout", "bolt", Grouping.LOCAL_OR_SHUFFLE)
    topology = Topology("local", (Operator("spout"), Operator("bolt")), (stream,), Engine.STORM)
    profiles = {"spout": OperatorProfile("spout", 0.0), "bolt": OperatorProfile("bolt", 1.0)}
    counts = {"spout": workers * spouts, "bolt": workers * bolts}
    packing = tuple(
        Container(at, tuple(Instance(n, k) for n, count in counts.items() for k in range(at, count, workers)))
        for at in range(workers)
    )
    flows = plan_flows(topology, profiles, PhysicalPlan("local", counts, packing), {"spout": counts["bolt"] / 2})
    assert float(stations(topology, flows)["bolt"].ca2[0]) == pytest.approx(ca2)


def test_plans__are_each_told_as_alone_where_tuples_stay_in_their_worker() -> None:
    # Two packings, one of them twice, on cores that instances share, and none; senders are unlike.
    streams = (
        Stream("in", "spout", Grouping.CUSTOM, shares=(0.7, 0.3)),
        Stream("spout", "bolt", Grouping.LOCAL_OR_SHUFFLE),
    )
    topology = Topology("local", tuple(map(Operator, ("in", "spout", "bolt"))), streams, Engine.STORM)
    service_s = {"in": 0.0, "spout": 0.001, "bolt": 0.002}
    profiles = {name: OperatorProfile(name, each) for name, each in service_s.items()}
    first, second = Instance("bolt", 0), Instance("bolt", 1)
    counts = {"in": 1, "spout": 2, "bolt": 2}
    others = (Instance("in", 0), Instance("spout", 0), Instance("spout", 1))
    together = PhysicalPlan("local", counts, (Container(0, (*others, first, second)),))
    apart = PhysicalPlan("local", counts, (Container(0, (*others, first)), Container(1, (second,))))
    plans, site = [together, apart, together, PhysicalPlan("local", counts)], Site(ContainerSize(cores=1.0))
    many = evaluate_many(topology, profiles, plans, {"in": [200.0]}, site=site)
    assert many.latency is not None
    alone = [evaluate(topology, profiles, plan, {"in": 200.0}, site=site).latency_s for plan in plans]
    assert many.latency.mean_s[:, 0].tolist() == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("made", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("grouping", [g for g in Grouping if g is not Grouping.CUSTOM])
@pytest.mark.slow
def test_many_plans__take_the_same_variability(grouping: Grouping, made: float) -> None:
    """The mean latency of evaluate_many is that of the closed form at every instance, weighed by what it is given."""
    plans = [(1, 2, 3), (2, 4, 4), (3, 2, 6), (2, 6, 2), (1, 1, 1)]
    topology, profiles, _ = case(plans[0], grouping, made=made, service_s=0.01)
    profiles["b"] = OperatorProfile("b", 0.004, {"b->c": made}, service_cv2=2.0)
    load = {"a": 15.0}
    of_all = [PhysicalPlan("abc", dict(zip("abc", counts, strict=True))) for counts in plans]
    quick = evaluate_many(topology, profiles, of_all, load).latency
    assert quick is not None
    alone = [evaluate_many(topology, profiles, [plan], load).latency for plan in of_all]
    for number, plan in enumerate(of_all):
        expected_s = 0.0
        for each in stations(topology, plan_flows(topology, profiles, plan, load)).values():
            size = np.ones(1) if each.batch is None else each.batch
            customers = as_customers(size, each.service_s, each.ca2, each.service_cv2)
            # a batch waits, then a tuple for half of the others in it
            sojourn_s = klb_waits_s(each.utilisation, *customers) + (size - 1) / 2 * each.service_s + each.service_s
            expected_s += float(each.weights @ sojourn_s)
        assert quick.mean_s[number, 0] == pytest.approx(expected_s, rel=1e-6)
        of_one = alone[number]
        assert of_one is not None
        assert of_one.mean_s[0, 0] == pytest.approx(expected_s, rel=1e-6)
