"""The peak within any coming span of the newest forecasts, per source and in total."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forecasting.errors import ForecastError
from forecasting.span_peaks import joint_peak_between_per_s, peak_between_per_s
from forescale.codec import Moment
from forescale.files.topology import TopologyConfig
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.newest_forecasts import newest_forecasts, recorded_forecast
from forescale.situation.workspace import Workspace


@dataclass(frozen=True)
class ComingPeak:
    """start, end: the span, in UTC. issued_at: of the oldest forecast. per_s: by source, quantiles of the largest rate
    in the span. together_per_s: likewise of the sum of all sources; None if there is only one.
    """

    topology: str
    start: Moment
    end: Moment
    issued_at: Moment
    per_s: Mapping[str, Mapping[float, float]]
    together_per_s: Mapping[float, float] | None
    notes: tuple[str, ...] = ()


def coming_peak(
    workspace: Workspace,
    config: TopologyConfig,
    start: datetime | None,
    end: datetime | None,
    quantiles: Sequence[float],
) -> ComingPeak:
    """start: by default now, or the forecast's beginning if that is later; end: by default the forecast's end.

    Raises PlanError if a source has no forecast, ForecastError if the newest ones do not cover the span.
    """
    now = workspace.clock.now()
    entries = newest_forecasts(config, workspace.ledger)
    forecasts = {source: recorded_forecast(entry) for source, entry in entries.items()}
    last = min(each.end for each in forecasts.values())
    if last <= now:
        raise ForecastError(
            f"the newest forecasts of topology {config.topology!r} ended at {last:%Y-%m-%d %H:%M} UTC; run `forescale "
            f"forecast {config.topology}`"
        )
    begin = start or max(now, *(each.start for each in forecasts.values()))
    until = end or last
    joint = joint_forecasts(workspace.situation(config), workspace.ledger, forecasts)
    per_s = {
        source: {quantile: peak_between_per_s(each, begin, until, quantile) for quantile in quantiles}
        for source, each in forecasts.items()
    }
    together = None
    if len(forecasts) > 1:
        together = {q: joint_peak_between_per_s(joint.forecasts, begin, until, q) for q in quantiles}
    issued = min(each.issued_at for each in forecasts.values())
    notes = (joint.note,) if joint.note else ()
    return ComingPeak(config.topology, begin, until, issued, per_s, together, notes)
