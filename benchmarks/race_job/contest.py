"""What all policies of a race share, on the engine and in the replay; times are the trace's."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from calibration import Calibrated
from course import METRICS_S
from engine import CHECKPOINT_S, READ, WORK
from load import RaceLoad

from forecasting.arrivals.history import ArrivalSeries
from forecasting.terms import ForecastTerms
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.checkpoints import Checkpoints
from planner.clusters.engine_terms import EngineTerms
from planner.limits import FULL, Limits
from planner.replay.contest import Contest
from planner.replay.load import MINUTE_S
from planner.replay.policies.flink_autoscaler import FlinkAutoscaler, FlinkAutoscalerSettings
from planner.replay.policy import Decision, Seen
from planner.replay.variation import POISSON

WORK_S, CORES, MOST = 0.01, 0.1, 10
TOPOLOGY = Topology("race", (Operator(READ, max_parallelism=1), Operator(WORK)), (Stream(READ, WORK),))
READ_SHARE = 0.01
"""Of the work's time, that reading an event takes: the reader is never the bottleneck."""


@dataclass(frozen=True)
class RaceTerms:
    """max_lag_s: the target, in seconds of the race. allow: share of the minutes that may miss it."""

    max_lag_s: float
    allow: float
    forecast_every_s: int = 3600
    forecast: ForecastTerms = field(default_factory=lambda: ForecastTerms(300, 86400))

    def history(self, load: RaceLoad) -> Mapping[str, ArrivalSeries]:
        """Of past and raced minutes."""
        start = load.known.start
        counts = np.concatenate([load.past, load.raced]).astype(np.float64)
        by_minute = ArrivalSeries(TOPOLOGY.name, READ, start, MINUTE_S, counts)
        return {READ: by_minute.resampled(self.forecast.step_s)}


class RacedAutoscaler(FlinkAutoscaler):
    """Windows are the trace's, rates the race's: the library rounds capacities to whole tuples per second, and what an
    instance does in a second of the race it does not in a second of the trace.
    """

    def __init__(self, settings: FlinkAutoscalerSettings, name: str, speed: float) -> None:
        super().__init__(settings, name)
        self._speed = speed

    def decide(self, seen: Seen) -> Decision | None:
        rates = ("arrivals_per_s", "taken_per_s", "backlog", "records_in_per_s", "streams_per_s")
        raced = {name: self._speed * getattr(seen.measured, name) for name in rates}
        return super().decide(replace(seen, measured=replace(seen.measured, **raced)))


@dataclass(frozen=True, kw_only=True)
class RaceContest(Contest):
    """speed: seconds of the trace per second of the race."""

    speed: float

    def flink_autoscaler(self, name: str, settings: FlinkAutoscalerSettings) -> FlinkAutoscaler:
        return RacedAutoscaler(replace(settings, max_parallelism=max(self.most.values())), name, self.speed)


def contest_of(load: RaceLoad, terms: RaceTerms, known: Calibrated) -> RaceContest:
    service_s = load.speed / known.per_instance_s
    believed = {
        READ: OperatorProfile(READ, READ_SHARE * service_s, {f"{READ}->{WORK}": 1.0}),
        WORK: OperatorProfile(WORK, service_s),
    }
    whole_minutes_s = -(-METRICS_S / 2 * load.speed // MINUTE_S) * MINUTE_S
    return RaceContest(
        speed=load.speed,
        topology=TOPOLOGY,
        believed=believed,
        load=load.load,
        past=load.known,
        limits=Limits(max_instances=MOST + 1, max_parallelism={READ: 1, WORK: MOST}),
        headroom=FULL,
        engine=EngineTerms(
            known.downtime_s * load.speed,
            checkpoints=Checkpoints(CHECKPOINT_S * load.speed, 0.0, rescales_on_completion=True),
        ),
        max_lag_s=terms.max_lag_s * load.speed,
        slot_s=900,
        quantile=0.95,
        step_s=terms.forecast.step_s,
        horizon_s=terms.forecast.horizon_s,
        forecast_every_s=terms.forecast_every_s,
        allowed_share=terms.allow,
        metrics_delay_s=whole_minutes_s,
        variation=POISSON,
    )
