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
from modeling.inputs.operator_profile import OperatorProfile


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
