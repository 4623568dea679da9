"""Forecasts of many sources, each by itself: a failure concerns one source and is reported with its cause.

A ForecastTask contains all that is needed to forecast one source anywhere; see fleet_spark for parallel execution.
"""

import logging
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.events.calendar import EventCalendar
from forecasting.forecast import Forecast
from forecasting.forecast_file import forecast_digest, write_forecast
from forecasting.forecasters import all_forecasters
from forecasting.pipeline import issue, train
from forecasting.siblings import NOTHING_LENT, Lent
from forecasting.terms import ForecastTerms
from forecasting.trained_file import read_trained, write_trained

log = logging.getLogger(__name__)

WITHOUT_CAUSE = "it says nothing more; run the source alone with `forescale forecast` to see where"


@dataclass(frozen=True)
class ForecastTask:
    """A source to forecast from `counts` (NaN: missing) in windows of window_s from start.

    trained: folder of the trained model; train: whether to train it there first. demoted: horizons at which the naive
    forecaster takes over, with reasons. folder: destination of the forecast, None to discard it. run_id, model_version,
    history_snapshot, notes: recorded in the forecast. timezone: of its days and weeks. lent: what training may borrow.
    """

    topology: str
    source: str
    start: datetime
    window_s: int
    counts: Floats = field(repr=False)
    issued_at: datetime
    terms: ForecastTerms
    calendar: EventCalendar
    trained: Path
    train: bool
    demoted: dict[int, str] = field(default_factory=dict)
    folder: Path | None = None
    run_id: str = ""
    model_version: str = ""
    history_snapshot: str = ""
    notes: tuple[str, ...] = ()
    timezone: str = UTC_NAME
    lent: Lent = NOTHING_LENT

    def with_run(self, train: bool, demoted: Mapping[int, str], run_id: str, model_version: str) -> "ForecastTask":
        """The same task as part of a tracked batch."""
        return replace(self, train=train, demoted=dict(demoted), run_id=run_id, model_version=model_version)


@dataclass(frozen=True)
class ForecastResult:
    """The result of a task. forecast: without paths, None if it failed. failure: the reason, in one line.

    digest: of all numbers of the forecast, including paths. fresh: whether a model was trained. cpu_s: processor time,
    including processes started by Prophet.
    """

    source: str
    forecast: Forecast | None
    failure: str
    digest: str
    fresh: bool
    cpu_s: float


def forecast_each(
    orders: Sequence[ForecastTask], progress: Callable[[str], None] | None = None
) -> Iterator[ForecastResult]:
    """The results in the order of the tasks, one source after another, in this process."""
    for number, order in enumerate(orders, start=1):
        if progress is not None:
            progress(f"{order.source} ({number} of {len(orders)})")
        yield run_task(order, progress)


def run_task(order: ForecastTask, progress: Callable[[str], None] | None = None) -> ForecastResult:
    """Run one task and store its forecast in the task's folder. Raises only what stops the process."""
    began_s = _cpu_s()
    forecast, failure, digest = None, "", ""
    try:
        forecast, digest = _forecast(order, progress)
    except (ForecastError, HistoryError) as error:
        failure = str(error)
    except Exception as error:
        log.exception("forecast of source %r of topology %r failed", order.source, order.topology)
        failure = f"{type(error).__name__}: {' '.join(str(error).split())[:300] or WITHOUT_CAUSE}"
    return ForecastResult(order.source, forecast, failure, digest, order.train, _cpu_s() - began_s)


def _forecast(order: ForecastTask, progress: Callable[[str], None] | None) -> tuple[Forecast, str]:
    series = ArrivalSeries(order.topology, order.source, order.start, order.window_s, order.counts, order.timezone)
    if order.train:
        learnt = train(
            series,
            issued_at=order.issued_at,
            terms=order.terms,
            history_snapshot=order.history_snapshot,
            forecasters=all_forecasters(order.calendar, prophet=order.terms.prophet, siblings=order.lent.series),
            lent=order.lent,
            progress=progress,
        )
        learnt = replace(learnt, model_version=order.model_version)
        write_trained(learnt, order.trained)
    else:
        learnt = read_trained(order.trained)
    if order.demoted:
        learnt = learnt.demoted(order.demoted)
    issued = issue(learnt, series, issued_at=order.issued_at, history_snapshot=order.history_snapshot)
    forecast = replace(issued, run_id=order.run_id, notes=(*issued.notes, *order.notes))
    if order.folder is not None:
        write_forecast(forecast, order.folder)
    without_paths = replace(forecast, paths_per_s=np.empty((0, forecast.rate_per_s.shape[0])))
    return without_paths, forecast_digest(forecast)


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
