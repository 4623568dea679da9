"""CPU, memory, state and garbage collection of one operator's instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from modeling.arrays import Floats, Ints
from modeling.calibration.cpu_apart import CpuApart
from modeling.calibration.line import fitted_line
from modeling.calibration.measured import LEVEL, Measured, measured, measured_ratio, unbounded
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sittings import ratio_over_spans, widened_by_pace, with_sittings
from modeling.calibration.spans import span_numbers, spans
from modeling.inputs.operator_profile import OperatorProfile

MIN_SAMPLES = 4
MIN_SPREAD = 0.05
"""Coefficient of variation of the rates below which the demand at higher rates cannot be extrapolated."""
AKAIKE = 2**0.5
"""A term larger than this many standard errors lowers Akaike's criterion. A stricter limit would too often leave an
idle instance's use in the ratio.
"""
MIB_PER_GIB = 1024.0


@dataclass(frozen=True)
class OperatorResources:
    """found: measured values by the profile's field names. cpu_s: per tuple. idle_cores: of an instance.
    container_idle_cores: beside all instances; container_waking_cores: beside that while they wait. memory_mib: of an
    idle instance, without state that is kept in memory. memory_mib_s: additional, per tuple per second. state_gib: of
    all instances together. gc_share: of the time. gc_pause_s: of one collection.
    """

    found: Mapping[str, Measured]
    notes: tuple[str, ...] = ()


def operator_resources(
    samples: Sequence[OperatorSample],
    tuples: Floats,
    known: OperatorProfile,
    instances: int,
    apart: CpuApart | None = None,
) -> OperatorResources:
    """Resources from the used samples of one operator. tuples: worked on per sample. instances: number seen.
    apart: where a container's use without work is known apart from the samples' CPU.
    """
    notes: list[str] = []
    memory_mib, memory_mib_s = _memory(samples, tuples, known)
    beside = {} if apart is None else {"idle": apart.idle_cores, "waking": apart.waking_cores.get(known.operator)}
    in_container = beside.get("idle") is not None
    cpu_s, idle_cores = _cpu(samples, tuples, known, in_container=in_container)
    results = {
        "cpu_s": cpu_s,
        "idle_cores": idle_cores,
        **{
            f"container_{use}_cores": with_sittings(cores, samples)
            for use, cores in beside.items()
            if cores is not None
        },
        "memory_mib": memory_mib,
        "memory_mib_s": memory_mib_s,
        "state_gib": _state_gib(samples, instances, notes),
        "gc_share": _gc_share(samples),
        "gc_pause_s": _gc_pause_s(samples),
    }
    return OperatorResources({name: one for name, one in results.items() if one is not None}, tuple(notes))


def _cpu(
    samples: Sequence[OperatorSample], tuples: Floats, known: OperatorProfile, *, in_container: bool
) -> tuple[Measured | None, Measured | None]:
    """CPU seconds per tuple, and cores of an idle instance. in_container: whether idle use is kept apart already."""
    reporting = [at for at, sample in enumerate(samples) if sample.cpu_s is not None]
    if not reporting or tuples[reporting].sum() <= 0:
        return None, None
    cpu_s, counts = np.array([samples[at].cpu_s or 0.0 for at in reporting]), tuples[reporting]
    spans_s = np.array([samples[at].span_s for at in reporting])
    of = [samples[at] for at in reporting]
    line = None if in_container else _use(counts / spans_s, cpu_s / spans_s, span_numbers(of))
    if line is None:
        # Similar rates do not determine idle use, which then stays as known before.
        apart_s = np.where(in_container, 0.0, known.idle_cores * spans_s)
        ratio = ratio_over_spans(np.maximum(0.0, cpu_s - apart_s), counts, of, float(1 / np.sqrt(counts.sum())))
        return with_sittings(ratio, of), None
    if line.start.value > AKAIKE * line.start.error and line.slope.low > 0:
        return with_sittings(line.slope, of), with_sittings(line.start, of)
    # An idle instance may still use some CPU; then a tuple takes less, within the line's error.
    ratio = with_sittings(ratio_over_spans(cpu_s, counts, of, float(1 / np.sqrt(counts.sum()))), of)
    return _down_to(ratio, line.slope.low), measured(0.0, line.start.error, counts.size - 2)


def _memory(
    samples: Sequence[OperatorSample], tuples: Floats, known: OperatorProfile
) -> tuple[Measured | None, Measured | None]:
    reporting = [at for at, sample in enumerate(samples) if sample.memory_mib is not None]
    if not reporting:
        return None, None
    used_mib = np.array([samples[at].memory_mib or 0.0 for at in reporting])
    if known.state_in_memory:
        # Subtract the state, which the model adds separately.
        used_mib = np.maximum(
            0.0, used_mib - MIB_PER_GIB * np.array([samples[at].state_gib or 0.0 for at in reporting])
        )
    rates_per_s = tuples[reporting] / np.array([samples[at].span_s for at in reporting])
    line = _use(rates_per_s, used_mib, np.arange(used_mib.size))
    if line is not None and line.slope.low > 0 and line.start.value >= 0:
        return line.start, line.slope
    # Similar rates do not determine the slope, which then stays as known before.
    used_mib = np.maximum(0.0, used_mib - known.memory_mib_s * rates_per_s)
    n = used_mib.size
    if n < 2 or (line is None and "memory_mib_s" not in known.intervals):
        # The share without load is unknown.
        return unbounded(float(used_mib.mean())), None
    idle = measured(float(used_mib.mean()), float(used_mib.std(ddof=1) / np.sqrt(n)), n - 1)
    if line is None:
        return idle, None
    idle = _down_to(idle, line.start.low)
    return (idle if known.memory_mib_s == 0 else replace(idle, high=max(idle.high, line.start.high))), None


def _down_to(one: Measured, low: float) -> Measured:
    """The number with its interval extended down to `low`: part of it may belong to another, non-negative term."""
    low = max(0.0, min(one.low, low))
    reach = (one.high - low) / 2 / float(scipy.special.ndtri((1 + LEVEL) / 2))
    return replace(one, low=low, error=max(one.error, reach))


@dataclass(frozen=True)
class _Use:
    """start: without load. slope: additional, per tuple per second."""

    start: Measured
    slope: Measured


def _use(rates_per_s: Floats, used: Floats, span: Ints) -> _Use | None:
    """None if samples are too few or rates too similar. span: those equal in it share the pace of a machine."""
    n = rates_per_s.size
    if n < MIN_SAMPLES or rates_per_s.std() <= MIN_SPREAD * rates_per_s.mean():
        return None
    line = fitted_line(rates_per_s, used)
    # A perfect line has residuals of rounding only.
    start = 0.0 if abs(line.start) < 1e-12 * float(np.abs(used).max()) else line.start
    design, fitted = np.column_stack([np.ones(n), rates_per_s - line.mean_x]), line.at(rates_per_s)

    def widened(value: float, error: float, contrast: Floats) -> Measured:
        widening, freedom = widened_by_pace(design, used - fitted, fitted, span, contrast, n - 2)
        return measured(value, error * widening**0.5, freedom)

    return _Use(
        widened(start, line.start_error, np.array([[1.0, -line.mean_x]])),
        widened(line.slope, line.slope_error, np.array([[0.0, 1.0]])),
    )


def _state_gib(samples: Sequence[OperatorSample], instances: int, notes: list[str]) -> Measured | None:
    """State of all instances, each by its latest report, at the parallelism of the last span; for samples without a
    start, by its largest report. The error is the variation between spans.
    """
    reporting = [sample for sample in samples if sample.state_gib is not None]
    if not reporting:
        return None
    timed = all(sample.began_s is not None for sample in reporting)
    latest = max((reporting[at].parallelism or 0 for at in spans(reporting)[-1]), default=0)
    reporting = [sample for sample in reporting if not timed or (sample.parallelism or latest) == latest]
    every = len({sample.index for sample in reporting})
    last: dict[int, float] = {}
    totals = []
    for span in spans(reporting):
        for at in span:
            index, state_gib = reporting[at].index, reporting[at].state_gib or 0.0
            last[index] = state_gib if timed else max(state_gib, last.get(index, 0.0))
        if len(last) == every:
            totals.append(sum(last.values()))
    parallelism = max(latest or instances, every)
    if every < parallelism:
        notes.append(f"state is reported by {every} of {parallelism} instances: the others are assumed to hold as much")
        totals = [total * parallelism / every for total in totals]
    steps = np.diff(totals)
    if steps.size < 2:
        return unbounded(totals[-1])
    return measured(totals[-1], float(np.sqrt((steps**2).mean())), steps.size)


def _gc_share(samples: Sequence[OperatorSample]) -> Measured | None:
    reporting = [sample for sample in samples if sample.gc_s is not None]
    if not reporting:
        return None
    spent_s = np.array([sample.gc_s or 0.0 for sample in reporting])
    spans_s = np.array([sample.span_s for sample in reporting])
    if len(reporting) < 2:
        return unbounded(float(spent_s[0] / spans_s[0]))
    return measured_ratio(spent_s, spans_s, 0.0)


def _gc_pause_s(samples: Sequence[OperatorSample]) -> Measured | None:
    """Of one collection. The error is that of as many exponential lengths."""
    counting = [sample for sample in samples if sample.gc_s and sample.gc_pauses]
    if not counting:
        return None
    pauses = sum(sample.gc_pauses or 0.0 for sample in counting)
    mean_s = sum(sample.gc_s or 0.0 for sample in counting) / pauses
    return measured(mean_s, mean_s / pauses**0.5)
