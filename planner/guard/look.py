"""One look at a running job: what each instance did over a short span, and the backlog where known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Topology
from planner.codec import Codec, Json
from planner.errors import ClusterError, LedgerError


@dataclass(frozen=True)
class OperatorLook:
    """Per instance: busy share of the time, share in which it waited for room downstream, and tuples per second in.

    given_per_s: by stream, over all instances.
    """

    busy: tuple[float, ...]
    backpressured: tuple[float, ...]
    received_per_s: tuple[float, ...]
    given_per_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    """Arrivals and backlog outside, for the sources where known. backlog: tuples. lag_s: the longest wait.

    offered_per_s: if reported, so that it need not be computed from the backlog. unmeasured: by source, why something
    is unknown. at: time of the backlog, None for the end of the look.
    """

    offered_per_s: Mapping[str, float] = field(default_factory=dict)
    backlog: Mapping[str, float] = field(default_factory=dict)
    lag_s: float | None = None
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None


@dataclass(frozen=True)
class Look:
    """The span_s seconds before `at`. operators: all of the topology."""

    at: datetime
    span_s: float
    operators: Mapping[str, OperatorLook]
    waiting: Waiting = Waiting()

    @property
    def parallelism(self) -> dict[str, int]:
        return {name: len(of.busy) for name, of in self.operators.items()}

    @property
    def waited_at(self) -> datetime:
        """Time of the backlog."""
        return self.waiting.at or self.at


def look_of(topology: Topology, samples: Sequence[OperatorSample], at: datetime, waiting: Waiting) -> Look:
    """Raises ClusterError if the samples leave out an operator."""
    by_operator: dict[str, list[OperatorSample]] = {name: [] for name in topology.order}
    for sample in sorted(samples, key=lambda each: each.index):
        by_operator[sample.operator].append(sample)
    if silent := [name for name, of in by_operator.items() if not of]:
        raise ClusterError(
            f"the cluster reports no counters of operator {silent[0]!r} of topology {topology.name!r}, so the guard "
            "cannot judge it; use a source that reports its busy time"
        )
    span_s = max(sample.span_s for sample in samples)
    return Look(at, span_s, {name: _operator_look(of) for name, of in by_operator.items()}, waiting)


def _operator_look(samples: Sequence[OperatorSample]) -> OperatorLook:
    streams = samples[0].records_out
    return OperatorLook(
        tuple(min(1.0, each.busy_s / each.span_s) for each in samples),
        tuple(min(1.0, each.backpressured_s / each.span_s) for each in samples),
        tuple(each.records_in / each.span_s for each in samples),
        {name: sum(each.records_out.get(name, 0.0) / each.span_s for each in samples) for name in streams},
    )


_LOOK = Codec(Look, 1, LedgerError, "a stored look", "delete it; the guard takes a new one")


def look_to_json(look: Look) -> Json:
    return _LOOK.to_json(look)


def look_from_json(body: Mapping[str, Any]) -> Look:
    """Raises LedgerError for a body that is not a stored look."""
    return _LOOK.from_json(body)
