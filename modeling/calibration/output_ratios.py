"""Tuples out per tuple in: overall, and by input stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.calibration.by_input import counts_by, in_proportion, ratios_by_input
from modeling.calibration.measured import Measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sittings import ratio_over_spans
from modeling.calibration.spans import RateEffect, rate_effect
from modeling.inputs.operator_profile import OperatorProfile


@dataclass(frozen=True)
class OutputRatios:
    """pooled: per output stream. by_input: per output stream and input stream; empty for an output whose inputs show no
    difference, absent for one whose inputs cannot be separated. rate_dependent: whether any changes with the
    rate; None if all rates are alike.
    """

    pooled: Mapping[str, Measured]
    by_input: Mapping[str, Mapping[str, Measured]]
    notes: tuple[str, ...]
    rate_dependent: bool | None


def output_ratios(
    samples: Sequence[OperatorSample],
    tuples: Floats,
    known: OperatorProfile,
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> OutputRatios:
    """Ratios of one operator that is not a source, each stream from the samples that report it: unreported does not
    mean zero. Windowed output streams have only a pooled ratio.
    """
    pooled: dict[str, Measured] = {}
    by_input: dict[str, Mapping[str, Measured]] = {}
    notes, effects = [], list[tuple[str, RateEffect | None]]()
    for stream in outputs:
        reporting = [at for at, sample in enumerate(samples) if stream in sample.records_out]
        if tuples[reporting].sum() <= 0:
            continue
        out = np.array([samples[at].records_out[stream] for at in reporting])
        counted = [number for number, at in enumerate(reporting) if samples[at].records_in_by]
        # A single sample has no spread: assume a Poisson count.
        of = [samples[at] for at in reporting]
        pooled[stream] = ratio_over_spans(out, tuples[reporting], of, float(1 / np.sqrt(max(1.0, out.sum()))))
        if stream in known.windowed:
            continue
        if len(inputs) < 2:
            effects.append((stream, _effect_of_rate(of, tuples[reporting], out, tuples[reporting])))
            continue
        before = known.input_selectivity.get(stream, {})
        if not counted:
            effects.append((stream, _effect_of_rate(of, tuples[reporting], out, tuples[reporting])))
            if scaled := in_proportion(before, inputs, known.selectivity.get(stream, 1.0), pooled[stream]):
                by_input[stream] = scaled
            continue
        of_inputs = counts_by(samples, [reporting[number] for number in counted], inputs)
        apart = ratios_by_input(of_inputs, out[counted], before)
        seen = tuples[reporting][counted]
        usual = np.sum([ratio.value * of_inputs[name] for name, ratio in apart.ratio.items()], axis=0)
        at_work = [of[number] for number in counted]
        effects.append((stream, _effect_of_rate(at_work, seen, out[counted], usual if apart.ratio else seen)))
        if apart.ratio or apart.alike:
            by_input[stream] = apart.ratio
        if apart.why:
            notes.append(f"output on {stream} cannot be attributed to inputs: {apart.why}")
    known_effects = [(stream, effect) for stream, effect in effects if effect is not None]
    changed = [_at_other_rates(stream, effect) for stream, effect in known_effects if effect.significant]
    return OutputRatios(pooled, by_input, (*changed, *notes), bool(changed) if known_effects else None)


def _effect_of_rate(samples: Sequence[OperatorSample], tuples: Floats, out: Floats, usual: Floats) -> RateEffect | None:
    """None if rates are alike. usual: output if only the mix mattered."""
    return rate_effect(samples, tuples, out, usual, np.minimum(out, tuples))


def _at_other_rates(stream: str, effect: RateEffect) -> str:
    """The note on output that grows more slowly or faster than input."""
    verb, cause = (
        ("rises", "a join over time, whose pairs grow with the square of the rate")
        if effect.rises
        else ("falls", "a window or an aggregation that is chained to it")
    )
    return (
        f"output on {stream} {verb} from {effect.slow:.3g} a tuple at {effect.slow_per_s:.4g} tuples a second to "
        f"{effect.fast:.3g} at {effect.fast_per_s:.4g}, as of {cause}; the mean of the spans is taken for all rates: "
        "declare windowed, or calibrate at the rate that plans are for"
    )
