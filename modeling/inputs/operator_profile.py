"""The calibrated profile of an operator: service time and its spread, selectivity, key histogram."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from modeling.errors import ModelError
from modeling.inputs.calls import Calls
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.pauses import Pauses
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import LINEAR, ScaleEfficiency
from modeling.inputs.topology import Grouping, Stream
from modeling.inputs.windowed_output import WindowedOutput
from modeling.queueing.service_shape import ServiceShape

MAX_SERVICE_S = 1e6
"""Eleven days for one tuple: a longer time is an error."""

MAX_CV2 = 1e6
"""A standard deviation of a thousand means."""

_MAX = 1e12

_SECONDS, _AMOUNTS = (
    ("service_s_error", "cpu_s", "cpu_s_error"),
    (
        "idle_cores",
        "idle_cores_error",
        "container_idle_cores",
        "container_idle_cores_error",
        "container_waking_cores",
        "memory_mib",
        "memory_mib_s",
        "state_gib",
        "gc_pause_s",
    ),
)
"""Fields with one non-negative number, None if unknown."""


class Feature(StrEnum):
    """Features of a job that an engine reports, or its samples show, and the model leaves out.

    UNALIGNED_CHECKPOINTS: tuples in buffers become part of checkpoints. STATE_ON_DISK: state whose access slows down
    as it grows, as in RocksDB. RATE_DEPENDENT: what a tuple costs or makes changes with the rate. UNEVEN_PARTS:
    instances work on unequal parts that no key explains. OTHER_JOBS: containers also run tasks of other jobs.
    MINI_BATCHES: tuples wait for bundles that it ends by the clock. BUSY_TIME_ALONE: only busy time told its CPU from
    that of others, as all containers ran them in the same mix.
    """

    UNALIGNED_CHECKPOINTS = "unaligned_checkpoints"
    STATE_ON_DISK = "state_on_disk"
    RATE_DEPENDENT = "rate_dependent"
    UNEVEN_PARTS = "uneven_parts"
    OTHER_JOBS = "other_jobs"
    MINI_BATCHES = "mini_batches"
    BUSY_TIME_ALONE = "busy_time_alone"


@dataclass(frozen=True)
class OperatorProfile:
    """One operator as measured.

    service_s: mean busy seconds of one instance per tuple in (for a source: per arrival).
    service_s_error: standard error of service_s in seconds. service_cv2: squared coefficient of variation of the
    service time of single tuples within a stream, equal for all input streams; mean differences between streams
    (stream_service_s) are added for each plan's mix. selectivity: tuples out per tuple in, per stream name (`a->b`).
    samples: number of measurements; 0 if declared by a person. keys: of every keyed input stream that stream_keys does
    not name by `a->b`. stream_service_s, input_selectivity: for differing input streams: service time per tuple of
    each, and per output stream the tuples out per tuple in of each. windowed: streams whose output depends on time and
    keys instead.

    service_cv2_interval: 95 % interval of service_cv2, None if unknown. selectivity_error: standard errors. efficiency:
    service time at other parallelisms. cpu_s: CPU seconds per tuple; None if unknown, and busy time is used.
    idle_cores: that an instance uses without work. container_idle_cores: that its container uses beside all instances,
    as the threads and timers of an engine do, and container_waking_cores beside that while all its instances wait for
    tuples; of operators that share one, the largest counts. memory_mib: of an idle instance. memory_mib_s: additional
    MiB per tuple per second. state_gib: keyed state of the whole operator, kept in its instances' memory if
    state_in_memory. gc_share: measured share of time spent in garbage collection; gc_pause_s: of one collection, 0 if
    unknown. pauses: further ones, as for checkpoints or compaction. intervals: 95 % interval of each measured
    parameter, by name: `service_s`, `stream_service_s[a->b]`, `selectivity[b->c]`, `input_selectivity[b->c][a->b]`,
    `efficiency.exponent` and so on. polling: of a source that polls for its tuples, which bounds its intake. calls: to
    another system, several of an instance at once, which service_s does not include. selectivity_cv2: per output
    stream, squared coefficient of variation of the number of tuples made from one; if missing, that number is as even
    as possible. features: of the measured job, that the model leaves out. service_shape: distribution of service times
    within a stream beyond service_cv2, None if unknown; ignored if its cv² differs from service_cv2 by more than 5 %.
    """

    operator: str
    service_s: float
    selectivity: Mapping[str, float] = field(default_factory=dict)
    service_s_error: float = 0.0
    service_cv2: float = 1.0
    keys: KeyHistogram | None = None
    samples: int = 0
    stream_keys: Mapping[str, KeyHistogram] = field(default_factory=dict)
    stream_service_s: Mapping[str, float] = field(default_factory=dict)
    input_selectivity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    windowed: Mapping[str, WindowedOutput] = field(default_factory=dict)
    service_cv2_interval: tuple[float, float] | None = None
    selectivity_error: Mapping[str, float] = field(default_factory=dict)
    efficiency: ScaleEfficiency = LINEAR
    cpu_s: float | None = None
    cpu_s_error: float = 0.0
    memory_mib: float | None = None
    memory_mib_s: float = 0.0
    state_gib: float = 0.0
    state_in_memory: bool = True
    gc_share: float = 0.0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    polling: Polling | None = None
    selectivity_cv2: Mapping[str, float] = field(default_factory=dict)
    service_shape: ServiceShape | None = None
    calls: Calls | None = None
    idle_cores: float = 0.0
    idle_cores_error: float = 0.0
    container_idle_cores: float = 0.0
    container_idle_cores_error: float = 0.0
    gc_pause_s: float = 0.0
    container_waking_cores: float = 0.0
    features: tuple[Feature, ...] = ()
    pauses: Pauses | None = None

    def service_s_of(self, stream: str, parallelism: int) -> float:
        """Mean busy seconds per tuple of one input stream, with this many instances."""
        return float(self.efficiency.service_s(self.stream_service_s.get(stream, self.service_s), parallelism))

    @property
    def shape(self) -> ServiceShape | None:
        """service_shape if it fits service_cv2."""
        known = self.service_shape
        return known if known is not None and abs(self.service_cv2 - known.cv2) <= 0.05 * known.cv2 else None

    @property
    def all_pauses(self) -> tuple[Pauses, ...]:
        """Of garbage collection, as far as their length is known, and declared ones."""
        known = () if self.pauses is None else (self.pauses,)
        if 0 < self.gc_share < 1 and self.gc_pause_s > 0:
            return (*known, Pauses(self.gc_pause_s / self.gc_share, self.gc_pause_s))
        return known

    @property
    def awake_share(self) -> float:
        """Of the time, without pauses."""
        return max(0.0, 1.0 - sum(each.share for each in self.all_pauses))

    def keys_of(self, stream: str) -> KeyHistogram | None:
        """The key histogram of one input stream, None if its keys are unknown."""
        return self.stream_keys.get(stream, self.keys)

    def partitioned_by(self, stream: Stream) -> KeyHistogram | None:
        """Keys that decide which instance reads what: also those that explain the shares of a custom grouping."""
        if stream.grouping is Grouping.CUSTOM:
            return self.stream_keys.get(stream.name)
        return self.keys_of(stream.name) if stream.grouping is Grouping.FIELDS else None

    def slower(self, factor: float) -> "OperatorProfile":
        """The same operator with `factor` times the service times."""
        streams = {stream: seconds * factor for stream, seconds in self.stream_service_s.items()}
        return replace(self, service_s=self.service_s * factor, stream_service_s=streams)

    def __post_init__(self) -> None:
        where = f"profile of operator {self.operator!r}"
        by_input = {
            f"{out} per {entering}": r for out, of in self.input_selectivity.items() for entering, r in of.items()
        }
        one = {name: {"": getattr(self, name)} for name in ("service_cv2", *_SECONDS, *_AMOUNTS)}
        for name, values, most, unit in (
            ("service time", {"": self.service_s, **self.stream_service_s}, MAX_SERVICE_S, " s"),
            ("service_cv2", one["service_cv2"], MAX_CV2, ""),
            *((name, one[name], MAX_SERVICE_S, "") for name in _SECONDS),
            *((name, one[name], _MAX, "") for name in _AMOUNTS),
            ("selectivity", {**self.selectivity, **by_input}, _MAX, ""),
            ("selectivity_cv2", self.selectivity_cv2, MAX_CV2, ""),
            ("selectivity_error", self.selectivity_error, _MAX, ""),
        ):
            for stream, value in values.items():
                if value is not None and not 0 <= value <= most:
                    place = f"{unit}{f' of stream {stream}' if stream else ''}"
                    raise ModelError(
                        f"{where}: {name} {value}{place}; give a finite number, not negative, at most {most:g}"
                    )
        if self.service_cv2_interval is not None:
            low, high = self.service_cv2_interval
            if not 0 <= low <= high:
                raise ModelError(
                    f"{where}: service_cv2_interval {low} to {high}; give two numbers, not negative, the lower first"
                )
        if not 0 <= self.gc_share <= 1:
            raise ModelError(f"{where}: gc_share {self.gc_share}; give a share of the time, 0 to 1")
        if not 0 <= self.samples <= _MAX:
            raise ModelError(f"{where}: samples {self.samples}; give how many there were, 0 where none")
        for name, (low, high) in self.intervals.items():
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise ModelError(
                    f"{where}: interval {low} to {high} of {name}; give two finite numbers, the lower first"
                )


Profiles = Mapping[str, OperatorProfile]
"""Profiles by operator name."""
