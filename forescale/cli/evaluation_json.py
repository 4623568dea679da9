"""An evaluated plan as plain fields for JSON: every number, infinite ones kept as infinite."""

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from forescale.jobs.evaluation import Evaluation
from modeling.estimate import Estimate

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def evaluation_fields(evaluation: Evaluation) -> dict[str, Any]:
    """An estimate with its intervals, the probabilities that targets are missed, and what would remedy it."""
    return estimate_fields(evaluation.estimate) | {
        "max_lag_s": evaluation.max_lag_s,
        "time_to_violation_s": evaluation.time_to_violation_s,
        "drain_wait_s": evaluation.drain_wait_s,
        "saturation": None if evaluation.saturation is None else asdict(evaluation.saturation),
        "intervals": asdict(evaluation.intervals),
        "violation": {
            "horizon_s": evaluation.horizon_s,
            "targets": {target: asdict(missed) for target, missed in evaluation.missed.items()},
        },
        "excuses": [
            {"plan_id": excuse.plan_id, **_fields(excuse, but="plan"), "change": dict(excuse.change)}
            for excuse in evaluation.excuses
        ],
    }


def _fields(value: "DataclassInstance", but: str) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in but.split()}


def estimate_fields(estimate: Estimate) -> dict[str, Any]:
    """Waits and latencies of an unstable plan are infinite; the command line writes null for infinity.

    latency_s: mean, by the fast approximation. latency: mean and percentiles of whole distributions.
    """
    needs = estimate.resources
    return {
        "plan_id": estimate.plan_id,
        "stable": estimate.stable,
        "load_per_s": dict(estimate.load_per_s),
        "throughput_per_s": dict(estimate.throughput_per_s),
        "mst_per_s": dict(estimate.mst_per_s),
        "headroom_factor": estimate.headroom_factor,
        "bottleneck": str(estimate.bottleneck),
        "other_limits": {str(what): scale for what, scale in estimate.other_limits.items()},
        "latency_s": estimate.latency_s,
        "latency": None if estimate.latency is None else asdict(estimate.latency),
        "excess_per_s": dict(estimate.excess_per_s),
        "bounds": list(estimate.bounds),
        "operators": {
            name: {
                **_fields(operator, but="operator"),
                "utilisation": operator.utilisation,
                "instance_utilisation": operator.instance_utilisation.tolist(),
                "instance_cores": needs.cores[name].tolist(),
                "instance_memory_mib": None if (memory := needs.memory_mib[name]) is None else memory.tolist(),
            }
            for name, operator in estimate.operators.items()
        },
        "cores": needs.total_cores,
        "memory_mib": needs.total_memory_mib,
        "containers": {
            str(id): _fields(container, but="id over") | {"headroom_factor": container.headroom_factor}
            for id, container in needs.containers.items()
        },
        "over": [asdict(one) for one in needs.over],
        "rescale": None
        if estimate.rescale is None
        else asdict(estimate.rescale) | {"recovery_s": estimate.rescale.recovery_s},
        "notes": list(estimate.notes),
    }
