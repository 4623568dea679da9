"""What could not be granted, as an excuse that names who has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import numpy as np

from modeling.excuse import Excuse
from planner.fleet.grants import Grants, totals
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import Quota

QUOTA = "quota"
"""The target of an excuse that a shared quota is behind."""
NAMED = 3
"""Topologies that an excuse names of those that have what another one lacks, and one more where it is the last."""


@dataclass(frozen=True)
class Shortage:
    """instances: that a topology lacks of those that it wished for, at most, over [start, end); end: None where that
    lasts to the end of its schedule. wished: at that moment; others: what each other topology of the quota has then,
    the largest first.
    """

    topology: str
    quota: Quota
    start: datetime
    end: datetime
    instances: int
    wished: int
    others: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        named = [
            f"{name} has {count}" if at == 0 else f"{name} {count}" for at, (name, count) in enumerate(self.others)
        ]
        if len(self.others) > NAMED + 1:
            rest = self.others[NAMED:]
            named = [*named[:NAMED], f"{len(rest)} others {sum(count for _, count in rest)}"]
        who = ", ".join(named) or "nobody else has any"
        return f"{self.instances} instances short from {_said(self.start)} to {_said(self.end)}: {who}"


def shortages(wishes: Sequence[Holding], grants: Grants, quotas: Sequence[Quota]) -> list[Shortage]:
    """Spans in which a topology holds less than it wished for, and that would have passed a quota; those of each
    topology in their order.
    """
    short = [each for each in wishes if each.name in grants.at_most]
    if not short:
        return []
    at_s = moments_s([*wishes, *grants.holdings])
    held = totals(grants.holdings, quotas, at_s)
    each_holds = {each.name: each.held(at_s) for each in grants.holdings}

    @cache
    def largest_first(quota: Quota, moment: int) -> list[tuple[str, int]]:
        """Who has how many. Many topologies are short at the same moment."""
        holding = [(name, int(each_holds[name][moment])) for name in quota.topologies if name in each_holds]
        return sorted(holding, key=lambda each: (-each[1], each[0]))

    found = []
    for wish in short:
        wished = wish.held(at_s)
        lacking = wished - each_holds[wish.name]
        for number, quota in enumerate(quotas):
            if wish.name in quota.topologies:
                beyond = (lacking > 0) & (held[number] + lacking > quota.instances)
                for first, last in _spans(beyond):
                    worst = first + int(lacking[first:last].argmax())
                    others = tuple(each for each in largest_first(quota, worst) if each[0] != wish.name)
                    start = datetime.fromtimestamp(float(at_s[first]), UTC)
                    end = wish.schedule.end if last == at_s.size else datetime.fromtimestamp(float(at_s[last]), UTC)
                    counts = int(lacking[worst]), int(wished[worst])
                    found.append(Shortage(wish.name, quota, start, end, *counts, others))
    return sorted(found, key=lambda each: (each.topology, each.start, each.quota.name))


def excuse(wish: Holding, grants: Grants, short: Sequence[Shortage]) -> Excuse | None:
    """Why a topology does not get the largest plan that it wished for; None where it does."""
    own = [each for each in short if each.topology == wish.name]
    if not own:
        return None
    plan = max((step.plan for step in wish.schedule.steps), key=lambda each: each.instances)
    granted, worst = grants.at_most[wish.name], max(own, key=lambda each: each.instances)
    reason = f"at most {granted} instances of {worst.quota.name} are granted: {'; '.join(map(str, own))}"
    enough = worst.quota.instances + worst.instances
    remedy = f"raise {worst.quota.name} from {worst.quota.instances} to {enough} instances"
    return Excuse(plan, QUOTA, "", plan.instances, granted, reason, remedy)


def _spans(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """[first, last) of each run of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _said(at: datetime) -> str:
    return f"{at:%a %H:%M}"
