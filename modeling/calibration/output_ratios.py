"""Tuples out per tuple in: overall, and by input stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.calibration.by_input import in_proportion, ratios_by_input
from modeling.calibration.measured import Measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.service_time import counts_by
from modeling.calibration.sittings import ratio_over_spans
from modeling.calibration.spans import spans
from modeling.inputs.operator_profile import OperatorProfile

FASTER, FALLS = 1.25, 0.1
"""A span of that many times the rate of another, with that much less output per tuple, shows an aggregation by time."""


@dataclass(frozen=True)
class OutputRatios:
    """pooled: per output stream. by_input: per output stream and input stream; empty for an output whose inputs show no
    difference, absent for one whose inputs cannot be separated.
    """

    pooled: Mapping[str, Measured]
    by_input: Mapping[str, Mapping[str, Measured]]
    notes: tuple[str, ...]


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
    notes = []
    for stream in outputs:
        reporting = [at for at, sample in enumerate(samples) if stream in sample.records_out]
        if tuples[reporting].sum() <= 0:
            continue
        out = np.array([samples[at].records_out[stream] for at in reporting])
        counted = [number for number, at in enumerate(reporting) if samples[at].records_in_by]
        # A single sample has no spread: assume a Poisson count.
        of = [samples[at] for at in reporting]
        pooled[stream] = ratio_over_spans(out, tuples[reporting], of, float(1 / np.sqrt(max(1.0, out.sum()))))
        if stream not in known.windowed and (note := _falling(stream, of, out, tuples[reporting])):
            notes.append(note)
        if len(inputs) < 2 or stream in known.windowed:
            continue
        before = known.input_selectivity.get(stream, {})
        if not counted:
            if scaled := in_proportion(before, inputs, known.selectivity.get(stream, 1.0), pooled[stream]):
                by_input[stream] = scaled
            continue
        apart = ratios_by_input(
            counts_by(samples, [reporting[number] for number in counted], inputs), out[counted], before
        )
        if apart.ratio or apart.alike:
            by_input[stream] = apart.ratio
        if apart.why:
            notes.append(f"output on {stream} cannot be attributed to inputs: {apart.why}")
    return OutputRatios(pooled, by_input, tuple(notes))


def _falling(stream: str, samples: Sequence[OperatorSample], out: Floats, tuples: Floats) -> str:
    """The note on output that grows more slowly than input; empty if it does not."""
    seen = []
    for span in spans(samples):
        span_s = max(samples[at].span_s for at in span)
        if out[span].sum() > 0 and tuples[span].sum() > 0:
            seen.append((tuples[span].sum() / span_s, out[span].sum() / tuples[span].sum(), out[span].sum()))
    if len(seen) < 2:
        return ""
    (slow_per_s, slow, slow_out), (fast_per_s, fast, fast_out) = min(seen), max(seen)
    chance = 4 * slow * np.sqrt(1 / slow_out + 1 / fast_out)
    if fast_per_s < FASTER * slow_per_s or slow - fast < max(FALLS * slow, chance):
        return ""
    return (
        f"output on {stream} falls from {slow:.3g} a tuple at {slow_per_s:.4g} tuples a second to {fast:.3g} at "
        f"{fast_per_s:.4g}, as of a window or an aggregation that is chained to it; the mean of the spans is taken for "
        "all rates: declare windowed, or calibrate at the rate that plans are for"
    )
