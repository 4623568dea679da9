"""Groups samples by span of time, and counts the instances of a span."""

from collections.abc import Sequence

from modeling.calibration.operator_sample import OperatorSample


def spans(samples: Sequence[OperatorSample]) -> list[list[int]]:
    """Indices of the samples of each span, in order of time and instance; one span if any sample has no start.

    Instances are not read at the same moment: samples that begin within half the shortest span belong together, unless
    the instance already has a sample in that span.
    """
    if any(sample.began_s is None for sample in samples):
        return [list(range(len(samples)))]
    near_s = min((sample.span_s for sample in samples), default=0.0) / 2
    found: list[list[int]] = []
    began: dict[int, float] = {}
    first_s = -float("inf")
    for at in sorted(range(len(samples)), key=lambda at: (samples[at].began_s or 0.0, samples[at].index)):
        index, began_s = samples[at].index, samples[at].began_s or 0.0
        if began_s - first_s > near_s or began.get(index, began_s) != began_s:
            found.append([])
            began, first_s = {}, began_s
        found[-1].append(at)
        began[index] = began_s
    return found


def instances_there(samples: Sequence[OperatorSample], seen: int) -> int:
    """Number of instances in a span: as its samples report, else as many as were ever seen."""
    reported = max((sample.parallelism or 0 for sample in samples), default=0)
    return max(reported or seen, len({sample.index for sample in samples}))
