"""Which samples calibration uses: warm-up is dropped, and what was held back is censored.

A censored sample keeps its service time and selectivity, since time spent backpressured is not busy. What it took in is
a lower bound of what was offered, and never taken for the demand.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from modeling.calibration.operator_sample import OperatorSample

WARM_S = 20.0
"""Seconds after a start in which code is compiled, caches fill and state is read: they are not of the steady state."""

HELD_BACK = 0.05
"""Share of a span spent backpressured beyond which what came is not what was taken."""

SATURATED = 0.95
"""Share of a span spent busy from which on an instance took in what it could, not what was offered."""

FULLY_BUSY = 0.9
MAX_START_S = 600.0
"""Nothing restores for longer: an instance that old is busy with work."""


@dataclass(frozen=True)
class Marked:
    """A sample set aside, or censored. began_s: None where the sample does not tell."""

    operator: str
    index: int
    began_s: float | None
    why: str


@dataclass(frozen=True)
class Sifted:
    """Samples that are used, in an order that does not depend on the one they came in; those dropped, and those of the
    used whose throughput is censored, each with the reason.
    """

    used: tuple[OperatorSample, ...]
    dropped: tuple[Marked, ...]
    censored: tuple[Marked, ...]

    @property
    def instances(self) -> int:
        """How many were seen, of which no sample may be used."""
        return len({sample.index for sample in self.used} | {marked.index for marked in self.dropped})


def sifted(samples: Iterable[OperatorSample], warm_s: float = WARM_S) -> Sifted:
    """Samples of one operator. warm_s: instances that are younger when a span begins are warming up."""
    used, dropped, censored = [], [], []
    worked: set[int] = set()
    for sample in sorted(samples, key=_place):
        why = _not_warm(sample, warm_s, worked_before=sample.began_s is not None and sample.index in worked)
        if sample.began_s is not None and tuples_seen(sample):
            worked.add(sample.index)
        if why:
            dropped.append(_marked(sample, why))
            continue
        used.append(sample)
        if why := held_back(sample):
            censored.append(_marked(sample, why))
    return Sifted(tuple(used), tuple(dropped), tuple(censored))


def held_back(sample: OperatorSample) -> str:
    """Why what the instance took in is only a lower bound of what was offered to it; empty where it is not."""
    waited, busy = sample.backpressured_s / sample.span_s, sample.busy_s / sample.span_s
    if waited > HELD_BACK:
        return f"backpressured for {waited:.0%} of its span"
    if busy >= SATURATED:
        return f"busy for {busy:.0%} of its span"
    return ""


def _not_warm(sample: OperatorSample, warm_s: float, *, worked_before: bool) -> str:
    if sample.age_s is not None and sample.age_s < warm_s:
        return f"started {sample.age_s:.0f} s before, less than {warm_s:.0f} s"
    # Engines count an instance as busy while it restores its state: busy, and not a tuple. Later on that may be work.
    if tuples_seen(sample) or sample.busy_s < FULLY_BUSY * sample.span_s:
        return ""
    if worked_before or (sample.age_s is not None and sample.age_s >= MAX_START_S):
        return ""
    return "busy for its whole span without a tuple, as instances are that have just started"


def tuples_seen(sample: OperatorSample) -> float:
    return sample.records_in + sum(sample.records_out.values())


def _marked(sample: OperatorSample, why: str) -> Marked:
    return Marked(sample.operator, sample.index, sample.began_s, why)


def _place(sample: OperatorSample) -> tuple[object, ...]:
    numbers = (
        sample.age_s,
        sample.span_s,
        sample.busy_s,
        sample.backpressured_s,
        sample.records_in,
        sum(sorted(sample.records_out.values())),
        sample.parallelism,
        sample.service_second_moment_s2,
        sample.cpu_s,
        sample.memory_mib,
        sample.gc_s,
        sample.state_gib,
        sample.threads,
    )
    began = sample.began_s if sample.began_s is not None else 0.0
    return (began, sample.index, *(-1.0 if number is None else float(number) for number in numbers))
