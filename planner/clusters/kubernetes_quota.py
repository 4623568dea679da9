"""What a namespace's resource quotas leave for more pods."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_LONG_RUNNING = {"NotTerminating", "NotBestEffort"}
"""Scopes of quotas that count pods of workloads; quotas with other scopes are ignored."""


@dataclass(frozen=True)
class PodsWanted:
    """pods: number to add, negative to remove. template: of the workload, with its containers."""

    pods: int
    template: Mapping[str, Any]


def pods_left(quotas: Sequence[Mapping[str, Any]]) -> int | None:
    """Number of pods that the quotas still allow; None if none limits it."""
    left = [_left(quota, key) for quota in quotas if _counts(quota) for key in ("pods", "count/pods")]
    known = [amount for amount in left if amount is not None]
    return max(0, math.floor(min(known))) if known else None


def beyond_quota(wanted: Sequence[PodsWanted], quotas: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the quotas do not allow these pods; None if they do."""
    for quota in quotas:
        if not _counts(quota):
            continue
        for key in (quota.get("status") or {}).get("hard") or {}:
            left = _left(quota, key)
            needed = sum((one.pods * of_one_pod(one.template, key) for one in wanted), Decimal(0))
            if left is not None and needed > max(left, Decimal(0)):
                return (
                    f"the plan needs {needed.normalize():f} more of {key} > {left.normalize():f} left by resourcequota/"
                    f"{quota['metadata']['name']}; raise the quota, or lower a parallelism"
                )
    return None


def _counts(quota: Mapping[str, Any]) -> bool:
    spec = quota.get("spec") or {}
    return set(spec.get("scopes") or ()) <= _LONG_RUNNING and not spec.get("scopeSelector")


def _left(quota: Mapping[str, Any], key: str) -> Decimal | None:
    status = quota.get("status") or {}
    hard, used = (status.get("hard") or {}).get(key), (status.get("used") or {}).get(key, "0")
    return None if hard is None else _amount(hard) - _amount(used)


def of_one_pod(template: Mapping[str, Any], key: str) -> Decimal:
    """What a quota with that key counts for one pod (cpu in cores, memory in bytes); 0 for resources that pods do not
    use.
    """
    if key in ("pods", "count/pods"):
        return Decimal(1)
    side, _, resource = key.rpartition(".")
    if side not in ("", "requests", "limits") or (side == "" and resource not in ("cpu", "memory")):
        return Decimal(0)
    containers = (template.get("spec") or {}).get("containers") or ()
    of_each = [(container.get("resources") or {}) for container in containers]
    # A container without requests gets its limits as requests.
    sides = ("limits",) if side == "limits" else ("requests", "limits")
    return sum((_first(each, sides, resource) for each in of_each), Decimal(0))


def _first(resources: Mapping[str, Any], sides: Sequence[str], resource: str) -> Decimal:
    amounts = [(resources.get(side) or {}).get(resource) for side in sides]
    return next((_amount(amount) for amount in amounts if amount is not None), Decimal(0))


def _amount(text: object) -> Decimal:
    from kubernetes.utils.quantity import parse_quantity

    return Decimal(parse_quantity(text))
