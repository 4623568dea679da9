"""The gate: whether a replay has become worse than one that was kept. For continuous integration and upgrades."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forescale.files.file_error import FileError
from forescale.jobs.replay import ReplayedPolicies

SAME = ("topology", "start", "end", "max_lag_s")
"""What two replays must have in common to be compared."""


@dataclass(frozen=True)
class Bounds:
    """By how much it may be worse: cost: of the instance-hours, as a share; violations: of all minutes, in shares."""

    cost: float = 0.02
    violations: float = 0.001


def worse_than(done: ReplayedPolicies, answer: Mapping[str, Any], baseline: Path, bounds: Bounds) -> list[str]:
    """What has become worse, in sentences, of the policies that both have. answer: of this replay, as `--json` gives
    it; baseline: a file with that of another.

    Raises FileError where the file is none, or of another span, target or topology.
    """
    try:
        kept = json.loads(baseline.read_text(encoding="utf-8"))
        before = {score["policy"]: score for score in kept["scores"]}
        told = {field: kept[field] for field in SAME}
        numbers = {
            name: (float(score["instance_hours"]), float(score["violation_share"])) for name, score in before.items()
        }
    except FileNotFoundError:
        raise FileError(f"baseline {baseline} does not exist; write it by `forescale replay … --json`") from None
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"baseline {baseline} is no answer of `forescale replay … --json` ({type(error).__name__}: {error}); write "
            "it anew"
        ) from None
    for field in SAME:
        if told[field] != answer[field]:
            raise FileError(
                f"baseline {baseline} has {field} {told[field]}, this replay {answer[field]}; replay the same span "
                "(--from, --until) and target, or write the baseline anew"
            )
    if lacking := sorted({score.policy for score in done.scores} - set(numbers)):
        raise FileError(
            f"baseline {baseline} lacks policy {lacking[0]!r}; it has {', '.join(numbers)}: give these to --policies, "
            "or write the baseline anew"
        )
    found = []
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
