"""What all policies of a race share, on the engine and in the replay; times are the trace's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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


def contest_of(load: RaceLoad, terms: RaceTerms, known: Calibrated) -> Contest:
    service_s = load.speed / known.per_instance_s
    believed = {
        READ: OperatorProfile(READ, READ_SHARE * service_s, {f"{READ}->{WORK}": 1.0}),
        WORK: OperatorProfile(WORK, service_s),
    }
    whole_minutes_s = -(-METRICS_S / 2 * load.speed // MINUTE_S) * MINUTE_S
    return Contest(
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
