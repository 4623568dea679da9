"""Busy seconds of an instance per tuple: overall, by stream, and at one parallelism."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.calibration.by_input import ByInput, counts_by, in_proportion, ratios_by_input
from modeling.calibration.cpu_apart import OTHER_WAITING, in_full_container
from modeling.calibration.measured import LONE_ERROR, Measured, measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.scale_fit import anchor_of, fitted_scale
from modeling.calibration.sittings import ratio_over_spans, with_sittings
from modeling.calibration.spans import RateEffect, rate_effect, span_numbers
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import LINEAR, ScaleEfficiency
from modeling.wording import count_of

MIN_TUPLES = 100
"""With fewer tuples the error of the mean exceeds 10 % for exponential service times."""

MACHINES = 3 * 2**0.5 * LONE_ERROR
"""Relative difference between two spans that their machines do not explain: three standard errors."""

IDLE = 0.05
"""Share of the time below which nobody minds how long a tuple takes."""

_PAUSES = ", and declare pauses: tuples wait for that work"


@dataclass(frozen=True)
class ServiceTimes:
    """service, by_stream: at efficiency.measured_at instances. scale: the efficiency parameter fitted now, by name.
    alike: whether separable streams take equally long. to_anchor: factor that converts each sample's busy seconds to
    that parallelism. rate_dependent: whether a tuple takes longer or shorter at other rates; None if all are alike.
    """

    service: Measured
    by_stream: Mapping[str, Measured]
    efficiency: ScaleEfficiency
    scale: Mapping[str, Measured]
    alike: bool
    to_anchor: Floats
    notes: tuple[str, ...]
    rate_dependent: bool | None


def timed(samples: Sequence[OperatorSample], tuples: Floats, inputs: Sequence[str]) -> list[int]:
    """Indices of the samples whose busy times tell what a tuple takes. A full container hides what its instances wait
    for: where containers with cores left show that they do, these alone tell how long. Not of sources, which poll then,
    nor within a part of a core, whose slices are waited for too.
    """
    counted = [at for at, sample in enumerate(samples) if not sample.hides_busy_time]
    rest = [
        at
        for at in counted
        if inputs and (samples[at].container_cores or 0.0) >= 1 and not in_full_container(samples[at])
    ]
    busy_s, cpu_s = sum(samples[at].busy_s for at in rest), sum(samples[at].cpu_s or 0.0 for at in rest)
    waits = tuples[rest].sum() >= MIN_TUPLES and cpu_s <= (1 - OTHER_WAITING) * busy_s
    return rest if waits else counted


def service_times(
    samples: Sequence[OperatorSample], tuples: Floats, known: OperatorProfile, inputs: Sequence[str]
) -> ServiceTimes:
    """Service times of one operator. tuples: worked on per sample. inputs: names of its input streams."""
    busy_s = np.array([sample.busy_s for sample in samples])
    notes: list[str] = []
    apart = _by_input(samples, busy_s, tuples, inputs, known)
    expected_s = _expected_s(samples, tuples, float(busy_s.sum() / tuples.sum()), apart)
    efficiency, scale, to_anchor, anchor_error = known.efficiency, {}, np.ones(len(samples)), 0.0
    counts = [sample.parallelism for sample in samples if sample.parallelism is not None]
    if len(counts) == len(samples):
        parallelism = np.array(counts)
        fit = fitted_scale(busy_s, expected_s, tuples, parallelism, span_numbers(samples), lambda p: _shape(known, p))
        if fit is not None:
            efficiency, scale, anchor_error = fit.efficiency, {fit.parameter: fit.found}, fit.anchor_error
            notes.append(
                f"service time depends on the number of instances: {fit.parameter} {fit.found.value:.3g} fits "
                f"better than assumed before (p = {fit.p:.1g})"
            )
        elif known.efficiency != LINEAR:
            efficiency = replace(known.efficiency, measured_at=anchor_of(tuples, parallelism))
        if efficiency != LINEAR:
            at_p = replace(known, efficiency=efficiency, service_s=_at_anchor(busy_s, tuples, parallelism, efficiency))
            to_anchor = np.array([1 / _shape(at_p, int(p)) for p in parallelism])
            apart = _by_input(samples, busy_s * to_anchor, tuples, inputs, known)
    elif known.efficiency != LINEAR:
        notes.append(
            "samples do not report the parallelism: the service time is taken as that of "
            f"{count_of(known.efficiency.measured_at, 'instance')}"
        )
    service = with_sittings(_pooled(busy_s * to_anchor, tuples, known, samples), samples)
    if anchor_error:
        error = float(np.hypot(service.error, service.value * anchor_error))
        service = measured(service.value, error, max(1.0, len(samples) - 2.0))
    usual_s = _expected_s(samples, tuples, service.value, apart)
    effect = _effect_of_rate(samples, busy_s * to_anchor, tuples, usual_s, known)
    if effect is not None and effect.significant:
        notes.append(_at_other_rates(effect, inputs))
    if apart.why:
        notes.append(f"service times of its inputs cannot be separated: {apart.why}")
    by_stream = {stream: with_sittings(ratio, samples) for stream, ratio in apart.ratio.items()}
    dependent = None if effect is None else effect.significant
    return ServiceTimes(service, by_stream, efficiency, scale, apart.alike, to_anchor, tuple(notes), dependent)


def _by_input(
    samples: Sequence[OperatorSample], busy_s: Floats, tuples: Floats, inputs: Sequence[str], known: OperatorProfile
) -> ByInput:
    if len(inputs) < 2:
        return ByInput({})
    reporting = [at for at, sample in enumerate(samples) if sample.records_in_by and sample.busy_s_by]
    if reporting:
        ratio = {}
        share = np.array([busy_s[at] / samples[at].busy_s if samples[at].busy_s > 0 else 1.0 for at in reporting])
        for name in inputs:
            counts = np.array([samples[at].records_in_by.get(name, 0.0) for at in reporting])
            spent_s = share * np.array([samples[at].busy_s_by.get(name, 0.0) for at in reporting])
            if counts.sum() >= MIN_TUPLES:
                ratio[name] = ratio_over_spans(
                    spent_s, counts, [samples[at] for at in reporting], float(1 / np.sqrt(counts.sum()))
                )
        return ByInput(ratio)
    counted = [at for at, sample in enumerate(samples) if sample.records_in_by]
    if not counted:
        scaled = in_proportion(known.stream_service_s, inputs, known.service_s, _pooled(busy_s, tuples, known, samples))
        return ByInput(scaled, why="samples do not report input by stream")
    span = span_numbers([samples[at] for at in counted])
    return ratios_by_input(counts_by(samples, counted, inputs), busy_s[counted], known.stream_service_s, span)


def _effect_of_rate(
    samples: Sequence[OperatorSample], busy_s: Floats, tuples: Floats, usual_s: Floats, known: OperatorProfile
) -> RateEffect | None:
    """None if rates are alike or the operator is idle anyway. usual_s: busy seconds if only the mix of inputs mattered.

    Of what a full container left of busy time, all waiting for cores is taken out, elsewhere what is estimated: samples
    in full ones are not compared.
    """
    at = [number for number, sample in enumerate(samples) if not in_full_container(sample)]
    there = [samples[number] for number in at]
    if max((sample.busy_s / sample.span_s for sample in there), default=0.0) < IDLE:
        return None
    counts = tuples[at] / max(1.0, known.service_cv2)
    return rate_effect(there, tuples[at], busy_s[at], usual_s[at], counts, MACHINES)


def _at_other_rates(effect: RateEffect, inputs: Sequence[str]) -> str:
    """The note on a service time that changes with the rate. inputs: none of a source."""
    verb, besides = "falls", ""
    if effect.rises:
        verb, cause = "rises", "a join over time, of state that grows with the rate, or of waiting for a core"
    elif inputs:
        cause, besides = "timers or windows that work by the clock", _PAUSES
    else:
        cause = "polls that find nothing"
    return (
        f"a tuple's service time {verb} from {1000 * effect.slow:.3g} ms at {effect.slow_per_s:.4g} tuples a second to "
        f"{1000 * effect.fast:.3g} ms at {effect.fast_per_s:.4g}, as of {cause}; the mean of the spans is taken for "
        f"all rates: calibrate at the rate that plans are for{besides}"
    )


def _pooled(busy_s: Floats, tuples: Floats, known: OperatorProfile, samples: Sequence[OperatorSample]) -> Measured:
    return ratio_over_spans(busy_s, tuples, samples, float(np.sqrt(known.service_cv2 / tuples.sum())))


def _expected_s(samples: Sequence[OperatorSample], tuples: Floats, service_s: float, apart: ByInput) -> Floats:
    """Busy seconds that each sample would have if only the mix of its inputs mattered."""
    if not apart.ratio:
        return service_s * tuples
    of_mix = [
        sum(ratio.value * sample.records_in_by.get(name, 0.0) for name, ratio in apart.ratio.items())
        + service_s * sum(n for name, n in sample.records_in_by.items() if name not in apart.ratio)
        for sample in samples
    ]
    return np.where(np.array(of_mix) > 0, np.array(of_mix), service_s * tuples)


def _shape(profile: OperatorProfile, parallelism: int) -> float:
    """Service time at a parallelism, relative to the measured one."""
    if profile.service_s <= 0:
        return 1.0
    return max(1e-6, profile.service_s_of("", parallelism) / profile.service_s)


def _at_anchor(busy_s: Floats, tuples: Floats, parallelism: Ints, efficiency: ScaleEfficiency) -> float:
    """The service time at the anchor that explains all busy seconds: proportional to them except for coordination."""
    grown = (parallelism / efficiency.measured_at) ** (1 - efficiency.exponent)
    added_s = efficiency.coordination_s * (parallelism - efficiency.measured_at)
    return max(1e-12, float((busy_s.sum() - (added_s * tuples).sum()) / (grown * tuples).sum()))
