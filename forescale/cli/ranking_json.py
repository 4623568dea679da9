"""Ranked plans as plain fields for JSON: every plan, best first, with its numbers by load and its excuse."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from forescale.jobs.evaluation_load import EvaluatedLoad
from forescale.jobs.ranking import Ranking
from modeling.excuse import Excuse
from modeling.inputs.targets import ANY
from planner.ranking import RankedPlan

SCHEMA_VERSION = 1
"""Version of the answer; raised when a field changes its name or meaning."""


def ranking_fields(topology: str, ranking: Ranking, loads: Sequence[EvaluatedLoad]) -> dict[str, Any]:
    """targets: the bounded quantities, by field of Targets. samples: number of (path, draw) pairs that the
    probabilities are computed from.
    """
    found = ranking.candidates
    return {
        "schema_version": SCHEMA_VERSION,
        "topology": topology,
        "loads": [
            {"rate_per_s": dict(load.rate_per_s), "quantile": None if load.peak is None else load.peak.quantile}
            for load in loads
        ],
        "targets": asdict(found.targets),
        "horizon_s": found.horizon_s,
        "samples": found.violations.samples,
        "against": ranking.against or None,
        "ranking": [_plan_fields(ranking, rank, each) for rank, each in enumerate(ranking.plans, 1)],
        "notes": list(ranking.notes),
    }


def _plan_fields(ranking: Ranking, rank: int, one: RankedPlan) -> dict[str, Any]:
    """headroom: factor by which the load could grow, at the load where it is smallest."""
    found, number = ranking.candidates, one.number
    missed = found.violations
    return {
        "rank": rank,
        "plan": ranking.name(one),
        "plan_id": one.plan.plan_id,
        "parallelism": dict(one.plan.parallelism),
        "probability": one.probability,
        "error": float(missed.error[ANY][number].mean()),
        "targets": {
            name: {
                "probability": float(found.probability(name)[number]),
                "seconds": float(missed.seconds[name][number].mean()),
            }
            for name in missed.probability
        },
        "headroom": one.headroom,
        "loads": [_load_fields(ranking, number, load) for load in range(len(found.loads_per_s))],
        "cost": asdict(one.cost) | {"instances": one.plan.instances},
        "weighed": [{"amount": amount, "unit": unit} for amount, unit in one.weighed],
        "change": None if one.change is None else asdict(one.change),
        "excuse": None if one.excuse is None else _excuse_fields(one.excuse),
    }


def _load_fields(ranking: Ranking, number: int, load: int) -> dict[str, Any]:
    found = ranking.candidates
    told = found.estimates
    return {
        "probability": float(found.violations.probability[ANY][number, load]),
        "headroom_factor": float(told.headroom_factor[number, load]),
        "bottleneck": str(told.bottleneck_of(number, load)),
        "utilisation": float(told.utilisation[number, load].max()),
        "latency_p95_s": None if told.latency is None else float(told.latency.p95_s[number, load]),
    }


def _excuse_fields(excuse: Excuse) -> dict[str, Any]:
    return {
        "target": excuse.target,
        "operator": excuse.operator,
        "value": excuse.value,
        "bound": excuse.bound,
        "reason": excuse.reason,
        "remedy": excuse.remedy,
    }
