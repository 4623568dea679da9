"""Operator profiles from samples, with the evidence for each parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modeling.arrays import Floats
from modeling.calibration.call_time import full_while_idle, without_call_waits
from modeling.calibration.cpu_apart import CpuApart, cpu_apart, wanting
from modeling.calibration.key_skew import KeySkew, key_skew, uneven_parts
from modeling.calibration.measured import Measured
from modeling.calibration.offered_load import OfferedLoad, lacking_note, offered_load
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.output_ratios import OutputRatios, output_ratios
from modeling.calibration.parameters import parameters
from modeling.calibration.resources import OperatorResources, operator_resources
from modeling.calibration.service_spread import ServiceSpread, service_spread
from modeling.calibration.service_time import MIN_TUPLES, ServiceTimes, service_times, timed
from modeling.calibration.sifting import WARM_S, Marked, Sifted, sifted, warms_up
from modeling.calibration.waking import Waking, waking
from modeling.errors import ModelError
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import Feature, OperatorProfile, Profiles
from modeling.inputs.topology import Topology

_WITH_ERROR = ("cpu_s", "idle_cores", "container_idle_cores")
"""Fields of a profile whose standard error is another field."""


@dataclass(frozen=True)
class CalibratedOperator:
    """One operator. used: number of samples behind the profile, 0 if it is the earlier one. dropped: samples not used.
    censored: used samples whose throughput is a lower bound. notes: what could not be determined, and why.
    """

    profile: OperatorProfile
    used: int
    dropped: tuple[Marked, ...] = ()
    censored: tuple[Marked, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibrated:
    """Operators by name, and the load offered to each source while the samples were taken."""

    operators: Mapping[str, CalibratedOperator]
    offered: Mapping[str, OfferedLoad]

    @property
    def profiles(self) -> dict[str, OperatorProfile]:
        return {name: operator.profile for name, operator in self.operators.items()}


def calibrated_profiles(
    topology: Topology, samples: Sequence[OperatorSample], declared: Profiles
) -> dict[str, OperatorProfile]:
    """Only the profiles of `calibrated`."""
    return calibrated(topology, samples, declared).profiles


def calibrated(
    topology: Topology, samples: Sequence[OperatorSample], declared: Profiles, *, warm_s: float = WARM_S
) -> Calibrated:
    """Profiles measured as far as samples allow, completed from `declared` (or an earlier calibration).

    Every parameter is estimated over all instances and spans, each sample being one draw; intervals are Student's t
    with 95 %. Service time is busy seconds over tuples, without waiting for cores where containers report their CPU
    (cpu_apart): backpressured time is not busy, so samples under backpressure keep it correct, and their throughput is
    never taken for demand. Where an engine counts the arrivals of a source (Flink's connectors do), its selectivity is
    measured; elsewhere its arrivals are the output over the declared selectivity. An operator that worked on fewer than
    MIN_TUPLES keeps its declared profile. The order of samples does not matter. Raises ModelError for a sample of an
    unknown operator or stream.
    """
    _check(topology, samples)
    apart = cpu_apart(samples, topology.sources, warm_s)
    warm = [sample for sample in wanting(samples, apart) if not warms_up(sample, warm_s)]
    calling = full_while_idle(topology, warm, declared)
    by_operator: dict[str, list[tuple[OperatorSample, OperatorSample]]] = {name: [] for name in topology.order}
    for pair in zip(without_call_waits(apart.samples, calling, declared), samples, strict=True):
        by_operator[pair[0].operator].append(pair)
    sets = {name: sifted((one for one, _ in of), warm_s, (raw for _, raw in of)) for name, of in by_operator.items()}
    tuples = {
        name: np.array([_tuples(topology, sample, declared[name]) for sample in kept.used])
        for name, kept in sets.items()
    }
    offered = {
        source: offered_load(sets[source].counted, tuples[source].tolist(), sets[source].instances)
        for source in topology.sources
        if sets[source].used
    }
    woken = waking(topology, sets, tuples)
    waking_in = woken.operators if woken else frozenset()
    operators = {
        name: _calibrated(
            topology,
            sets[name],
            tuples[name],
            declared[name],
            woken if name in waking_in else None,
            apart if name in apart.parts else None,
        )
        for name in topology.order
    }
    uneven = uneven_parts(topology, {name: kept.counted for name, kept in sets.items()})
    for name, operator in operators.items():
        seen = {*operator.profile.features, *apart.features(name), *([Feature.UNEVEN_PARTS] if name in uneven else [])}
        profile = replace(operator.profile, features=tuple(sorted(seen)))
        noted = (*operator.notes, *apart.notes(name), *([uneven[name]] if name in uneven else []))
        operators[name] = replace(operator, profile=profile, notes=noted)
    for name, full in calling.items():
        profile, note = full.calibrated(operators[name].profile)
        operators[name] = replace(operators[name], profile=profile, notes=(*operators[name].notes, note))
    for source in topology.sources:
        if note := lacking_note(sets[source].counted, sets[source].instances):
            operators[source] = replace(operators[source], notes=(*operators[source].notes, note))
    return Calibrated(operators, offered)


def _check(topology: Topology, samples: Sequence[OperatorSample]) -> None:
    known = {operator.name for operator in topology.operators}
    streams = {stream.name for stream in topology.streams}
    for sample in samples:
        if sample.operator not in known:
            raise ModelError(
                f"sample of the unknown operator {sample.operator!r}; known are {', '.join(sorted(known))}"
            )
        if unknown := set(sample.records_out) - streams:
            raise ModelError(
                f"sample of operator {sample.operator!r} names the unknown stream {min(unknown)}; "
                f"known are {', '.join(sorted(streams))}"
            )
        entering = {stream.name for stream in topology.inputs(sample.operator)}
        if unknown := (set(sample.records_in_by) | set(sample.busy_s_by)) - entering:
            raise ModelError(
                f"sample of operator {sample.operator!r} names {min(unknown)}, which does not enter it; those that do "
                f"are {', '.join(sorted(entering)) or 'none'}"
            )


def _tuples(topology: Topology, sample: OperatorSample, declared: OperatorProfile) -> float:
    """Tuples that the operator worked on. A source works on each arrival once, however many tuples it emits."""
    if sample.operator not in topology.sources:
        return sample.records_in
    if sample.arrivals is not None:
        return sample.arrivals
    per_arrival = sum(declared.selectivity.get(stream, 1.0) for stream in sample.records_out)
    return sum(sample.records_out.values()) / per_arrival if per_arrival > 0 else sample.records_in


def _calibrated(
    topology: Topology,
    kept: Sifted,
    tuples: Floats,
    declared: OperatorProfile,
    woken: Waking | None,
    apart: CpuApart | None,
) -> CalibratedOperator:
    if tuples.sum() < MIN_TUPLES:
        why = (
            f"{tuples.sum():.0f} tuples in all its samples, at least {MIN_TUPLES} are needed"
            if kept.used
            else "no sample of it can be used"
        )
        return CalibratedOperator(declared, 0, kept.dropped, kept.censored, (f"not measured: {why}",))
    name = declared.operator
    inputs = [stream.name for stream in topology.inputs(name)]
    counted = name not in topology.sources or all(sample.arrivals is not None for sample in kept.used)
    outputs = [stream.name for stream in topology.outputs(name)] if counted else []
    held_back = sum(sample.hides_busy_time for sample in kept.used)
    telling = timed(kept.used, tuples, inputs)
    counts, at_work = tuples[telling], [kept.used[at] for at in telling]
    if woken is not None:
        at_work = [woken.without(*each) for each in zip(at_work, counts, strict=True)]
    # Heron reports no busy time of spouts, which does not mean a service time of 0.
    has_times = any(sample.busy_s > 0 for sample in at_work)
    times = service_times(at_work, counts, declared, inputs) if has_times else None
    known, spread = declared, None
    if times is not None:
        if woken is not None:
            service = times.service.with_error(woken.service_error_s(at_work, counts))
            times = replace(times, service=service, notes=(*times.notes, woken.note))
        known = _with_times(declared, times)
        if (spread := service_spread(at_work, counts, times.to_anchor, known, inputs)) is not None:
            known = _with_spread(known, spread)
    skew = key_skew(topology, kept.used, declared)
    ratios = output_ratios(kept.used, tuples, declared, inputs, outputs)
    needs = operator_resources(kept.used, tuples, declared, kept.instances, apart)
    used: dict[str, Any] = {name: one.value for name, one in needs.found.items()}
    used |= {f"{name}_error": needs.found[name].error for name in _WITH_ERROR if name in needs.found}
    profile = replace(
        known,
        **used,
        selectivity={**declared.selectivity, **{stream: ratio.value for stream, ratio in ratios.pooled.items()}},
        selectivity_error={**declared.selectivity_error, **{s: ratio.error for s, ratio in ratios.pooled.items()}},
        input_selectivity=_by_input(declared, ratios, inputs),
        stream_keys=_keys(declared, skew),
        samples=len(kept.used),
        features=_features(kept, declared, [ratios.rate_dependent, None if times is None else times.rate_dependent]),
    )
    # Discard earlier knowledge of parameters that were measured now or no longer exist.
    before, now = parameters(declared), parameters(profile)
    stands = {
        key: ends
        for key, ends in declared.intervals.items()
        if key in now and key in before and now[key].value == before[key].value
    }
    profile = replace(profile, intervals={**stands, **_intervals(times, spread, ratios, needs)})
    notes = [*_of_busy_time(times, held_back, len(kept.used)), *ratios.notes, *needs.notes, *skew.notes]
    if spread is not None and spread.note:
        notes.append(spread.note)
    return CalibratedOperator(profile, len(kept.used), kept.dropped, kept.censored, tuple(notes))


def _features(kept: Sifted, declared: OperatorProfile, rate_dependent: Sequence[bool | None]) -> tuple[Feature, ...]:
    """What its samples show, and of rates what was known where they show one only. rate_dependent: of times and ratios,
    None where unknown.
    """
    seen = {each for sample in kept.used for each in sample.features}
    known = [each for each in rate_dependent if each is not None]
    if any(known) if known else Feature.RATE_DEPENDENT in declared.features:
        seen.add(Feature.RATE_DEPENDENT)
    return tuple(sorted(seen))


def _of_busy_time(times: ServiceTimes | None, held_back: int, samples: int) -> tuple[str, ...]:
    """held_back: samples that hide their busy time."""
    if times is None and held_back:
        return (
            "samples have no busy time, as it was backpressured: the service time stays as known before; calibrate "
            "at a load that its readers carry",
        )
    if times is None:
        return ("samples have no busy time: the service time stays as known before",)
    if held_back:
        return (
            *times.notes,
            f"service times are of the others: {held_back} of {samples} samples show backpressure alone",
        )
    return times.notes


def _with_times(declared: OperatorProfile, times: ServiceTimes) -> OperatorProfile:
    by_stream = {} if times.alike else declared.stream_service_s
    return replace(
        declared,
        service_s=times.service.value,
        service_s_error=times.service.error,
        stream_service_s={**by_stream, **{stream: ratio.value for stream, ratio in times.by_stream.items()}},
        efficiency=times.efficiency,
    )


def _with_spread(known: OperatorProfile, spread: ServiceSpread) -> OperatorProfile:
    interval = (spread.low, spread.high) if np.isfinite(spread.high) else known.service_cv2_interval
    return replace(known, service_cv2=spread.cv2, service_cv2_interval=interval)


def _keys(declared: OperatorProfile, skew: KeySkew) -> dict[str, KeyHistogram]:
    """Keys of streams: those that explain measured shares, and all others as known before."""
    kept = {stream: keys for stream, keys in declared.stream_keys.items() if stream not in skew.keys}
    return kept | {stream: keys for stream, keys in skew.keys.items() if keys is not None}


def _by_input(declared: OperatorProfile, ratios: OutputRatios, inputs: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """Ratios of all inputs of each output: for a silent input the earlier one, else the overall ratio."""
    found = dict(declared.input_selectivity)
    for stream, of_inputs in ratios.by_input.items():
        pooled = ratios.pooled[stream].value
        if not of_inputs:
            # Seen at different mixes, and equal: known to be so.
            found[stream] = dict.fromkeys(inputs, pooled)
            continue
        before = declared.input_selectivity.get(stream, {})
        found[stream] = {
            name: of_inputs[name].value if name in of_inputs else before.get(name, pooled) for name in inputs
        }
    return found


def _intervals(
    times: ServiceTimes | None, spread: ServiceSpread | None, ratios: OutputRatios, needs: OperatorResources
) -> dict[str, tuple[float, float]]:
    estimates: dict[str, Measured] = {
        **{f"selectivity[{stream}]": ratio for stream, ratio in ratios.pooled.items()},
        **{
            f"input_selectivity[{stream}][{name}]": ratio
            for stream, of_inputs in ratios.by_input.items()
            for name, ratio in of_inputs.items()
        },
        **needs.found,
    }
    if times is not None:
        estimates |= {"service_s": times.service, **times.scale}
        estimates |= {f"stream_service_s[{stream}]": ratio for stream, ratio in times.by_stream.items()}
    found = {name: (one.low, one.high) for name, one in estimates.items()}
    if spread is not None:
        found["service_cv2"] = (spread.low, spread.high)
    return {name: ends for name, ends in found.items() if np.isfinite(ends[1])}
