"""The queueing model against theory and simulation: mean waits, and p95 of waits, of sojourns and end to end.

    python benchmarks/queueing.py [--replications 80] [--customers 20000] [--seed 1]

1. Closed forms of M/M/1, M/D/1, M/H2/1 and a tandem.
2. Stations: G/G/1 at 5 utilisations and 3 × 3 variations, by Lindley's recursion, which is itself checked against Ciw.
   Arrivals and services with cv² 0.25 are Erlang, 1 exponential, 4 hyper-exponential with balanced means; then all are
   log-normal, since two moments do not determine a distribution.
3. Networks against Ciw: a tandem of three, a split, a merge, a diamond of unequal arms.
4. Superpositions: one server fed by 2 to 8 independent streams, by Lindley's recursion.
5. Cases that two moments per operator do not describe: batches, windows, bursts, slow records, stations in line, full
   buffers; `evaluate` and `evaluate_many` beside Lindley's recursion. `--cases` runs only these.
6. Graphs whose queues are not independent: shared cores, joins of bursty sources, diamonds, many round robins; full
   buffers behind batches. `--graphs` runs only these, in some ninety seconds.

Errors of waits are relative where a wait is at least a twentieth of the service time; nobody plans by shorter ones.
One core, some five minutes.
"""

import argparse
import itertools
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ciw
import numpy as np
import pandas as pd
from scipy.optimize import brentq

# A script's own folder comes first; the packages lie beside it.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("queueing_job")))

from graph_cases import graphs_against_simulation
from line_cases import (
    cases_against_simulation,
    full_buffers_against_simulation,
    full_pairs_against_simulation,
)
from random_times import Draw, departures_s, log_normal, two_phase

from modeling.arrays import Floats
from modeling.flow.plan_rates import plan_flows
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.latency.distribution import latency_distribution, stations
from modeling.queueing.exact_wait import exact_wait
from modeling.queueing.lattice import two_moment_lattice
from modeling.queueing.queues import kingman_waits_s, klb_waits_s, merged_excess

UTILISATIONS = (0.3, 0.5, 0.7, 0.8, 0.9)
VARIATIONS = (0.25, 1.0, 4.0)
TOLD_APART = 0.05
"""Waits below this share of the service time are left out of relative errors."""


@dataclass(frozen=True)
class Cell:
    """One station: utilisation, mean service time 1."""

    utilisation: float
    ca2: float
    cs2: float


MEAN, WAIT_P95, SOJOURN_P95 = "mean wait", "wait p95", "sojourn p95"
GOALS = {MEAN: 10, WAIT_P95: 15, SOJOURN_P95: 15}


