"""How fast the performance model is: many plans under many loads at once, and large topologies.

    python benchmarks/model.py [--plans 1000] [--loads 100]

Ten operators (a chain with a fork and a join, keyed and shuffled streams, a key histogram) and about two hundred
instances a plan. Beside `evaluate_many` stand `evaluate` for one plan and load at a time, and a discrete-event
simulation of one plan and load with Ciw until its throughput and utilisation are known to 5 %: what one would take
without a model. One process; ratios are of processor time. Growth is that of evaluate_many with operators and plans.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from itertools import pairwise

import ciw
import numpy as np

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.key_histogram import KeyHistogram
from modeling.operator_profile import OperatorProfile
from modeling.physical_plan import PhysicalPlan
from modeling.topology import Grouping, Operator, Stream, Topology

SERVICE_S = 0.001
INSTANCES = 20


@dataclass(frozen=True)
class Timed:
    what: str
    operators: int
    plans: int
    loads: int
    cpu_s: float
    us_per_estimate: float


def topology_of(operators: int) -> Topology:
    """A chain in which every third operator is skipped by a stream of its own: forks and joins of unequal arms."""
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


def timed_many(operators: int, plans: int, loads: int) -> Timed:
    topology = topology_of(operators)
    profiles, several = profiles_of(topology), plans_of(topology, plans)
    rates = {source: np.linspace(1, 12000, loads) for source in topology.sources}
    evaluate_many(topology, profiles, several[:2], rates)
    began = time.process_time()
    evaluate_many(topology, profiles, several, rates)
    spent = time.process_time() - began
    return Timed("evaluate_many", operators, plans, loads, spent, spent / plans / loads * 1e6)


def timed_one_by_one(operators: int, plans: int) -> Timed:
    topology = topology_of(operators)
    profiles, several = profiles_of(topology), plans_of(topology, plans)
    began = time.process_time()
    for plan in several:
        evaluate(topology, profiles, plan, dict.fromkeys(topology.sources, 6000.0))
    spent = time.process_time() - began
    return Timed("evaluate, one at a time (with latency)", operators, plans, 1, spent, spent / plans * 1e6)


def timed_simulation(operators: int) -> Timed:
    """One plan and load with Ciw, exponential times, until the busy share of every operator is known to 5 %.

    An operator is a node of as many servers (which deals better than queues of their own do: to Ciw's advantage, as it
    has fewer of them); routes are as the selectivities say. The time simulated is doubled until the spread of four
    seeds is below 5 % at every node.
    """
    topology = topology_of(operators)
    plan = plans_of(topology, 1)[0]
    names = list(topology.order)
    at = {name: number for number, name in enumerate(names)}
    routing = [[0.0] * len(names) for _ in names]
    for name in names:
        for stream in topology.outputs(name):
            routing[at[name]][at[stream.downstream]] += 1 / len(topology.outputs(name))
    rate = 0.5 * INSTANCES / SERVICE_S / 2
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate) if name in topology.sources else None for name in names],
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
            for record in records:
                busy[record.node - 1] += record.service_time
            told.append(busy / span_s)
        spread = np.std(told, axis=0, ddof=1) / np.maximum(np.mean(told, axis=0), 1e-9)
        if (spread <= 0.05).all():
            break
        span_s *= 2
    spent = time.process_time() - began
    return Timed("Ciw, simulated to 5 %", operators, 1, 1, spent, spent * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--loads", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        timed_many(10, given.plans, given.loads),
        timed_many(10, given.plans * 4, given.loads),
        timed_many(100, given.plans, given.loads),
        timed_many(1000, given.plans // 10, given.loads),
        timed_one_by_one(10, max(1, given.plans // 10)),
        timed_simulation(10),
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
            f"{row.us_per_estimate:.1f} | {against:,.1f} |"
        )


if __name__ == "__main__":
    main()
