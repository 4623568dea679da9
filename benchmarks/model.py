"""Speed of the performance model: many plans under many loads at once, draws of its parameters, large topologies.

    python benchmarks/model.py [--plans 1000] [--loads 100]

The topology has ten operators (a chain with a fork and a join, keyed and shuffled streams, a key histogram), a plan
about two hundred instances; loads go up to where nearly every plan is full. Packed plans are on unlike nodes, with
containers and links that fill up and network delays. `evaluate_many` is compared with `evaluate` for one plan and load
at a time, and with a discrete-event simulation of one plan and load with Ciw: until throughput and utilisation are
known to 5 %, and until the mean latency is. One process; ratios are of processor time. Growth is that of evaluate_many
with operators and plans. --accuracy compares its latency with that of whole distributions on random networks.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import inf

import ciw
import numpy as np

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.flow.plan_rates import arrival_rates, plan_flows
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.latency.distribution import latency_distribution, stations
from modeling.uncertainty.estimate_intervals import evaluate_draws
from modeling.uncertainty.parameter_draws import parameter_draws

SERVICE_S = 0.001
INSTANCES = 20
HIGHEST_PER_S = 5000
LOAD_PER_S = 2000
NODES = [f"n{number}" for number in range(6)]
CONTAINERS = 24


@dataclass(frozen=True)
class Timed:
    what: str
    operators: int
    plans: int
    loads: int
    cpu_s: float
    us_per_estimate: float


def topology_of(operators: int) -> Topology:
    """A chain with an extra stream past every third operator: forks and joins with unequal arms."""
    names = [f"o{number}" for number in range(operators)]
    chain = [
        Stream(a, b, Grouping.FIELDS if number % 2 else Grouping.SHUFFLE)
        for number, (a, b) in enumerate(pairwise(names))
    ]
    skips = [Stream(names[at], names[at + 2]) for at in range(0, operators - 2, 3)]
    return Topology("bench", tuple(Operator(name) for name in names), (*chain, *skips))


def profiles_of(topology: Topology) -> dict[str, OperatorProfile]:
    keys = KeyHistogram({f"key {number}": 0.5 / 2 ** (number + 1) for number in range(20)})
    return {
        name: OperatorProfile(
            name,
            SERVICE_S,
            {stream.name: 1 / len(topology.outputs(name)) for stream in topology.outputs(name)},
            keys=keys,
        )
        for name in topology.order
    }


def plans_of(topology: Topology, count: int, seed: int = 1) -> list[PhysicalPlan]:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(INSTANCES // 2, INSTANCES * 3 // 2 + 1, size=(count, len(topology.order)))
    return [PhysicalPlan("bench", dict(zip(topology.order, (int(n) for n in row), strict=True))) for row in drawn]


def site_of(topology: Topology) -> Site:
    """Containers of 8 cores on six unlike nodes; all links between them are measured."""
    rng = np.random.default_rng(1)
    links = [
        MeasuredLink(first, second, float(rng.uniform(0.2, 20)), 0.1, 1000.0)
        for number, first in enumerate(NODES)
        for second in NODES[:number]
    ]
    sizes = {stream.name: 500.0 for stream in topology.streams}
    return Site(ContainerSize(8.0), {"n1": 1.5, "n2": 2.0}, measured_network(links, rng), sizes, 0.1)


def packed(plans: Sequence[PhysicalPlan]) -> list[PhysicalPlan]:
    """Instances placed at random in 24 containers, which the nodes hold in turn."""
    rng, found = np.random.default_rng(2), []
    for plan in plans:
        held: list[list[Instance]] = [[] for _ in range(CONTAINERS)]
        for operator, count in plan.parallelism.items():
            for index, at in enumerate(rng.integers(CONTAINERS, size=count)):
                held[at].append(Instance(operator, index))
        packing = tuple(Container(at, tuple(some), NODES[at % len(NODES)]) for at, some in enumerate(held))
        found.append(replace(plan, packing=packing))
    return found


def cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def timed_many(operators: int, plans: int, loads: int, *, latency: bool = True, site: bool = False) -> Timed:
    topology = topology_of(operators)
    profiles, several = profiles_of(topology), plans_of(topology, plans)
    where = site_of(topology) if site else NOWHERE
    several = packed(several) if site else several
    rates = {source: np.linspace(1, HIGHEST_PER_S, loads) for source in topology.sources}

    def evaluated() -> None:
        told = evaluate_many(topology, profiles, several, rates, latency=latency, site=where).latency
        if told is not None:
            _ = told.mean_s, told.p50_s, told.p95_s, told.p99_s

    evaluated()
    spent = min(cpu_s(evaluated) for _ in range(3))
    what = "evaluate_many" + ("" if latency else " without latency") + (", packed on a site" if site else "")
    return Timed(what, operators, plans, loads, spent, spent / plans / loads * 1e6)


def timed_draws(operators: int, plans: int, loads: int, count: int) -> Timed:
    topology = topology_of(operators)
    several = plans_of(topology, plans)
    profiles = {
        name: replace(profile, service_s_error=SERVICE_S / 10, service_cv2_interval=(0.5, 2.0))
        for name, profile in profiles_of(topology).items()
    }
    rates = {source: np.linspace(1, HIGHEST_PER_S, loads) for source in topology.sources}
    draws = parameter_draws(profiles, np.random.default_rng(1), count)
    spent = cpu_s(lambda: evaluate_draws(topology, profiles, several, rates, draws))
    return Timed(f"evaluate_draws, {count} draws", operators, plans, loads, spent, spent / plans / loads / count * 1e6)


def timed_one_by_one(operators: int, plans: int) -> Timed:
    topology = topology_of(operators)
    profiles, several = profiles_of(topology), plans_of(topology, plans)
    load = dict.fromkeys(topology.sources, LOAD_PER_S)
    spent = cpu_s(lambda: [evaluate(topology, profiles, plan, load) for plan in several])
    return Timed("evaluate, one at a time (mean latency)", operators, plans, 1, spent, spent / plans * 1e6)


def timed_simulation(operators: int, *, of_latency: bool) -> Timed:
    """Simulate one plan and load with Ciw and exponential times, until the busy share of every operator, or the mean
    time from the source to the end, is known to 5 %.

    An operator is one node with a server per instance (a shared queue distributes better than a queue per instance, and
    is in Ciw's favour, because there are fewer nodes). Routes follow the selectivities. The simulated time is doubled
    until the spread of four seeds is below 5 % at every node.
    """
    topology = topology_of(operators)
    plan = plans_of(topology, 1)[0]
    names = list(topology.order)
    at = {name: number for number, name in enumerate(names)}
    routing = [[0.0] * len(names) for _ in names]
    for name in names:
        for stream in topology.outputs(name):
            routing[at[name]][at[stream.downstream]] += 1 / len(topology.outputs(name))
    network = ciw.create_network(
        arrival_distributions=[
            ciw.dists.Exponential(LOAD_PER_S) if name in topology.sources else None for name in names
        ],
        service_distributions=[ciw.dists.Exponential(1 / SERVICE_S)] * len(names),
        number_of_servers=[plan.parallelism[name] for name in names],
        routing=routing,
    )
    began = time.process_time()
    span_s, seed = 0.05, 0
    while True:
        told = []
        for _ in range(4):
            seed += 1
            ciw.seed(seed)
            simulation = ciw.Simulation(network)
            simulation.simulate_until_max_time(span_s)
            records = simulation.get_all_records()
            busy = np.zeros(len(names))
            begun: dict[int, float] = {}
            ended: dict[int, float] = {}
            for record in records:
                busy[record.node - 1] += record.service_time
                begun[record.id_number] = min(record.arrival_date, begun.get(record.id_number, inf))
                if record.node == len(names):
                    ended[record.id_number] = record.exit_date
            times = [end - begun[tuple_] for tuple_, end in ended.items()]
            told.append(np.array([np.mean(times) if times else 0.0]) if of_latency else busy / span_s)
        spread = np.std(told, axis=0, ddof=1) / np.maximum(np.mean(told, axis=0), 1e-9)
        if (spread <= 0.05).all():
            break
        span_s *= 2
    spent = time.process_time() - began
    what = "Ciw, mean latency to 5 %" if of_latency else "Ciw, utilisation to 5 %"
    return Timed(what, operators, 1, 1, spent, spent * 1e6)


def random_case(
    rng: np.random.Generator,
) -> tuple[Topology, dict[str, OperatorProfile], PhysicalPlan, dict[str, float]]:
    """2 to 8 operators, forks and joins, three groupings, services of cv² .25 to 4, the busiest at .3 to .9."""
    names = [f"o{number}" for number in range(int(rng.integers(2, 9)))]
    streams = []
    for b in range(1, len(names)):
        for a in rng.choice(b, size=1 if rng.random() < 0.7 else min(b, 2), replace=False):
            grouping = (Grouping.SHUFFLE, Grouping.FIELDS, Grouping.FORWARD)[rng.choice(3, p=[0.5, 0.35, 0.15])]
            streams.append(Stream(names[a], names[b], grouping))
    topology = Topology("random", tuple(map(Operator, names)), tuple(streams))
    keys = KeyHistogram({f"key {number}": 0.4 / 2 ** (number + 1) for number in range(8)})
    profiles = {
        name: OperatorProfile(
            name,
            float(10 ** rng.uniform(-3, -1)),
            {s.name: float(rng.choice([0.3, 0.5, 1.0, 1.5])) for s in streams if s.upstream == name},
            service_cv2=float(rng.choice([0.25, 1.0, 2.0, 4.0])),
            keys=keys if rng.random() < 0.5 else KeyHistogram({}),
        )
        for name in names
    }
    load = {"o0": float(rng.uniform(50, 300))}
    alone = arrival_rates(topology, profiles, PhysicalPlan("random", dict.fromkeys(names, 1)), load).busy
    wanted = {name: int(np.ceil(alone[name].sum() / rng.uniform(0.3, 0.9))) for name in names}
    plan = PhysicalPlan("random", {name: min(128, max(1, count)) for name, count in wanted.items()})
    busiest = max(each.max() for each in arrival_rates(topology, profiles, plan, load).busy.values())
    return topology, profiles, plan, {"o0": load["o0"] * float(rng.uniform(0.3, 0.9) / busiest)}


def accuracy(networks: int) -> list[tuple[str, float, float, float, float]]:
    """Per figure: median, 90 % quantile and worst of the relative errors, and the share within 10 %."""
    rng = np.random.default_rng(7)
    errors: list[list[float]] = []
    for _ in range(networks):
        topology, profiles, plan, load = random_case(rng)
        flows = plan_flows(topology, profiles, plan, load)
        slower = latency_distribution(topology, stations(topology, flows)).of_tuples
        quick = evaluate_many(topology, profiles, [plan], load).latency
        assert quick is not None
        exact = (slower.mean_s, *(slower.quantile_s(share) for share in (0.5, 0.95, 0.99)))
        told = (quick.mean_s, quick.p50_s, quick.p95_s, quick.p99_s)
        errors.append([abs(float(one[0, 0]) / other - 1) for one, other in zip(told, exact, strict=True)])
    return [
        (what, *(float(q) for q in np.quantile(off, [0.5, 0.9, 1.0])), float((off <= 0.1).mean()))
        for what, off in zip(("mean", "p50", "p95", "p99"), np.array(errors).T, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--loads", type=int, default=100)
    parser.add_argument("--accuracy", type=int, default=0, metavar="NETWORKS")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        timed_many(10, given.plans, given.loads),
        timed_many(10, given.plans, given.loads, latency=False),
        timed_many(10, given.plans, given.loads, site=True),
        timed_many(10, given.plans * 4, given.loads),
        timed_many(100, given.plans, given.loads),
        timed_many(1000, given.plans // 10, given.loads),
        timed_draws(10, max(1, given.plans // 50), 10, 200),
        timed_one_by_one(10, max(1, given.plans // 10)),
        timed_simulation(10, of_latency=False),
        timed_simulation(10, of_latency=True),
    ]
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print("| | operators | plans | loads | CPU s | µs an estimate | against the first |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        against = row.us_per_estimate / rows[0].us_per_estimate
        print(
            f"| {row.what} | {row.operators} | {row.plans} | {row.loads} | {row.cpu_s:.2f} | "
            f"{row.us_per_estimate:,.1f} | {against:,.1f} |"
        )
    if given.accuracy:
        print(f"\n| of {given.accuracy} networks | median error | 90 % are within | worst | within 10 % |")
        print("|---|---|---|---|---|")
        for what, median, most, worst, within in accuracy(given.accuracy):
            print(f"| {what} | {median:.1%} | {most:.1%} | {worst:.1%} | {within:.0%} |")


if __name__ == "__main__":
    main()
