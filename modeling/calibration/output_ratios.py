"""Tuples out per tuple in: of all that enters, and of each stream that enters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.calibration.by_input import in_proportion, told_apart
from modeling.calibration.measured import Measured, measured_ratio
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.service_time import counts_by
from modeling.inputs.operator_profile import OperatorProfile


@dataclass(frozen=True)
class OutputRatios:
    """pooled: per stream that leaves. by_input: per stream that leaves, of each that enters; a stream of which data
    show no difference between inputs is in it without any, one that nobody can tell is not in it.
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
    """Of one operator that is no source, per stream by the samples that tell it: what is not told is not nothing.
    Streams whose output follows windows have a pooled ratio only.
    """
    pooled: dict[str, Measured] = {}
    by_input: dict[str, Mapping[str, Measured]] = {}
    notes = []
    for stream in outputs:
        told = [at for at, sample in enumerate(samples) if stream in sample.records_out]
        if tuples[told].sum() <= 0:
            continue
        out = np.array([samples[at].records_out[stream] for at in told])
        counted = [number for number, at in enumerate(told) if samples[at].records_in_by]
        # One sample tells no spread: its count is taken as Poisson's.
        pooled[stream] = measured_ratio(out, tuples[told], float(1 / np.sqrt(max(1.0, out.sum()))))
        if len(inputs) < 2 or stream in known.windowed:
            continue
        before = known.input_selectivity.get(stream, {})
        if not counted:
            if scaled := in_proportion(before, inputs, known.selectivity.get(stream, 1.0), pooled[stream]):
                by_input[stream] = scaled
            continue
        apart = told_apart(counts_by(samples, [told[number] for number in counted], inputs), out[counted], before)
        if apart.ratio or apart.alike:
            by_input[stream] = apart.ratio
        if apart.why:
            notes.append(f"what goes out on {stream} cannot be told apart by input: {apart.why}")
    return OutputRatios(pooled, by_input, tuple(notes))
