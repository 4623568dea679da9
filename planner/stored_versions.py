"""Reads what earlier releases stored: renamed fields, and facts that were stored as text. Nothing else parses text.

Versions 1 to 4 of a schedule had `derived_from`, texts by name, instead of its basis. Up to 5 its reasons, and
those of its steps and alternatives, were sentences.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from planner.decision_basis import CauseKind, Rung
from planner.edit_facts import LimitKind
from planner.scaling_schedule import AlternativeKind

FACTS = 5
"""The first version whose basis is facts."""

_RUNGS = {
    "forecast": Rung.FORECAST,
    "time-of-week profile": Rung.PROFILE,
    "guard alone": Rung.GUARD,
    "hold": Rung.HOLD,
}
_KNOWN = frozenset(
    {
        "rung",
        "forecasts",
        "history",
        "profiles",
        "running plan",
        "shadow plan",
        "mode",
        "topology file",
        "site file",
        "candidates",
        "fleet",
        "calibration",
        "calibration version",
        "calibration that drifted",
        "sources",
        "edited from",
        "edited by",
        "edited because",
        "edited past",
    }
)
_CANDIDATE = re.compile(r"(.+?) \(([0-9a-f]+)\)(?:, |$)")
_DRIFT = re.compile(
    r"(?P<operator>[^;:]+): (?P<parameter>[^;]+?) was (?P<old>\S+), is (?P<new>\S+) "
    r"\([^,]+, p (?P<p>[^)]+)\)"
)
_MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
_LIMITS = {
    LimitKind.MIN_PARALLELISM: r"(?P<value>\d+) instances of operator '(?P<operator>.*)' < \S+ of (?P<bound>\d+)$",
    LimitKind.MAX_STEP: r"from (?P<before>.+) to (?P<plan>.+) (?P<value>\d+) instances start or stop > "
    r"\S+ of (?P<bound>\S+)$",
    LimitKind.SCALE_OUT_ONLY: r"from (?P<before>.+) to (?P<plan>.+) (?P<value>\d+) instances stop, and (?P<bound>)",
    LimitKind.MAX_RESCALES_A_DAY: r"(?P<value>\d+) rescales within 24 hours > \S+ of (?P<bound>\d+)$",
    LimitKind.FREEZE: rf"(?P<value>{_MOMENT}) is within \S+, from (?P<since>{_MOMENT}) to (?P<bound>{_MOMENT})$",
}


def upgraded(value: Any, version: int) -> Any:
    """The fields of a stored plan or schedule of an earlier version, by the names of now."""
    now = _renamed(value, version)
    if isinstance(now, dict) and isinstance(now.get("alternatives"), list):
        now["alternatives"] = [_alternative(each) for each in now["alternatives"]]
    if isinstance(now, dict) and isinstance(now.get("steps"), list):
        now["steps"] = [_recorded(each, "why") for each in now["steps"]]
        now = _recorded(now, "why")
    if isinstance(now, dict) and "derived_from" in now:
        now["basis"] = upgraded_basis(now.pop("derived_from"))
    return now


def _recorded(value: Mapping[str, Any], words: str) -> dict[str, Any]:
    """The field of words under the name that it has now."""
    return {"recorded" if name == words else name: each for name, each in value.items()}


def _alternative(value: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "hold the running plan": AlternativeKind.HOLD,
        "reactive scaler": AlternativeKind.REACTIVE,
        "static plan for the peak": AlternativeKind.STATIC,
    }
    name = str(value["name"])
    one = _recorded(value, "excuse")
    if name.startswith("candidate "):
        return one | {"kind": AlternativeKind.CANDIDATE, "name": name.removeprefix("candidate ")}
    kind = names.get(name, AlternativeKind.OTHER)
    return one | {"kind": kind, "name": name if kind is AlternativeKind.OTHER else ""}


def upgraded_basis(texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a basis from the texts of an earlier version."""
    rung, causes = _footing(texts.get("rung", ""))
    return {
        "rung": rung,
        "causes": causes,
        "forecasts": texts.get("forecasts", "").split(),
        "histories": texts.get("history", "").split(),
        "profiles": texts.get("profiles", "").split(),
        "starts_from": texts.get("running plan", "") or texts.get("shadow plan", ""),
        "shadow": "shadow plan" in texts,
        "floor": texts.get("mode", "") == "floor",
        "topology_digest": texts.get("topology file", ""),
        "site_digest": texts.get("site file", ""),
        "candidates": dict(_CANDIDATE.findall(texts.get("candidates", ""))),
        "fleet": _fleet(texts.get("fleet")),
        "calibration": _calibration(texts.get("calibration", ""), texts.get("calibration version", "")),
        "calibration_digest": texts.get("calibration that drifted", ""),
        "unjoined": texts.get("sources", ""),
        "edit": _edit(texts),
        "others": {name: text for name, text in texts.items() if name not in _KNOWN},
    }


