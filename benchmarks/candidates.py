"""How fast proposed placements are ranked, and whether `evaluate` alone would rank them the same.

    python benchmarks/candidates.py [--plans 500] [--one-by-one 40]

Placements of one plan (ten operators, some two hundred instances, 24 containers on six unlike nodes, as in
benchmarks/model.py) under three loads. They are ranked all at once: with service times as they are, and by the joint
probability over draws of their errors, the latter also with the p95 bounded. `evaluate` then does some of the
placements, one placement and load at a time, without percentiles; the ratio compares processor time per estimate in
the same run. Spearman's correlation compares its order (loads missed, then headroom) with the ranking. One process; set
OMP_NUM_THREADS=1, or threads of the linear algebra are counted too.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from model import SERVICE_S, cpu_s, packed, plans_of, profiles_of, site_of, topology_of
from scipy.stats import spearmanr

# A script's own folder comes first, and one file in it is named like a package.
sys.path.pop(0)

from modeling.candidates import Candidates, candidates
from modeling.evaluate import evaluate
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.targets import Targets
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws
from planner.ranking import ranked

TOPOLOGY = topology_of(10)
PROFILES = {name: replace(each, service_s_error=SERVICE_S / 20) for name, each in profiles_of(TOPOLOGY).items()}
SITE = site_of(TOPOLOGY)
RATES_PER_S = np.array([1500.0, 2000.0, 2500.0])
STEADY_S = 3600.0
TARGETS = Targets(max_utilisation=0.85, max_lag_s=60.0)
MAX_LATENCY_S = 0.8


@dataclass(frozen=True)
class Timed:
    what: str
    plans: int
    loads: int
    draws: int
    cpu_s: float
    us_per_estimate: float


def judged(plans: Sequence[PhysicalPlan], draws: int, *, latency: bool = False) -> Candidates:
    drawn = parameter_draws(PROFILES, np.random.default_rng(1), draws) if draws > 1 else ParameterDraws(1)
    targets = replace(TARGETS, max_latency_s=MAX_LATENCY_S) if latency else TARGETS
    loads, paths = (dict.fromkeys(TOPOLOGY.sources, each) for each in (RATES_PER_S, RATES_PER_S[:, None, None]))
    return candidates(TOPOLOGY, PROFILES, plans, loads, paths, STEADY_S, drawn, targets, site=SITE)


def timed_ranking(plans: Sequence[PhysicalPlan], draws: int, *, latency: bool = False) -> Timed:
    spent = cpu_s(lambda: ranked(judged(plans, draws, latency=latency), {}, plans[0]))
    what = "ranked at once" + (", p95 too" if latency else "")
    count = len(plans) * RATES_PER_S.size
    return Timed(what, len(plans), RATES_PER_S.size, draws, spent, spent / count * 1e6)


def one_by_one(plans: Sequence[PhysicalPlan]) -> tuple[Timed, list[tuple[float, float]]]:
    """For each plan: the share of loads at which it misses a target, and minus its headroom. Less is better."""
    found: list[tuple[float, float]] = []

    def evaluated() -> None:
        for plan in plans:
            told = [
                evaluate(TOPOLOGY, PROFILES, plan, dict.fromkeys(TOPOLOGY.sources, float(rate)), site=SITE)
                for rate in RATES_PER_S
            ]
            # A steady load above a plan's capacity reaches 60 s of lag within the hour, or nearly so.
            missed = [not each.stable or each.utilisation > (TARGETS.max_utilisation or 1.0) for each in told]
            found.append((float(np.mean(missed)), -round(min(each.headroom_factor for each in told), 6)))

    spent = cpu_s(evaluated)
    count = len(plans) * RATES_PER_S.size
    return Timed("evaluate, one at a time", len(plans), RATES_PER_S.size, 1, spent, spent / count * 1e6), found


def agreement(plans: Sequence[PhysicalPlan], alone: Sequence[tuple[float, float]]) -> float:
    """Spearman's rank correlation; equally good plans share a rank."""
    at_once = {one.number: (one.probability, -round(one.headroom, 6)) for one in ranked(judged(plans, 1), {})}
    scores = [at_once[number] for number in range(len(plans))]
    ranks = ([sorted(each).index(score) for score in each] for each in (scores, list(alone)))
    return float(spearmanr(*ranks).statistic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--one-by-one", type=int, default=40)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    plans = packed(plans_of(TOPOLOGY, 1) * given.plans)
    some = plans[: given.one_by_one]
    alone, scores = one_by_one(some)
    rows = [
        timed_ranking(plans, 1),
        timed_ranking(plans, given.draws),
        timed_ranking(plans, given.draws, latency=True),
        alone,
    ]
    correlation = agreement(some, scores)
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "spearman": correlation}, indent=1))
        return
    print("| | plans | loads | draws | CPU s | µs a plan and load | against the first |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.what} | {row.plans} | {row.loads} | {row.draws} | {row.cpu_s:.2f} | {row.us_per_estimate:,.0f} | "
            f"{row.us_per_estimate / rows[0].us_per_estimate:,.1f} |"
        )
    print(f"\nSpearman's correlation with `evaluate` over {len(some)} placements: {correlation:.3f}")


if __name__ == "__main__":
    main()
