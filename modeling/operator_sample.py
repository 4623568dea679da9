"""One measurement of one instance over a span, in the words every engine can answer in."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError


@dataclass(frozen=True)
class OperatorSample:
    """Counters of one instance over span_s seconds.

    busy_s, backpressured_s: seconds of the span spent working, and waiting for room downstream.
    records_in: tuples taken in (for a source: polled). records_out: tuples given out, per stream name (`a->b`).
    """

    operator: str
    index: int
    span_s: float
    busy_s: float
    backpressured_s: float
    records_in: float
    records_out: Mapping[str, float]

    def __post_init__(self) -> None:
        where = f"sample of instance {self.index} of operator {self.operator!r}"
        numbers = {
            "span_s": self.span_s,
            "busy_s": self.busy_s,
            "backpressured_s": self.backpressured_s,
            "records_in": self.records_in,
            **{f"records_out[{stream}]": count for stream, count in self.records_out.items()},
        }
        for name, value in numbers.items():
            if not np.isfinite(value) or value < 0:
                raise ModelError(f"{where}: {name} is {value}; drop the sample, or give a finite number not below 0")
        if self.span_s == 0:
            raise ModelError(f"{where}: span_s is 0; measure over some seconds")
