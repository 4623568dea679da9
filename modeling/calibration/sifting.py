"""Selects the samples for calibration: drops warm-up, and censors samples that were held back.

A censored sample keeps its service time and selectivity, since backpressured time is not busy. Its throughput is a
lower bound of the offered load and never taken for demand.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from modeling.calibration.operator_sample import OperatorSample

WARM_S = 20.0
"""Seconds after a start during which code is compiled, caches fill and state is read: not steady state."""

HELD_BACK = 0.05
"""Backpressured share of a span above which throughput is not the offered load."""

SATURATED = 0.95
"""Busy share of a span from which throughput is the instance's capacity, not the offered load."""

FULLY_BUSY = 0.9
MAX_START_S = 600.0
"""Maximum duration of a restore: an older instance is busy with work."""


@dataclass(frozen=True)
class Marked:
    """A dropped or censored sample. began_s: None if the sample lacks it."""

    operator: str
    index: int
    began_s: float | None
    why: str


@dataclass(frozen=True)
class Sifted:
    """used: in an order independent of the input's; counted: the same, as the engine counted them. dropped, censored:
    with reasons; censored samples are among the used.
    """

    used: tuple[OperatorSample, ...]
    counted: tuple[OperatorSample, ...]
    dropped: tuple[Marked, ...]
    censored: tuple[Marked, ...]

    @property
    def instances(self) -> int:
        """Number of instances seen, even without usable samples."""
        return len({sample.index for sample in self.used} | {marked.index for marked in self.dropped})


def sifted(
    samples: Iterable[OperatorSample], warm_s: float = WARM_S, counted: Iterable[OperatorSample] | None = None
) -> Sifted:
    """Sift samples of one operator. warm_s: instances younger than this at the start of a span are warming up. counted:
    the same as the engine counted them, if their busy times are without waiting for cores: an instance that waits for
    one has work, and gets no more through.
    """
    used, dropped, censored = [], [], []
    worked: set[int] = set()
    samples = list(samples)
    pairs = zip(samples, samples if counted is None else counted, strict=True)
    for sample, engine in sorted(pairs, key=lambda pair: _place(pair[0])):
        why = _not_warm(engine, warm_s, worked_before=sample.began_s is not None and sample.index in worked)
        if sample.began_s is not None and tuples_seen(sample):
            worked.add(sample.index)
        if why:
            dropped.append(_marked(sample, why))
            continue
        used.append((sample, engine))
        if why := held_back(engine):
            censored.append(_marked(sample, why))
    return Sifted(
        tuple(sample for sample, _ in used), tuple(engine for _, engine in used), tuple(dropped), tuple(censored)
    )


def held_back(sample: OperatorSample) -> str:
    """Why the instance's throughput is only a lower bound of its offered load; empty if it is not."""
    waited, busy = sample.backpressured_s / sample.span_s, sample.busy_s / sample.span_s
    if waited > HELD_BACK:
        return f"backpressured for {waited:.0%} of its span"
    if busy >= SATURATED:
        return f"busy for {busy:.0%} of its span"
    return ""


def _not_warm(sample: OperatorSample, warm_s: float, *, worked_before: bool) -> str:
    if warms_up(sample, warm_s):
        return f"started {sample.age_s:.0f} s before, less than {warm_s:.0f} s"
    # Engines count an instance as busy while it restores state: busy without tuples. Later that may be work.
    if tuples_seen(sample) or sample.busy_s < FULLY_BUSY * sample.span_s:
        return ""
    if worked_before or (sample.age_s is not None and sample.age_s >= MAX_START_S):
        return ""
    return "busy for its whole span without a tuple, as instances are that have just started"


def warms_up(sample: OperatorSample, warm_s: float) -> bool:
    """Whether its instance had started less than warm_s before."""
    return sample.age_s is not None and sample.age_s < warm_s


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