def simulated(cell: Cell, replications: int, customers: int, seed: int, draw: Draw) -> tuple[dict[str, float], float]:
    """Times, and the half-width of the mean's 95 % interval; a fifth as many customers are dropped as warm-up."""
    rng, shape = np.random.default_rng(seed), (customers + customers // 5, replications)
    arrivals = np.cumsum(draw(rng, cell.ca2, shape) / cell.utilisation, axis=0)
    services = draw(rng, cell.cs2, shape)
    sojourns = (departures_s(arrivals, services) - arrivals)[customers // 5 :]
    waits = sojourns - services[customers // 5 :]
    means = waits.mean(axis=0)
    measured = (float(means.mean()), *(float(np.quantile(each, 0.95)) for each in (waits, sojourns)))
    return dict(zip(GOALS, measured, strict=True)), float(1.96 * means.std(ddof=1) / np.sqrt(replications))


def exact(cell: Cell) -> dict[str, float]:
    """Exact values by Lindley's equation on a lattice."""
    wait = exact_wait(cell.utilisation, 1.0, cell.ca2, cell.cs2)
    service = two_moment_lattice(1.0, cell.cs2, wait.step_s, wait.mass.size)
    sojourn = type(wait)(wait.step_s, np.convolve(wait.mass, service.mass)[: wait.mass.size])
    return {MEAN: wait.mean_s, WAIT_P95: wait.quantile_s(0.95), SOJOURN_P95: sojourn.quantile_s(0.95)}


def print_errors(title: str, seen: dict[Cell, dict[str, float]], predicted: dict[Cell, dict[str, float]]) -> None:
    """Print the relative errors in per cent of each predicted figure."""
    for what, goal in GOALS.items():
        by_cell = {
            cell: 100 * (predicted[cell][what] / measured[what] - 1)
            for cell, measured in seen.items()
            if measured[what] >= TOLD_APART and what in predicted[cell]
        }
        if not by_cell:
            continue
        sizes = np.abs(list(by_cell.values()))
        worst = max(by_cell, key=lambda cell: abs(by_cell[cell]))
        print(
            f"| {title} | {what} | {np.median(sizes):.1f} % | {by_cell[worst]:+.0f} % | ρ {worst.utilisation} "
            f"ca² {worst.ca2:g} cs² {worst.cs2:g} | {np.mean(sizes <= goal):.0%} of {len(by_cell)} within {goal} % |",
            flush=True,
        )


def stations_against_simulation(replications: int, customers: int, seed: int) -> None:
    print("| station, method | what | median error | worst | where | goal |\n|---|---|---|---|---|---|")
    cells = [Cell(*values) for values in itertools.product(UTILISATIONS, VARIATIONS, VARIATIONS)]
    for name, draw in (("", two_phase), ("log-normal, ", log_normal)):
        runs = {cell: simulated(cell, replications, customers, seed, draw) for cell in cells}
        seen = {cell: measured for cell, (measured, _) in runs.items()}
        for method, closed_form in (("Kingman", kingman_waits_s), ("closed form", klb_waits_s)):
            means = {c: {MEAN: float(closed_form(c.utilisation, 1.0, c.ca2, c.cs2))} for c in cells}
            print_errors(f"{name}{method}", seen, means)
        print_errors(f"{name}lattice", seen, {cell: exact(cell) for cell in cells})
        noise = max(half_width / saw[MEAN] for saw, half_width in runs.values() if saw[MEAN] >= TOLD_APART)
        print(f"| {name}simulated | widest confidence of a mean | | ±{100 * noise:.1f} % | | |", flush=True)


def ciw_distribution(cv2: float, mean: float) -> object:
    if cv2 <= 1:
        return ciw.dists.Gamma(1 / cv2, mean * cv2)
    fast = (1 + np.sqrt((cv2 - 1) / (cv2 + 1))) / 2
    return ciw.dists.HyperExponential([2 * fast / mean, 2 * (1 - fast) / mean], [fast, 1 - fast])


def ciw_totals(network: object, seed: int, until: float) -> Floats:
    """Total wait and service over all stations, of customers that came after a tenth of the time and long before the
    end.
    """
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(until)
    records = pd.DataFrame(simulation.get_all_records())
    records["total"] = records["waiting_time"] + records["service_time"]
    customers = records.groupby("id_number").agg({"arrival_date": "min", "total": "sum"})
    return customers["total"][customers["arrival_date"].between(0.1 * until, 0.95 * until)].to_numpy()


def recursion_against_ciw(replications: int, customers: int, seed: int) -> None:
    """Compare this file's simulator with Ciw, in cells where both converge quickly."""
    print("\n| cell | recursion: mean sojourn | Ciw |\n|---|---|---|")
    for cell in (Cell(0.7, 0.25, 4.0), Cell(0.8, 1.0, 0.25)):
        seen, half_width = simulated(cell, replications, customers, seed, two_phase)
        network = ciw.create_network(
            arrival_distributions=[ciw_distribution(cell.ca2, 1 / cell.utilisation)],
            service_distributions=[ciw_distribution(cell.cs2, 1.0)],
            number_of_servers=[1],
        )
        means = np.array([ciw_totals(network, seed + k, 20_000 / cell.utilisation).mean() for k in range(4)])
        print(
            f"| ρ {cell.utilisation} ca² {cell.ca2:g} cs² {cell.cs2:g} | {1 + seen[MEAN]:.3f} ± {half_width:.3f} | "
            f"{means.mean():.3f} ± {3.18 * means.std(ddof=1) / 2:.3f} |",
            flush=True,
        )


@dataclass(frozen=True)
class Network:
    """Stations of one server each. services: mean per operator. routes: targets with their probabilities."""

    name: str
    services: dict[str, float]
    routes: dict[str, dict[str, float]]
    arrivals: dict[str, float]

    def ciw(self, ca2: float, cs2: float) -> object:
        names = list(self.services)
        return ciw.create_network(
            arrival_distributions=[
                ciw_distribution(ca2, 1 / self.arrivals[n]) if n in self.arrivals else None for n in names
            ],
            service_distributions=[ciw_distribution(cs2, self.services[n]) for n in names],
            number_of_servers=[1] * len(names),
            routing=[[self.routes.get(a, {}).get(b, 0.0) for b in names] for a in names],
        )

    def predicted(self, ca2: float, cs2: float) -> tuple[float, float]:
        """Mean and p95 of the end-to-end latency of tuples."""
        streams = tuple(Stream(a, b) for a, ways in self.routes.items() for b in ways)
        topology = Topology(self.name, tuple(Operator(name) for name in self.services), streams)
        profiles = {
            name: OperatorProfile(
                name,
                service,
                {f"{name}->{b}": part for b, part in self.routes.get(name, {}).items()},
                service_cv2=cs2,
            )
            for name, service in self.services.items()
        }
        plan = PhysicalPlan(self.name, dict.fromkeys(self.services, 1))
        flows = plan_flows(topology, profiles, plan, self.arrivals)
        told = latency_distribution(topology, stations(topology, flows, ca2))
        return told.of_tuples.mean_s, told.quantile_s(0.95)


NETWORKS = (
    Network("tandem of three", {"a": 0.5, "b": 0.8, "c": 0.6}, {"a": {"b": 1.0}, "b": {"c": 1.0}}, {"a": 1.0}),
    Network("split", {"a": 0.6, "b": 2.0, "c": 1.0}, {"a": {"b": 0.3, "c": 0.7}}, {"a": 1.0}),
    Network("merge", {"a": 1.4, "b": 1.2, "c": 0.8}, {"a": {"c": 1.0}, "b": {"c": 1.0}}, {"a": 0.5, "b": 0.5}),
    Network(
        "diamond",
        {"s": 0.5, "x": 1.5, "y": 1.0, "z": 1.2, "j": 0.8},
        {"s": {"x": 0.4, "y": 0.6}, "x": {"j": 1.0}, "y": {"z": 1.0}, "z": {"j": 1.0}},
        {"s": 1.0},
    ),
)


def networks_against_ciw(seed: int, replications: int = 4, until: float = 15_000.0) -> None:
    print("\n| network | ca² | cs² | mean, Ciw | mean, error | p95, Ciw | p95, error |\n|---|---|---|---|---|---|---|")
    sizes: list[tuple[float, float]] = []
    for network in NETWORKS:
        for ca2, cs2 in ((1.0, 1.0), (0.25, 0.25), (1.0, 4.0), (4.0, 1.0)):
            runs = [ciw_totals(network.ciw(ca2, cs2), seed + k, until) for k in range(replications)]
            means = np.array([run.mean() for run in runs])
            highs = np.array([np.quantile(run, 0.95) for run in runs])
            mean, high = network.predicted(ca2, cs2)
            sizes.append((100 * (mean / means.mean() - 1), 100 * (high / highs.mean() - 1)))
            half = 3.18 / np.sqrt(replications)
            print(
                f"| {network.name} | {ca2:g} | {cs2:g} | {means.mean():.2f} ± {half * means.std(ddof=1):.2f} | "
                f"{sizes[-1][0]:+.1f} % | {highs.mean():.2f} ± {half * highs.std(ddof=1):.2f} | "
                f"{sizes[-1][1]:+.1f} % |",
                flush=True,
            )
    means, highs = np.abs(np.array(sizes)).T
    print(f"| all | | | median, worst | {np.median(means):.1f} %, {means.max():.0f} % ", end="")
    print(f"| | {np.median(highs):.1f} %, {highs.max():.0f} % |", flush=True)


MERGED_STREAMS, MERGED_CA2 = (2, 4, 8), (0.1, 0.25, 0.5, 2.0, 4.0)
ALBIN = 4.0
"""QNA's constant, for Kingman's wait."""


def superposed_wait(rng: np.random.Generator, streams: int, cell: Cell, customers: int) -> float:
    """Mean wait at one server of equal independent streams with the cell's ca², each starting somewhere in a gap."""
    gaps = two_phase(rng, cell.ca2, (customers // streams, streams)) * streams / cell.utilisation
    times = np.cumsum(gaps, axis=0) - gaps[0] * rng.random(streams)
    arrivals = np.sort(times[times < times[-1].min()])
    services = two_phase(rng, cell.cs2, (arrivals.size,))
    waits = departures_s(arrivals, services) - arrivals - services
    return float(waits[arrivals.size // 10 :].mean())


def superpositions_against_simulation(replications: int, customers: int, seed: int) -> None:
    """Relative errors of the mean wait, with the superposition's ca² by merged_excess and by Albin's constant."""
    rng = np.random.default_rng(seed)
    print("\n| streams of ca² | cells | by merged_excess: median, worst | with Albin's 4 | as one Poisson stream |")
    print("|---|---|---|---|---|")
    for ca2 in MERGED_CA2:
        found = []
        for streams, rho, cs2 in itertools.product(MERGED_STREAMS, (0.5, 0.7, 0.85), (0.1, 0.5, 1.0)):
            cell = Cell(rho, ca2, cs2)
            runs = [superposed_wait(rng, streams, cell, 5 * customers) for _ in range(max(1, replications // 8))]
            felt = (float(merged_excess(streams - 1, rho, cs2)), 1 / (1 + ALBIN * (1 - rho) ** 2 * (streams - 1)), 0.0)
            ways = [1 + (ca2 - 1) * each for each in felt]
            found.append([100 * (float(klb_waits_s(rho, 1.0, way, cs2)) / np.mean(runs) - 1) for way in ways])
        told = (f"{np.median(np.abs(each)):.0f} %, {max(each, key=abs):+.0f} %" for each in np.array(found).T)
        print(f"| {ca2:g} | {len(found)} | {' | '.join(told)} |", flush=True)


def closed_forms() -> None:
    """Relative errors of the lattice against exact values, for mean and p95 of the wait; closed forms of the mean are
    exact here.
    """
    print("| queue | mean wait | lattice | p95 | lattice |\n|---|---|---|---|---|")
    for rho in (0.5, 0.9):
        for name, cs2 in (("M/M/1", 1.0), ("M/D/1", 0.0), ("M/H2/1", 4.0)):
            mean = rho / (1 - rho) * (1 + cs2) / 2
            p95 = np.log(rho / 0.05) / (1 - rho) if cs2 == 1 else md1_p95(rho) if cs2 == 0 else mh21_p95(rho, cs2)
            told = exact(Cell(rho, 1.0, cs2))
            print(
                f"| {name}, ρ {rho} | {mean:.3f} | {100 * (told[MEAN] / mean - 1):+.2f} % | {p95:.3f} "
                f"| {100 * (told[WAIT_P95] / p95 - 1):+.2f} % |"
            )
    # Sojourns of M/M/1 in series are exponential and independent: rates 1/s − 1 are 1, 0.25 and 2/3.
    means = (1.0, 4.0, 1.5)
    weights = [np.prod([m / (m - other) for other in means if other != m]) for m in means]
    p95 = brentq(lambda t: sum(w * np.exp(-t / m) for w, m in zip(weights, means, strict=True)) - 0.05, 0.1, 100.0)
    mean, high = NETWORKS[0].predicted(1.0, 1.0)
    print(
        f"| tandem of M/M/1, latency | {sum(means):.3f} | {100 * (mean / 6.5 - 1):+.2f} % | {p95:.3f} "
        f"| {100 * (high / p95 - 1):+.2f} % |\n"
    )


def md1_p95(rho: float) -> float:
    """Erlang's sum for P(W <= t) of M/D/1 with services of 1."""

    def below(t: float) -> float:
        k = np.arange(int(t) + 1)
        factorials = np.cumprod(np.concatenate([[1.0], k[1:].astype(float)]))
        return float((1 - rho) * np.sum((-rho * (t - k)) ** k / factorials * np.exp(rho * (t - k))))

    return float(brentq(lambda t: below(t) - 0.95, 0.01, 25.0))


def mh21_p95(rho: float, cs2: float) -> float:
    """The transform (1−ρ)s/(s − λ + λB(s)) of M/H2/1 has two poles: P(W > t) is a sum of two exponentials."""
    fast = (1 + np.sqrt((cs2 - 1) / (cs2 + 1))) / 2
    one, two = 2 * fast, 2 * (1 - fast)
    # s − λ + λB(s) = s·(s² + (one + two − λ)s + one·two·(1 − ρ)) / ((s + one)(s + two))
    poles = np.roots([1.0, one + two - rho, one * two * (1 - rho)])
    residues = [(1 - rho) * (p + one) * (p + two) / (p - other) for p, other in zip(poles, poles[::-1], strict=True)]
    above = lambda t: sum(-r / p * np.exp(p * t) for r, p in zip(residues, poles, strict=True))  # noqa: E731
    return float(brentq(lambda t: above(t) - 0.05, 0.01, 500.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=80, help="of each station")
    parser.add_argument("--customers", type=int, default=20_000, help="a replication, after a fifth that is dropped")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", action="store_true", help="those that two moments do not tell alone")
    parser.add_argument("--graphs", action="store_true", help="those whose queues are not independent")
    terms = parser.parse_args()
    if terms.graphs:
        graphs_against_simulation(8, terms.seed)
        full_pairs_against_simulation(terms.seed)
        return
    if terms.cases:
        cases_against_simulation(8, terms.seed)
        full_buffers_against_simulation(terms.seed)
        return
    started = time.perf_counter()
    closed_forms()
    stations_against_simulation(terms.replications, terms.customers, terms.seed)
    recursion_against_ciw(terms.replications, terms.customers, terms.seed)
    networks_against_ciw(terms.seed)
    superpositions_against_simulation(terms.replications, terms.customers, terms.seed)
    cases_against_simulation(8, terms.seed)
    full_buffers_against_simulation(terms.seed)
    graphs_against_simulation(8, terms.seed)
    full_pairs_against_simulation(terms.seed)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
