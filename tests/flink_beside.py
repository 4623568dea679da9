"""A real Flink under a load script: calibrated first as a user would, then driven, then read from the job's logs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import numpy.typing as npt
from load_script import CAUGHT_UP_S, SAMPLE_S, LoadScript, LoadTrack, Stop
from pydantic import TypeAdapter

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.demo.flink_measurement import bring_to
from forescale.local.demo.modeled_job import ModeledJob, RunningModeledJob, item_logs
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.local_cluster import LocalFlink
from modeling.arrays import Floats
from modeling.calibration.calibrated import calibrated
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.checkpoints import Checkpoints
from planner.clock import RealClock
from planner.clusters.arrival_trace import ArrivalTrace
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.flink import FlinkCluster
from planner.clusters.simulator_course import advanced, asked, backlog, started
from planner.plan_model import PlanModel
from planner.replay.reality import Differences, Reality

TAKEN = "taken"
"""Subfolder of a job with the logs of sources that follow a schedule."""
SOURCE = "arrivals"
TOPOLOGY = Topology(
    "beside",
    (Operator(SOURCE), Operator("parse"), Operator("enrich")),
    (Stream(SOURCE, "parse"), Stream("parse", "enrich")),
)
JOB = ModeledJob(
    TOPOLOGY,
    {
        SOURCE: OperatorProfile(SOURCE, 0.0, {"arrivals->parse": 1.0}, service_cv2=0.0),
        "parse": OperatorProfile("parse", 0.001, {"parse->enrich": 1.0}, service_cv2=0.25),
        "enrich": OperatorProfile("enrich", 0.010, service_cv2=0.25),
    },
    checkpoint_interval_s=2.0,
    startup_s=3.0,
)
"""An instance of `enrich` handles 100 tuples a second. On loopback a job starts in a fraction of a second; elsewhere it
connects and loads, so its instances take some seconds to open.
"""

WINDOW_S = 1
"""Window of the arrivals that the simulator replays; rates of a script change at multiples of it."""


def plan(enrich: int) -> PhysicalPlan:
    return PhysicalPlan(TOPOLOGY.name, {SOURCE: 1, "parse": 1, "enrich": enrich})


# Capacity 200/s under 260/s for 30 s, then capacity 400/s. Then 140/s arrive, and capacity is 200/s again.
SCRIPT = LoadScript(
    ArrivalSchedule((0.0, 3.0, 63.0), (140.0, 260.0, 140.0)),
    plan(2),
    ((33.0, plan(4)), (68.0, plan(2))),
    90.0,
)

_LITTLE_PER_S, _MODERATE_PER_S, _TOO_MUCH_PER_S = 20.0, 140.0, 300.0
_AHEAD_S = 1.0
"""Lead time for writing a rate: the source reads its file every 0.2 s."""
_FULL_S, _MEASURED_S, _DRAINED_S = 4.0, 8.0, 60.0
"""Time until buffers are full under overload, duration of each measurement, and time limit for draining."""


@dataclass(frozen=True)
class KnownJob:
    """What a user of the simulator knows about the job. profiles: calibrated."""

    profiles: Profiles
    downtime_s: float
    checkpoints: Checkpoints
    buffered: float

    @property
    def terms(self) -> EngineTerms:
        return EngineTerms(self.downtime_s, checkpoints=self.checkpoints, buffered=self.buffered)


def simulated(topology: Topology, script: LoadScript, job: KnownJob) -> LoadTrack:
    """Simulate a topology with one source. Nothing waits at the beginning."""
    (source,) = topology.sources
    world = Reality(PlanModel(topology, job.profiles), job.terms, Differences(), 0.0, script.end_s)
    traces = {source: ArrivalTrace(_Counted(script.schedule, script.end_s))}
    first = dict(script.first.parallelism)
    state = started(world.network(first, 0.0), first, 0.0)
    at_s = script.sampled_s
    waiting, outside = np.zeros(at_s.size), np.zeros(at_s.size)
    rescales, stops = list(script.rescales), {}
    for sample, now_s in enumerate(at_s.tolist()):
        state, _ = advanced(state, world, traces, now_s, exactly=True)
        if rescales and rescales[0][0] <= now_s:
            state = asked(state, world, dict(rescales.pop(0)[1].parallelism))
        if state.change:
            stops[state.change] = Stop(state.down_from_s, state.down_until_s)
        waiting[sample] = state.content[0]
        (outside[sample],) = backlog(state.content, world.terms, runs=state.at_s > state.down_until_s)
    due = script.schedule.due(at_s)
    return LoadTrack.of(script.schedule, at_s, due - outside, due - waiting, tuple(stops.values()))


class _Counted:
    """The arrivals of a schedule that begins at the epoch."""

    start = datetime.fromtimestamp(0, UTC)
    window_s = WINDOW_S

    def __init__(self, schedule: ArrivalSchedule, end_s: float) -> None:
        self.counts: Floats = np.diff(schedule.due(np.arange(0.0, end_s + 2 * WINDOW_S, WINDOW_S)))


@dataclass(frozen=True)
class MeasuredScript:
    """A script on Flink. given: all that the simulator knows, measured before. taken, finished: per sample, since the
    script's beginning, as in `LoadTrack`.
    """

    script: LoadScript
    given: KnownJob
    taken: tuple[float, ...]
    finished: tuple[float, ...]
    stops: tuple[Stop, ...]

    def flink(self) -> LoadTrack:
        taken, finished = np.array(self.taken), np.array(self.finished)
        return LoadTrack.of(self.script.schedule, self.script.sampled_s, taken, finished, self.stops)

    def simulated(self) -> LoadTrack:
        return simulated(TOPOLOGY, self.script, self.given)


MEASURED = TypeAdapter(MeasuredScript)
"""Codec for files."""


def measured_script(flink: LocalFlink, progress: Callable[[str], None] = lambda text: None) -> MeasuredScript:
    """Start the job, measure it, and run the script. Takes about three minutes.

    Raises LocalFlinkError or ClusterError when the job does not run as requested.
    """
    driven = _Driven(flink)
    try:
        given = driven.measured_before(progress)
        begin_s, stops = driven.through(SCRIPT, progress)
    finally:
        driven.running.cancel()
    # Logs are complete once the job is cancelled.
    sampled_s, stopped_s = begin_s + SCRIPT.sampled_s, [begin_s + stop.stopped_s for stop in stops]
    reached = positions(driven.running.folder, driven.schedule, sampled_s, stopped_s)
    before = driven.schedule.due(np.array([begin_s]))
    taken, finished = ((count - before).tolist() for count in reached)
    return MeasuredScript(SCRIPT, given, tuple(taken), tuple(finished), tuple(stops))


class _Driven:
    """The running job. schedule: all rates so far, in seconds since the epoch."""

    def __init__(self, flink: LocalFlink) -> None:
        self._flink, self._clock = flink, RealClock()
        self._cluster = FlinkCluster(flink.url, JOB.name, TOPOLOGY, warm_s=3.0, timeout_s=60)
        self.schedule = ArrivalSchedule((time.time() + 2 * _AHEAD_S,), (_LITTLE_PER_S,))
        self.running: RunningModeledJob = JOB.start(flink, {}, {SOURCE: self.schedule})

    def measured_before(self, progress: Callable[[str], None]) -> KnownJob:
        """Downtime of earlier rescales, service times at a moderate load and at overload, where no instance waits for
        work, and the buffers' content then. Nothing waits at the end.
        """
        # The first is not counted: the JVM warms up.
        downs_s = [self._rescale_to(plan(enrich)).downtime_s for enrich in (2, 4, 2)][1:]
        self._wait_until_drained()
        self._rate_from(time.time() + _AHEAD_S, _MODERATE_PER_S)
        self._clock.wait(_AHEAD_S)
        samples = list(self._cluster.operator_samples(_MEASURED_S))
        checkpoints = Checkpoints(JOB.checkpoint_interval_s, self._checkpoint_s(), rescales_on_completion=True)
        self._rate_from(time.time() + _AHEAD_S, _TOO_MUCH_PER_S)
        self._clock.wait(_AHEAD_S + _FULL_S)
        samples += self._cluster.operator_samples(_MEASURED_S)
        profiles = calibrated(TOPOLOGY, samples, JOB.declared_profiles(), warm_s=3.0).profiles
        full_s = time.time() + np.arange(0.0, _AHEAD_S, SAMPLE_S)
        self._rate_from(time.time() + _AHEAD_S, _LITTLE_PER_S)
        self._wait_until_drained()
        taken, finished = positions(self.running.folder, self.schedule, full_s, ())
        given = KnownJob(profiles, float(np.mean(downs_s)), checkpoints, float(np.mean(taken - finished)))
        services = ", ".join(f"{name} {1000 * of.service_s:.2f} ms" for name, of in profiles.items())
        progress(f"earlier rescales: {', '.join(f'{each:.2f} s' for each in downs_s)}; service times: {services}")
        progress(f"checkpoints take {checkpoints.duration_s:.2f} s; {given.buffered:.0f} tuples fit inside")
        return given

    def through(self, script: LoadScript, progress: Callable[[str], None]) -> tuple[float, list[Stop]]:
        """Run a script. Returns its start, in seconds since the epoch, and its stops in seconds since then."""
        begin_s = float(np.ceil(time.time() + _AHEAD_S))
        for from_s, rate_per_s in zip(script.schedule.from_s, script.schedule.rate_per_s, strict=True):
            self._rate_from(begin_s + from_s, rate_per_s)
        stops = []
        for at_s, wanted in script.rescales:
            self._clock.wait(begin_s + at_s - time.time())
            stop = self._rescale_to(wanted)
            stops.append(Stop(stop.stopped_s - begin_s, stop.running_s - begin_s))
            progress(f"{wanted.brief()} asked for at {at_s:g} s: down for {stops[-1].downtime_s:.2f} s")
        self._clock.wait(begin_s + script.end_s - time.time())
        return begin_s, stops

    def _rate_from(self, at_s: float, rate_per_s: float) -> None:
        self.schedule = self.schedule.then(at_s, rate_per_s)
        self.schedule.write(self.running.folder, SOURCE)

    def _rescale_to(self, plan: PhysicalPlan) -> Stop:
        """The stop, in seconds since the epoch."""
        verified = bring_to(self._cluster, plan, self._clock)
        if verified.downtime_s is None:
            raise LocalFlinkError(f"Flink reports no downtime of {JOB.name}; keep its rescale history on")
        running_s = verified.running_since.timestamp()
        return Stop(running_s - verified.downtime_s, running_s)

    def _wait_until_drained(self) -> None:
        for _ in range(round(_DRAINED_S / _AHEAD_S)):
            self._clock.wait(_AHEAD_S)
            # The last half second of the log may not be in the file yet.
            at_s = np.array([time.time() - 0.5])
            _, finished = positions(self.running.folder, self.schedule, at_s, ())
            if self.schedule.due(at_s)[0] - finished[0] < CAUGHT_UP_S * _LITTLE_PER_S:
                return
        raise LocalFlinkError(
            f"{JOB.name} is still behind after {_DRAINED_S:g} s at {_LITTLE_PER_S:g}/s; see what else the machine does"
        )

    def _checkpoint_s(self) -> float:
        """End-to-end duration of the last checkpoint."""
        url = f"{self._flink.url}/jobs/{self.running.job_id}/checkpoints"
        answer = httpx.get(url, trust_env=False, timeout=60).json()
        return float(answer["latest"]["completed"]["end_to_end_duration"]) / 1000


def positions(
    folder: Path, schedule: ArrivalSchedule, at_s: Floats, stopped_s: Sequence[float]
) -> tuple[Floats, Floats]:
    """Tuples that the source had taken in, and the sink finished, by each moment, from the logs of a job with one
    instance of each.

    A log of the source begins at the restored position; none beyond it was taken in since the preceding stop.
    """
    sinks = [_ended_s(log) for log in item_logs(folder)]
    finished_s = np.sort(np.concatenate([np.zeros(0), *sinks]))
    logs = sorted((log for log in item_logs(folder / TAKEN) if log.size), key=lambda log: float(_ended_s(log)[0]))
    taken, finished = np.zeros(at_s.size), np.zeros(at_s.size)
    for log in logs:
        taken_s = _ended_s(log)
        from_s = max((stop_s for stop_s in stopped_s if stop_s <= taken_s[0]), default=float(taken_s[0]))
        restored = np.rint(schedule.due(log["due_us"][:1] / 1e6)) - 1
        of = at_s >= from_s
        ended = np.searchsorted(finished_s, at_s[of], side="right") - np.searchsorted(finished_s, taken_s[0])
        taken[of] = restored + np.searchsorted(taken_s, at_s[of], side="right")
        finished[of] = restored + np.maximum(0, ended)
    return taken, finished


def _ended_s(log: npt.NDArray[np.void]) -> Floats:
    return np.asarray((log["due_us"] + log["latency_us"]) / 1e6, dtype=np.float64)
