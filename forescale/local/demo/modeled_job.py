"""Any topology as a job of examples/flink with known service times: its arguments and true profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forescale.files.atomic import write_whole
from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.example_job import example_job
from forescale.local.flink.local_cluster import LocalFlink
from forescale.local.flink.submission import cancel_job, submit_job
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Grouping, Stream, Topology

MAIN_CLASS = "modeled.ModeledJob"
GROUPINGS = (Grouping.SHUFFLE, Grouping.FIELDS)

_LOGGED = np.dtype([("due_us", ">i8"), ("latency_us", ">i4")])


@dataclass(frozen=True)
class ModeledJob:
    """truth: true profile of each operator; service_cv2 is 0 or 1 over a whole number (Erlang services).

    keys, skew: distinct keys of every source's items, by Zipf's law. state_mib: per operator behind a keyed stream.
    buffer_timeout_s: after which a partly filled buffer is sent; 0 sends each item at once. startup_s: that each
    instance, except those of sources, takes to open. computing: whether operators use their service times of a core
    instead of waiting so long. Raises LocalFlinkError for what the job cannot do.
    """

    topology: Topology
    truth: Profiles
    keys: int = 1000
    skew: float = 0.0
    state_mib: Mapping[str, float] = field(default_factory=dict)
    buffer_timeout_s: float = 0.0
    checkpoint_interval_s: float = 1.0
    startup_s: float = 0.0
    seed: int = 1
    computing: bool = False

    def __post_init__(self) -> None:
        for stream in self.topology.streams:
            if stream.grouping not in GROUPINGS:
                raise LocalFlinkError(f"stream {stream.name} is grouped {stream.grouping}; give it shuffle or fields")
        for name, profile in self.truth.items():
            if profile.service_cv2 and abs(1 / profile.service_cv2 - round(1 / profile.service_cv2)) > 1e-9:
                raise LocalFlinkError(f"operator {name!r}: service_cv2 {profile.service_cv2}; give 0 or 1, 1/2, 1/3 …")
        for name in self.state_mib:
            if not any(stream.grouping is Grouping.FIELDS for stream in self.topology.inputs(name)):
                raise LocalFlinkError(f"operator {name!r} has state and no keyed stream enters it; group one by fields")

    @property
    def name(self) -> str:
        return self.topology.name

    @property
    def key_shares(self) -> KeyHistogram:
        return zipf_shares("k", self.keys, self.skew)

    def declared_profiles(self) -> dict[str, OperatorProfile]:
        """The profiles known before measuring: keys and spread of service times, but neither means (1 s each is
        declared) nor selectivities (1 each).
        """
        return {
            name: OperatorProfile(
                name,
                1.0,
                {stream.name: 1.0 for stream in self.topology.outputs(name)},
                service_cv2=self.truth[name].service_cv2,
                keys=self.key_shares,
            )
            for name in self.topology.order
        }

    def true_profiles(self) -> dict[str, OperatorProfile]:
        """The profiles that the job realises, with its keys."""
        return {name: replace(self.truth[name], keys=self.key_shares) for name in self.topology.order}

    def arguments(self) -> Mapping[str, str]:
        """The job's arguments, without its folders."""
        operators = ",".join(
            f"{name}:{round(1 / self.truth[name].service_cv2) if self.truth[name].service_cv2 else 0}"
            f":{self.state_mib.get(name, 0.0):g}:{1000 * self.startup_s:g}"
            for name in self.topology.order
        )
        streams = ",".join(
            f"{stream.upstream}:{stream.downstream}:{stream.grouping}"
            f":{self.truth[stream.upstream].selectivity.get(stream.name, 1.0):g}"
            f":{1000 * self._service_s(stream):g}"
            for stream in self.topology.streams
        )
        return {
            "operators": operators,
            "streams": streams,
            "keys": str(self.keys),
            "skew": f"{self.skew:g}",
            "seed": str(self.seed),
            "buffer-timeout-ms": f"{1000 * self.buffer_timeout_s:.0f}",
            "checkpoint-ms": f"{1000 * self.checkpoint_interval_s:.0f}",
            "work": "compute" if self.computing else "wait",
            "job-name": self.name,
        }

    def _service_s(self, stream: Stream) -> float:
        profile = self.truth[stream.downstream]
        return profile.stream_service_s.get(stream.name, profile.service_s)

    def start(
        self,
        flink: LocalFlink,
        load_per_s: Mapping[str, float],
        schedules: Mapping[str, ArrivalSchedule] | None = None,
    ) -> "RunningModeledJob":
        """Build and submit the job. schedules: by source; sources without one have a load.

        Raises LocalFlinkError when it cannot be built or does not run.
        """
        folder = flink.folder / self.name
        folder.mkdir(parents=True, exist_ok=True)
        folders = {"rates": str(folder), "latencies": str(folder)}
        jar = example_job(flink.java, flink.distribution, flink.folder)
        offer(folder, load_per_s)
        for source, schedule in (schedules or {}).items():
            schedule.write(folder, source)
        job_id = submit_job(flink.url, jar, {**self.arguments(), **folders}, main_class=MAIN_CLASS)
        return RunningModeledJob(flink.url, job_id, folder)


@dataclass(frozen=True)
class RunningModeledJob:
    """A submitted job. folder: of its rates and latencies."""

    url: str
    job_id: str
    folder: Path

    def offer(self, load_per_s: Mapping[str, float]) -> None:
        """Change the rates of the running sources; the job sees it within 0.2 s and drops its backlog."""
        offer(self.folder, load_per_s)

    def latencies_s(self, since_s: float, until_s: float) -> npt.NDArray[np.float64]:
        """Latencies, from due until last served, of the items due in that span (seconds since the epoch)."""
        return logged_latencies_s(self.folder, since_s, until_s)

    def cancel(self) -> None:
        """Cancel the job and free its slots."""
        cancel_job(self.url, self.job_id)


def zipf_shares(letter: str, keys: int, skew: float) -> KeyHistogram:
    """Share of each key, such as `k0`, `k1` … by Zipf's law: jobs draw key i with a weight of 1 / (i + 1)^skew."""
    weights = np.arange(1, keys + 1, dtype=float) ** -skew
    return KeyHistogram({f"{letter}{i}": float(share) for i, share in enumerate(weights / weights.sum())})


def offer(folder: Path, load_per_s: Mapping[str, float]) -> None:
    """Write a file with the rate of each source, atomically."""
    for source, rate_per_s in load_per_s.items():
        write_whole(f"{rate_per_s:g}", folder / f"{source}.rate")


def logged_latencies_s(folder: Path, since_s: float, until_s: float) -> npt.NDArray[np.float64]:
    """Latencies in all logs of a folder, one log for each instance of a sink and each time it was started.

    Ordered by the items' due times.
    """
    merged = np.concatenate([np.zeros(0, _LOGGED), *item_logs(folder)])
    merged = merged[(merged["due_us"] >= since_s * 1e6) & (merged["due_us"] < until_s * 1e6)]
    return np.asarray(merged["latency_us"][np.argsort(merged["due_us"], kind="stable")] / 1e6, dtype=np.float64)


def item_logs(folder: Path) -> list[npt.NDArray[np.void]]:
    """Per log, its items in the order of completion, with `due_us` since the epoch and `latency_us`.

    An incomplete record at the end of a log is left out.
    """
    bodies = [log.read_bytes() for log in sorted(folder.glob("*.latencies"))]
    return [np.frombuffer(body, _LOGGED, count=len(body) // _LOGGED.itemsize) for body in bodies]
