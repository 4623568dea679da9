"""Instances that are idle although tuples wait for them: calls with bounded concurrency, and how long a call takes.

Busy time does not show calls that an instance makes while it serves other tuples (asynchronous I/O, a connection pool).
Once all calls of an instance are in use its senders wait, although it is idle: then it gets concurrency / call time
tuples a second through. An engine may count an instance as busy while it waits for a free call, so of an operator that
declares calls, only computing counts as work where containers report their CPU.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.spans import spans
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Topology

WAITING = 0.3
"""Share of the time that senders wait for room, from which something downstream is full."""
IDLE = 0.5
"""Busy share of the busiest instance below which its own work does not fill the operator."""
OPEN = 0.1
"""Share of the time below which an operator does not itself wait for room downstream."""
ERROR = 0.05
"""Relative error of a call's time: full spans still have moments in which calls are free."""


@dataclass(frozen=True)
class FullWhileIdle:
    """An operator that its senders wait for. per_s: tuples an instance gets through. busy: share of the time of its
    busiest instance, without waiting for a free call. waiting: share of the time that its senders wait. full_at: starts
    of all spans in which it is full.
    """

    per_s: float
    busy: float
    waiting: float
    full_at: frozenset[float | None] = frozenset()

    def calibrated(self, profile: OperatorProfile) -> tuple[OperatorProfile, str]:
        """The profile with the call's time if it declares calls, and a note."""
        seen = f"its senders waited for it {self.waiting:.0%} of the time, and its busiest was busy {self.busy:.0%}"
        if profile.calls is None:
            return profile, (
                f"{seen}: something that busy time does not show bounds it to {self.per_s:.4g} tuples a second per "
                "instance, such as calls with bounded concurrency (asynchronous I/O, a connection pool), and estimates "
                "leave it out; declare calls.concurrency and calls.call_s of the operator"
            )
        call_s = profile.calls.concurrency / self.per_s
        around = ((1 - 2 * ERROR) * call_s, (1 + 2 * ERROR) * call_s)
        made = replace(
            profile,
            calls=replace(profile.calls, call_s=call_s),
            intervals={**profile.intervals, "calls.call_s": around},
        )
        return made, f"{seen}: {profile.calls.concurrency} calls at once take {call_s:.4g} s each"


def full_while_idle(
    topology: Topology, samples: Sequence[OperatorSample], declared: Profiles
) -> dict[str, FullWhileIdle]:
    """By operator, of the span in which its instances got most through. Sources have no senders; of several readers of
    one sender, one is named only if the others are not full.
    """
    found: dict[str, FullWhileIdle] = {}
    full_at: defaultdict[str, set[float | None]] = defaultdict(set)
    for span in spans(samples):
        of: defaultdict[str, list[OperatorSample]] = defaultdict(list)
        for at in span:
            of[samples[at].operator].append(samples[at])
        for name in topology.order:
            senders = [stream.upstream for stream in topology.inputs(name)]
            if not senders or not of[name]:
                continue
            waiting = max((_share(of[sender], "backpressured_s") for sender in senders), default=0.0)
            siblings = {stream.downstream for sender in senders for stream in topology.outputs(sender)} - {name}
            elsewhere = any(
                _most(of[other], "busy_s") >= IDLE or _most(of[other], "backpressured_s") >= OPEN for other in siblings
            )
            busy, per_s = _most(of[name], "busy_s"), _per_s(of[name])
            if declared[name].calls is not None:
                busy = max(_worked_s(sample) / sample.span_s for sample in of[name])
            if waiting < WAITING or elsewhere or busy >= IDLE or _most(of[name], "backpressured_s") >= OPEN:
                continue
            full_at[name].update(sample.began_s for sample in of[name])
            if per_s > 0 and (name not in found or per_s > found[name].per_s):
                found[name] = FullWhileIdle(per_s, busy, waiting)
    return {name: replace(full, full_at=frozenset(full_at[name])) for name, full in found.items()}


def without_call_waits(
    samples: Sequence[OperatorSample], calling: Mapping[str, FullWhileIdle], declared: Profiles
) -> list[OperatorSample]:
    """Samples whose busy time no longer holds waiting for a free call."""
    calls = {name: full.full_at for name, full in calling.items() if declared[name].calls is not None}
    return [
        replace(sample, busy_s=_worked_s(sample)) if sample.began_s in calls.get(sample.operator, ()) else sample
        for sample in samples
    ]


def _worked_s(sample: OperatorSample) -> float:
    return sample.busy_s if sample.cpu_s is None else min(sample.busy_s, sample.cpu_s)


def _share(samples: Sequence[OperatorSample], field: str) -> float:
    span_s = sum(sample.span_s for sample in samples)
    return sum(getattr(sample, field) for sample in samples) / span_s if span_s > 0 else 0.0


def _most(samples: Sequence[OperatorSample], field: str) -> float:
    return max((getattr(sample, field) / sample.span_s for sample in samples), default=0.0)


def _per_s(samples: Sequence[OperatorSample]) -> float:
    """Tuples a second of the instance that gets most: with even input all are as full."""
    return max(sample.records_in / sample.span_s for sample in samples)
