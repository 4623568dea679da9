"""The guard on a real Flink: a job is made too small by hand, and the guard's own turns heal it.

The job has topology and service times of the word count. Unlike that, it keeps its backlog and reports it: otherwise
lag would be unknown and the load an estimate.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.demo.flink_measurement import bring_to, word_count_plan
from forescale.local.demo.guard_watch import Watch, watch_guard
from forescale.local.demo.modeled_job import ModeledJob
from forescale.local.demo.word_count import SOURCE, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from forescale.settings import Settings
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

OFFERED_PER_S = 400.0
"""Sentences. One instance of split handles 250/s; one of count handles 1000 words/s, which are 200 sentences/s."""

GUARD: Mapping[str, object] = {"mode": "act", "window_s": 40, "settle_s": 40, "drain_s": 60}
"""`planning.guard` of the demo's topology file: short, so that all happens within two minutes."""

SAMPLE_S = 10
"""Its `cluster.sample_s`: two samples, each with a reading of the backlog after it, fit in a window."""

_FITS, _TOO_SMALL = (1, 3, 3), (1, 1, 1)
_AHEAD_S = 2.0


@dataclass(frozen=True)
class Healing:
    """plan: carries the load; too_small: deployed by hand in its place. offered_per_s: sentences, constant."""

    offered_per_s: float
    plan: PhysicalPlan
    too_small: PhysicalPlan
    watch: Watch


def heal_word_count(flink: LocalFlink, settings: Settings, progress: Callable[[str], None]) -> Healing:
    """Start the job, rescale it by hand, and watch the guard of that topology. Takes about two minutes.

    The guard uses the real clock, whatever the settings say: it measures what happens now.
    Raises LocalFlinkError or ClusterError when the job does not run as requested.
    """
    word_count, clock = WordCount(), RealClock()
    truth = {name: replace(of, service_cv2=0.0) for name, of in word_count.declared_profiles().items()}
    job = ModeledJob(word_count.topology, truth)
    cluster = FlinkCluster(flink.url, job.name, job.topology, timeout_s=60)
    plan, too_small = (word_count_plan(word_count, each) for each in (_FITS, _TOO_SMALL))
    running = job.start(flink, {}, {SOURCE: ArrivalSchedule((time.time() + _AHEAD_S,), (OFFERED_PER_S,))})
    try:
        bring_to(cluster, plan, clock)
        bring_to(cluster, too_small, clock)
        progress(f"{OFFERED_PER_S:g}/s arrive; rescaled by hand: {plan.brief()} → {too_small.brief()}")
        watch = watch_guard(settings.model_copy(update={"clock": "real"}), job.name, progress=progress)
    finally:
        running.cancel()
    return Healing(OFFERED_PER_S, plan, too_small, watch)
