"""What an instance gets through, and how long a rescale stops the job, before any policy races."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine import WORK, RacedEngine, RacedJob
from load import new_topic, offered

WARM_S, SETTLE_S, SPAN_S = 8.0, 5.0, 20.0
MAX_SPANS, STEADY = 6, 1.05
"""Spans are measured until the next is no longer so much quicker: a slow core takes long to start and to compile."""
EVENTS = 40_000
MEASURED_AT, RESCALED_TO = 3, (4, 2)


@dataclass(frozen=True)
class Calibrated:
    """In the race's time. per_instance_s: events a second of an instance that is full. downtime_s: of a rescale."""

    per_instance_s: float
    downtime_s: float


def measured_engine(engine: RacedEngine, work_s: float, cores: float, say: Callable[[str], None]) -> Calibrated:
    """Takes two to four minutes. All task managers run the code once without a quota, so that it is compiled."""
    topic = "calibration"
    new_topic(engine.servers, topic)
    offered(engine.servers, topic, EVENTS)
    job = engine.job(topic, 0, work_s)
    job.begin()
    job.bring(len(engine.groups) - 1)
    time.sleep(WARM_S)
    job.bring(MEASURED_AT)
    engine.hold(cores)
    time.sleep(SETTLE_S)
    per_instance_s, before = 0.0, job.look()
    for _ in range(MAX_SPANS):
        time.sleep(SPAN_S)
        after = job.look()
        read, span_s = after.counters[WORK].read - before.counters[WORK].read, after.at_s - before.at_s
        before, slower_s, per_instance_s = after, per_instance_s, read / span_s / MEASURED_AT
        if per_instance_s < STEADY * slower_s:
            break
    say(f"an instance takes {per_instance_s:.2f} events a second")
    downtimes_s = [_downtime_s(job, count) for count in RESCALED_TO]
    say(f"rescales took {', '.join(f'{each:.1f}' for each in downtimes_s)} s")
    job.cancel()
    return Calibrated(per_instance_s, sum(downtimes_s) / len(downtimes_s))


def _downtime_s(job: RacedJob, instances: int, within_s: float = 120.0) -> float:
    """From the last look at which the old plan ran to the moment since which the new one runs."""
    time.sleep(SETTLE_S)
    job.ask(instances)
    ran_s, deadline = time.time(), time.monotonic() + within_s
    while time.monotonic() < deadline:
        seen = job.look()
        if seen.runs and seen.running == instances:
            return max(0.0, seen.running_since_s - ran_s)
        if seen.runs:
            ran_s = seen.at_s
        time.sleep(0.1)
    return within_s
