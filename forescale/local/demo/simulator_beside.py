"""The cluster simulator under a load script, with the terms measured on a job before."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.demo.load_script import LoadScript, LoadTrack, Stop
from modeling.arrays import Floats
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.topology import Topology
from modeling.rescaling.checkpoints import Checkpoints
from planner.clusters.arrival_trace import ArrivalTrace
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.simulator_course import advanced, asked, backlog, started
from planner.plan_model import PlanModel
from planner.replay.reality import Differences, Reality

WINDOW_S = 1
"""Window of the arrivals that the simulator replays; rates of a script change at multiples of it."""


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