def _footing(text: str) -> tuple[Rung, list[dict[str, Any]]]:
    """A schedule older than rungs counts as made from a forecast. A rung that is in no list has no load to plan for."""
    words, _, cause = text.partition(": ")
    causes = [{"kind": CauseKind.RECORDED, "detail": cause}] if cause else []
    return (_RUNGS.get(words, Rung.HOLD) if text else Rung.FORECAST), causes


def _fleet(text: str | None) -> str | None:
    return "" if text == "nothing is shared" else text


def _calibration(text: str, version: str) -> dict[str, Any]:
    drifts = [
        {
            "operator": found["operator"].removeprefix("drifted: ").strip(),
            "parameter": found["parameter"],
            "old": float(found["old"]),
            "new": float(found["new"]),
            "p": float(found["p"]),
        }
        for found in _DRIFT.finditer(text.partition("drifted: ")[2])
    ]
    return {"version": version, "drifts": drifts, "recorded": text}


def _edit(texts: Mapping[str, str]) -> dict[str, Any] | None:
    if "edited from" not in texts:
        return None
    past = texts.get("edited past", "")
    return {
        "by": texts.get("edited by", ""),
        "why": texts.get("edited because", ""),
        "in_place_of": texts["edited from"],
        "overridden": [limit for text in past.split("; ") if (limit := _limit(text)) is not None],
    }


def _limit(text: str) -> dict[str, Any] | None:
    """A limit that an edit overrode; None if no release worded it so: then overriding it again needs a reason."""
    for limit, pattern in _LIMITS.items():
        if (found := re.match(pattern, text)) is not None:
            parts = found.groupdict()
            return {
                "limit": limit,
                "value": _number(parts["value"]),
                "bound": _number(parts["bound"]),
                "operator": parts.get("operator") or "",
                "before": _parallelism(parts.get("before") or ""),
                "plan": _parallelism(parts.get("plan") or ""),
                "since": _moment(parts["since"]) if parts.get("since") else None,
            }
    return None


def _number(text: str) -> float:
    return _moment(text).timestamp() if re.fullmatch(_MOMENT, text) else float(text or 0)


def _moment(text: str) -> datetime:
    return datetime.strptime(text.replace("UTC", "+0000"), "%Y-%m-%d %H:%M %z")


def _parallelism(brief: str) -> dict[str, int]:
    pairs = (part.rpartition(" ") for part in brief.split(" · ") if part)
    return {operator: int(count) for operator, _, count in pairs}


def _renamed(value: Any, version: int) -> Any:
    """Version 1 wrote instances as pairs, and an excuse as a quantity of a bottleneck or of the whole plan. Version 2
    gave the seconds in which the target would be missed at the planned quantile; they are read as the expected ones. Up
    to version 3 the headroom factor was called a saturation scale.
    """
    if isinstance(value, list):
        return [_renamed(each, version) for each in value]
    if not isinstance(value, Mapping):
        return value
    now = {key: _renamed(each, version) for key, each in value.items()}
    if "short_s" in now:
        now["violation_minutes"] = float(now.pop("short_s")) / 60
    if "saturation_scale" in now:
        now["headroom_factor"] = now.pop("saturation_scale")
    if version > 1:
        return now
    if "id" in value and isinstance(value.get("instances"), list):
        now["instances"] = [{"operator": operator, "index": index} for operator, index in value["instances"]]
    if "quantity" in value and "bottleneck" in value and "plan" in value:
        quantity, bottleneck = now.pop("quantity"), now.pop("bottleneck")
        now["target"] = quantity
        now["operator"] = bottleneck if bottleneck in value["plan"]["parallelism"] else ""
        now["reason"] = f"{quantity} {float(value['value']):.3g} of {bottleneck} is beyond {float(value['bound']):.3g}"
    return now
