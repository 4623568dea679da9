"""One measurement of one instance over a span, in terms that every engine can report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from modeling.errors import ModelError
from modeling.inputs.operator_profile import Feature


@dataclass(frozen=True)
class TaskBeside:
    """A task of another job in the same container, over the same span: seconds spent working, and waiting for room
    downstream, and tuples that it worked on. name, index: which it is, equal in all spans.
    """

    name: str
    index: int
    busy_s: float
    backpressured_s: float
    tuples: float

    def within(self, span_s: float) -> "TaskBeside":
        """Of one in a second: as much of it in a span."""
        parts = span_s * self.busy_s, span_s * self.backpressured_s, span_s * self.tuples
        return TaskBeside(self.name, self.index, *parts)


@dataclass(frozen=True)
class OperatorSample:
    """Counters of one instance over span_s seconds.

    busy_s, backpressured_s: seconds of the span spent working, and waiting for room downstream.
    records_in: tuples taken in (for a source: polled). records_out: tuples emitted, per stream name (`a->b`).

    The fields below are None or empty if the engine does not report them. began_s: start of the span, on any clock
    shared by all samples. age_s: age of the instance at that time. records_in_by, busy_s_by: records_in and busy_s by
    input stream. service_second_moment_s2: mean square of the service times of single tuples. parallelism: instances
    of the operator at that time. cpu_s: CPU seconds used in the span. memory_mib: in use at its end. gc_s: seconds of
    the span spent in garbage collection, in gc_pauses collections. state_gib: keyed state of the instance. threads:
    tuples that the instance works on concurrently, if several; busy_s is then their total over threads. container:
    name of what shares its cores with others, a task manager or a host; container_cpu_s: CPU seconds of all in it,
    over the same span; container_cores: cores that it may use. arrivals: of a source, what it took in from outside,
    where the engine counts that apart from what it emitted: operators chained behind a source may aggregate.
    features: of its job, that the model leaves out. beside: tasks of other jobs in its container.
    """

    operator: str
    index: int
    span_s: float
    busy_s: float
    backpressured_s: float
    records_in: float
    records_out: Mapping[str, float]
    began_s: float | None = None
    age_s: float | None = None
    records_in_by: Mapping[str, float] = field(default_factory=dict)
    busy_s_by: Mapping[str, float] = field(default_factory=dict)
    service_second_moment_s2: float | None = None
    parallelism: int | None = None
    cpu_s: float | None = None
    memory_mib: float | None = None
    gc_s: float | None = None
    state_gib: float | None = None
    threads: int | None = None
    container: str | None = None
    container_cpu_s: float | None = None
    container_cores: float | None = None
    arrivals: float | None = None
    gc_pauses: float | None = None
    features: tuple[Feature, ...] = ()
    beside: tuple[TaskBeside, ...] = ()

    @property
    def hides_busy_time(self) -> bool:
        """Whether it worked, was backpressured, and counts no busy time: an engine that takes busy time for what is
        neither idle nor backpressured loses it in the rounding of these.
        """
        return self.busy_s == 0 and self.backpressured_s > 0 and self.records_in + sum(self.records_out.values()) > 0

    def __post_init__(self) -> None:
        where = f"sample of instance {self.index} of operator {self.operator!r}"
        numbers = {
            "span_s": self.span_s,
            "busy_s": self.busy_s,
            "backpressured_s": self.backpressured_s,
            "records_in": self.records_in,
            **{f"records_out[{stream}]": count for stream, count in self.records_out.items()},
            **{f"records_in_by[{stream}]": count for stream, count in self.records_in_by.items()},
            **{f"busy_s_by[{stream}]": spent_s for stream, spent_s in self.busy_s_by.items()},
        }
        counts = ("parallelism", "threads")
        optional = ("age_s", "service_second_moment_s2", *counts, "cpu_s", "memory_mib", "gc_s", "state_gib")
        of_container = ("container_cpu_s", "container_cores", "arrivals", "gc_pauses")
        numbers |= {name: getattr(self, name) for name in (*optional, *of_container) if getattr(self, name) is not None}
        for name, value in numbers.items():
            if not np.isfinite(value) or value < 0:
                raise ModelError(f"{where}: {name} is {value}; drop the sample, or give a finite number not below 0")
        if self.container_cores == 0:
            raise ModelError(f"{where}: container_cores is 0; leave it out if unknown")
        if self.span_s == 0:
            raise ModelError(f"{where}: span_s is 0; measure over some seconds")
        if self.began_s is not None and not np.isfinite(self.began_s):
            raise ModelError(f"{where}: began_s is {self.began_s}; give finite seconds, or leave it out")
