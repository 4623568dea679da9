"""The gate: whether a replay is worse than a stored baseline. For continuous integration and upgrades."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forecasting.bounded_file import bounded_text
from forescale.files.file_error import FileError
from forescale.jobs.replay import ReplayedPolicies
from forescale.jobs.replay_terms import DEFAULTS
from modeling.wording import count_of

SAME = ("topology", "start", "end", "max_lag_s")
"""Fields that must be equal in two replays to compare them, beside all their terms."""


@dataclass(frozen=True)
class GateBounds:
    """Allowed increases. cost: in instance-hours, as a share; violations: in the share of minutes in violation."""

    cost: float = 0.02
    violations: float = 0.001

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cost) and math.isfinite(self.violations)):
            raise ValueError(f"gate has {self.cost:g} and {self.violations:g}; give finite numbers")


@dataclass(frozen=True)
class Baseline:
    """An earlier replay. terms: that must be equal; numbers: (instance-hours, share of minutes in violation) by policy;
    seeds: number of them by policy. bounds: of its field `gate`, if somebody has added one.
    """

    path: Path
    terms: Mapping[str, object]
    numbers: Mapping[str, tuple[float, float]]
    seeds: Mapping[str, int]
    bounds: GateBounds


def read_baseline(path: Path) -> Baseline:
    """The `--json` answer of an earlier replay. Raises FileError if the file is missing or incomplete."""
    try:
        kept = json.loads(bounded_text(path))
        before = {score["policy"]: score for score in kept["scores"]}
        numbers = {
            name: (float(score["instance_hours"]), float(score["violation_share"])) for name, score in before.items()
        }
        seeds = {name: int(score["seeds"]) for name, score in before.items()}
        if not all(math.isfinite(each) for pair in numbers.values() for each in pair):
            raise ValueError("a score is no finite number")
        bounds = GateBounds(**{name: float(value) for name, value in kept.get("gate", {}).items()})
        return Baseline(path, _terms(kept), numbers, seeds, bounds)
    except FileNotFoundError:
        raise FileError(f"baseline {path} does not exist; write it by `forescale replay … --json`") from None
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"baseline {path} is no answer of `forescale replay … --json` ({type(error).__name__}: {error}); write "
            "a new one"
        ) from None


def worse_than(done: ReplayedPolicies, answer: Mapping[str, Any], policies: Sequence[str], kept: Baseline) -> list[str]:
    """What is worse than in the baseline, in sentences, including any policy that could not be replayed with all seeds.
    answer: of this replay, as `--json` gives it; policies: that it was to replay.

    Raises FileError if the baseline has another span, target, topology or other terms.
    """
    baseline, numbers, seeds, bounds = kept.path, kept.numbers, kept.seeds, kept.bounds
    apart = [
        f"{name} {kept.terms.get(name)}, this replay {mine}"
        for name, mine in _terms(answer).items()
        if kept.terms.get(name) != mine
    ]
    if apart:
        raise FileError(
            f"baseline {baseline} has {'; '.join(apart)}; replay the same span (--from, --until) on the same terms, or "
            "write a new baseline"
        )
    if partly := [name for name in policies if name in seeds and seeds[name] != done.terms.seeds]:
        raise FileError(
            f"baseline {baseline} has policy {partly[0]!r} with {seeds[partly[0]]} of "
            f"{count_of(done.terms.seeds, 'seed')}; see its notes for the reason, and write a new baseline"
        )
    if lacking := sorted(set(policies) - set(numbers)):
        raise FileError(
            f"baseline {baseline} lacks policy {lacking[0]!r}; it has {', '.join(numbers)}: give these to --policies, "
            "or write a new baseline"
        )
    found = []
    replayed = {score.policy: score.seeds for score in done.scores}
    for name in policies:
        if replayed.get(name, 0) != done.terms.seeds:
            found.append(
                f"{name}: replayed with {replayed.get(name, 0)} of {count_of(done.terms.seeds, 'seed')}; see the notes"
            )
    for score in done.scores:
        hours, share = numbers[score.policy]
        if score.instance_hours > hours * (1 + bounds.cost) + 1e-9:
            found.append(
                f"{score.policy}: {score.instance_hours:,.1f} instance-hours, {score.instance_hours / hours - 1:.1%} "
                f"more than {hours:,.1f}; {bounds.cost:.1%} are allowed"
            )
        if score.violation_share > share + bounds.violations + 1e-12:
            found.append(
                f"{score.policy}: {score.violation_share:.2%} of the minutes in violation, {share:.2%} before; "
                f"{bounds.violations:.2%} more are allowed"
            )
    return found


def _terms(answer: Mapping[str, Any]) -> dict[str, object]:
    """The terms that must be equal, by name; older versions did not write all of them."""
    terms: dict[str, object] = dict(answer["terms"])
    deviations: dict[str, object] = dict(answer["terms"]["deviations"])
    del terms["deviations"]
    return {field: answer[field] for field in SAME} | DEFAULTS | terms | deviations
