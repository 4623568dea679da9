"""Explains what could not be granted, with an excuse that names who holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from modeling.arrays import Floats
from modeling.excuse import Excuse
from modeling.wording import count_of
from planner.fleet.grants import Grants, totals
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import Quota

QUOTA = "quota"
"""Target of an excuse that is due to a shared quota."""
NAMED = 3
"""Topologies that an excuse names among those that hold the missing instances; one more if it is the last."""
_AT_ONCE = 256
"""Moments at which all holdings are compared in one step."""


@dataclass(frozen=True)
class Shortage:
    """instances: the largest number that a topology lacks of its wish over [start, end). wished: at that moment;
    others: what other topologies of the quota hold then, the largest first, limited to those named; unnamed: number of
    the others, and their total.
    """

    topology: str
    quota: Quota
    start: datetime
    end: datetime
    instances: int
    wished: int
    others: tuple[tuple[str, int], ...]
    unnamed: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        named = [
            f"{name} has {count}" if at == 0 else f"{name} {count}" for at, (name, count) in enumerate(self.others)
        ]
        if self.unnamed[0]:
            named.append(f"{self.unnamed[0]} others {self.unnamed[1]}")
        who = ", ".join(named) or "nobody else has any"
        return f"{count_of(self.instances, 'instance')} short from {_said(self.start)} to {_said(self.end)}: {who}"


def shortages(wishes: Sequence[Holding], grants: Grants, quotas: Sequence[Quota]) -> list[Shortage]:
    """Spans in which a topology holds less than it wished for and the wish would have exceeded a quota, in order per
    topology.
    """
    short = [each for each in wishes if each.name in grants.at_most]
    if not short:
        return []
    at_s = moments_s([*wishes, *grants.holdings])
    held, holding = totals(grants.holdings, quotas, at_s), {each.name: each for each in grants.holdings}
    lacks = list[_Lack]()
    for wish in short:
        wished = wish.held(at_s)
        lacking = wished - holding[wish.name].held(at_s)
        for number, quota in enumerate(quotas):
            if wish.name in quota.topologies:
                beyond = (lacking > 0) & (held[number] + lacking > quota.instances)
                for first, last in _spans(beyond):
                    worst = first + int(lacking[first:last].argmax())
                    counts = int(lacking[worst]), int(wished[worst])
                    lacks.append(_Lack(wish, number, first, last, worst, *counts))
    found = []
    for number, quota in enumerate(quotas):
        own = [each for each in lacks if each.quota == number]
        members = [each for each in grants.holdings if each.name in quota.topologies]
        largest = _largest(members, at_s, sorted({each.worst for each in own}))
        for each in own:
            name, instances = each.wish.name, int(held[number, each.worst]) - (each.wished - each.instances)
            others = [who for who in largest[each.worst] if who[0] != name]
            named = tuple(others[: NAMED if len(members) - 1 > NAMED + 1 else NAMED + 1])
            unnamed = len(members) - 1 - len(named), instances - sum(count for _, count in named)
            start = datetime.fromtimestamp(float(at_s[each.first]), UTC)
            end = each.wish.schedule.end
            if each.last < at_s.size:
                end = datetime.fromtimestamp(float(at_s[each.last]), UTC)
            found.append(Shortage(name, quota, start, end, each.instances, each.wished, named, unnamed))
    return sorted(found, key=lambda each: (each.topology, each.start, each.quota.name))


@dataclass(frozen=True)
class _Lack:
    """quota: its index. first, last, worst: indices of moments; last is the one after the span."""

    wish: Holding
    quota: int
    first: int
    last: int
    worst: int
    instances: int
    wished: int


def _largest(members: Sequence[Holding], at_s: Floats, moments: Sequence[int]) -> dict[int, list[tuple[str, int]]]:
    """By index of a moment, the largest holders then and their instances, in decreasing order: one more than is ever
    named.
    """
    by_name = sorted(members, key=lambda each: each.name)
    found = {}
    for begin in range(0, len(moments), _AT_ONCE):
        some = list(moments[begin : begin + _AT_ONCE])
        counts = np.array([each.held(at_s[some]) for each in by_name])
        # Ties go to the first name: with the name's rank included, no two keys are equal.
        order = counts * len(by_name) - np.arange(len(by_name))[:, None]
        first = np.argpartition(-order, min(NAMED + 1, len(by_name) - 1), axis=0)[: NAMED + 2]
        for column, moment in enumerate(some):
            largest = sorted(first[:, column].tolist(), key=lambda at: -int(order[at, column]))
            found[moment] = [(by_name[at].name, int(counts[at, column])) for at in largest]
    return found


def excuse(wish: Holding, grants: Grants, short: Sequence[Shortage]) -> Excuse | None:
    """Why a topology does not get the largest plan that it wished for; None if it does."""
    own = [each for each in short if each.topology == wish.name]
    if not own:
        return None
    plan = max((step.plan for step in wish.schedule.steps), key=lambda each: each.instances)
    granted, worst = grants.at_most[wish.name], max(own, key=lambda each: each.instances)
    reason = f"at most {count_of(granted, 'instance')} of {worst.quota.name} are granted: {'; '.join(map(str, own))}"
    enough = worst.quota.instances + worst.instances
    remedy = f"raise {worst.quota.name} from {worst.quota.instances} to {count_of(enough, 'instance')}"
    return Excuse(plan, QUOTA, "", plan.instances, granted, reason, remedy)


def _spans(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """[first, last) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _said(at: datetime) -> str:
    return f"{at:%a %H:%M}"
