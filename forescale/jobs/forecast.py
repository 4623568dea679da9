"""Arrival history → a forecast of each source, tracked in MLflow and kept in the ledger.

The slow part, the backtest and the fits, is done every few hours; in between, the trained models forecast from the
newest counts. Few sources are forecast in this process, many over Spark.
"""

import glob
import hashlib
import logging
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from forecasting.arrivals.history import UTC_NAME, ArrivalHistory, ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.drift import ForecastDrift, horizons_to_demote
from forecasting.errors import ForecastError, HistoryError, TrackingError
from forecasting.events.calendar import Event
from forecasting.events.effects import without_outages
from forecasting.events.recurring_days import with_past_days
from forecasting.fleet import ForecastResult, ForecastTask, forecast_each
from forecasting.folder import put_in_place
from forecasting.forecast import HORIZONS_S, Forecast
from forecasting.forecast_file import PATHS_FILE
from forecasting.pipeline import known_history, least_days
from forecasting.siblings import NOTHING_LENT, Lent, LentShape, is_young
from forecasting.terms import ForecastTerms
from forecasting.tracking.batch import FEW, BatchContent, BatchHead, TrackedBatch, slug
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.trained import Trained
from forecasting.trained_file import read_trained
from forescale.files.events_section import event_calendar
from forescale.files.file_lock import locked
from forescale.files.safe_name import safe_name
from forescale.files.topology import TopologyConfig
from forescale.jobs.clock_check import set_aside_what_is_ahead
from forescale.jobs.forecast_report import reports_after_forecast
from forescale.jobs.forecast_request import ForecastRequest
from forescale.jobs.newest_forecasts import recorded_forecast
from forescale.jobs.past_forecasts import drifts_by_source, write_failures
from forescale.jobs.siblings import Lenders
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import task_session
from modeling.wording import count_of
from planner.ledger.entries import ForecastEntry

log = logging.getLogger(__name__)

Progress = Callable[[str], None]

MAX_WATCHED = 50
"""Number of sources up to which each forecast first reads past ones, to demote models that began to lose."""

A_MONTH = timedelta(days=31)
"""Holidays up to its end tell which working day is its last."""

UNRECORDED = ".unrecorded"
"""Folder of trained models until MLflow has all of them: a refresh must never name a version that is not there."""


@dataclass(frozen=True)
class MadeForecasts:
    """By source: forecasts: folders. run_ids: of MLflow. peaks_per_s: by horizon and quantile. failures: why a source
    could not be forecast. reports: pages. siblings: what was borrowed from them, or could not be, in words.
    """

    topology: str
    forecasts: Mapping[str, Path]
    run_ids: Mapping[str, str]
    peaks_per_s: Mapping[str, Mapping[int, tuple[float, ...]]]
    failures: Mapping[str, str]
    reports: Mapping[str, Path]
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def forecast(workspace: Workspace, topology: str, *, progress: Progress | None = None) -> MadeForecasts:
    """Forecast each source from the data known now.

    The same history gives the same forecast, and is tracked once, with the commit of the history that was read. A
    failing source is reported with its cause and keeps its previous forecast. Raises HistoryError or ForecastError
    if all sources fail, TrackingError if MLflow does not answer.
    """
    config = workspace.config(topology)
    trained = workspace.settings.home / "trained" / config.topology
    # One job may use the models that the other trains.
    with locked(trained / ".lock"):
        shutil.rmtree(trained / UNRECORDED, ignore_errors=True)  # left by a killed job
        made, failures = _forecasts(workspace, config, progress)
        forecasts = {source: recorded_forecast(entry, with_paths=False) for source, entry in made.items()}
        return MadeForecasts(
            config.topology,
            {source: Path(entry.folder) for source, entry in made.items()},
            {source: entry.run_id for source, entry in made.items()},
            {
                source: {horizon_s: tuple(peak.tolist()) for horizon_s, peak in one.peak_per_s.items()}
                for source, one in forecasts.items()
            },
            failures,
            reports_after_forecast(workspace, topology),
            {source: one.sibling_notes for source, one in forecasts.items() if one.sibling_notes},
        )


def _forecasts(
    workspace: Workspace, config: TopologyConfig, progress: Progress | None
) -> tuple[dict[str, ForecastEntry], dict[str, str]]:
    """The ledger's entries by source, and by source the reasons why others have none."""
    ledger = workspace.ledger
    now = workspace.clock.now()
    set_aside_what_is_ahead(workspace, config, now, by="forecast")
    history = read_history(workspace.settings.history_dir, config.topology).in_local_time(config.timezones)
    sources = config.as_topology().sources
    known = {entry.id: entry for entry in ledger.forecasts(config.topology, limit=max(100, 2 * len(sources)))}
    request = ForecastRequest.of(config, now, history.snapshot)
    lenders = Lenders(workspace, request)
    entries: dict[str, ForecastEntry] = {}
    failures: dict[str, str] = {}
    every: list[Wanted] = []
    for source in sources:
        try:
            one = wanted_forecast(workspace, request, history, source, lenders.lent)
        except (HistoryError, ForecastError) as error:
            failures[source] = str(error)
            continue
        every.append(one)
        entry = known.get(one.identity)
        if entry is not None and _readable(entry):
            entries[source] = entry
    wanted = [one for one in every if one.order.source not in entries]
    batch: TrackedBatch | None = None
    made: dict[str, ForecastEntry] = {}
    if wanted:
        kept = {one.order.source: one.order.trained for one in every if one.version is not None}
        in_use = {entry.model_version for entry in known.values()}
        batch, made, failed = _made_batch(workspace, wanted, kept, request, config, in_use, progress)
        entries |= made
        failures |= failed
    for source in sorted(entries):
        ledger.record_forecast(entries[source])
    if batch is not None and made:
        _close(workspace.tracker, batch)
    write_failures(workspace.settings.forecasts_dir / config.topology, now, failures)
    if not entries:
        told = "; ".join(f"{source}: {cause}" for source, cause in failures.items())
        raise ForecastError(f"no source of {config.topology} can be forecast: {told}")
    for source, cause in failures.items():
        log.error("source %s of %s is not forecast: %s", source, config.topology, cause)
    return entries, failures


def _readable(entry: ForecastEntry) -> bool:
    """Whether its files exist; otherwise it is made again."""
    try:
        recorded_forecast(entry, with_paths=False)
    except ForecastError as error:
        log.warning("a forecast is repeated: %s", error)
        return False
    return (Path(entry.folder) / PATHS_FILE).exists()


@dataclass(frozen=True)
class Wanted:
    """A source to forecast. identity: the same for the same forecast; version: of the model to use, None to train
    again.

    shapes: borrowed shapes, or those that may be borrowed.
    """

    identity: str
    order: ForecastTask
    version: str | None
    series: ArrivalSeries
    shapes: tuple[LentShape, ...] = ()


def wanted_forecast(
    workspace: Workspace,
    request: ForecastRequest,
    history: ArrivalHistory,
    source: str,
    lend: Callable[[ArrivalSeries], Lent] | None = None,
) -> Wanted:
    """Prepare the forecast of a source. history: in local time. lend: returns what a young source may borrow for its
    training. Raises HistoryError or ForecastError.
    """
    wanted, now = request.forecast, request.issued_at
    whole = history.source(source)
    until = min(whole.end, now)
    # One step more, since the first and the last one may be cut.
    span = timedelta(days=wanted.train_days, seconds=wanted.step_s)
    # A model trained now is used until its refit.
    reach = now + timedelta(seconds=wanted.horizon_s + wanted.refit_s)
    declared = event_calendar(request.events, whole.start, reach + A_MONTH).of_source(source)
    known = without_outages(whole.between(whole.start, until), declared)
    series = known.between(max(whole.start, until - span), until)
    past = with_past_days(declared, known, series.start, reach)
    calendar = past.calendar
    terms = ForecastTerms(
        wanted.step_s, wanted.horizon_s, HORIZONS_S, wanted.paths, wanted.origins, wanted.seed, wanted.prophet
    )
    local = "" if series.timezone == UTC_NAME else f"|{series.timezone}"
    like = f"|{' '.join(request.like[source])}" if source in request.like else ""
    learns = _short(f"{wanted.model_dump_json()}|{request.model_dump_json(include={'events'})}{local}{like}")
    home, name = workspace.settings.home.resolve(), safe_name(source)
    trained = home / "trained" / request.topology / f"{name}-{learns}"
    fresh = _fresh(trained, now, wanted.refit_s)
    # A repeated run uses what was recorded, whatever is stored here.
    if fresh is not None and not request.digests:
        lent = Lent(fresh.siblings)
    else:
        young = is_young(whole.between(whole.start, until))
        lent = lend(series) if lend is not None and young else NOTHING_LENT
    seen = _data_digest(series, now, terms.step_s, lent)
    told = f"|{calendar.digest()}" if calendar.events else ""
    told += "".join(f"|{shape.digest}" for shape in lent.shapes)
    identity = _short(f"{request.topology}|{source}|{seen}|{wanted.model_dump_json()}{told}")
    order = ForecastTask(
        request.topology,
        source,
        series.start,
        series.window_s,
        series.counts,
        now,
        terms,
        calendar,
        trained,
        train=False,
        folder=workspace.settings.forecasts_dir.resolve() / request.topology / f"{now:%Y%m%dT%H%M%S}-{name}-{identity}",
        history_snapshot=history.snapshot,
        notes=tuple(_told_found(event) for event in past.added if event.end > now),
        timezone=series.timezone,
        lent=lent,
    )
    return Wanted(identity, order, None if fresh is None else fresh.model_version, series, lent.shapes)


def _told_found(event: Event) -> str:
    ratio = "" if event.ratio is None else f", {event.ratio:.2g} times the usual load"
    return f"{event.start:%Y-%m-%d %H:%M} UTC: {event.label}{ratio}, which stood out on past days"


def _data_digest(series: ArrivalSeries, now: datetime, step_s: int, lent: Lent) -> str:
    """Digest of the data a forecast would use. Raises ForecastError if that is too little, with notes on siblings."""
    try:
        return known_history(series, now, step_s, least_days(lent.shapes)).digest()
    except ForecastError as error:
        raise ForecastError("; ".join((str(error), *lent.notes))) from None


def _fresh(trained: Path, now: datetime, refit_s: float) -> Trained | None:
    """The trained model, if it exists and is not too old."""
    try:
        known = read_trained(trained)
    except ForecastError:
        return None
    # A model trained after now belongs to another run of the clock.
    fresh = timedelta() <= now - known.trained_to < timedelta(seconds=refit_s)
    return known if fresh else None


def _made_batch(
    workspace: Workspace,
    wanted: Sequence[Wanted],
    kept: Mapping[str, Path],
    request: ForecastRequest,
    config: TopologyConfig,
    in_use: Collection[str],
    progress: Progress | None,
) -> tuple[TrackedBatch, dict[str, ForecastEntry], dict[str, str]]:
    """Make the forecasts as one batch: entries by source, and causes of failure by source. It is to be closed.

    kept: folders of models trained earlier and still in use, by source: a new version includes them. in_use: versions
    of models whose forecasts the ledger has.
    """
    tracker = workspace.tracker
    trained = tuple(one.order.source for one in wanted if one.version is None)
    drifts = drifts_by_source(workspace, config) if len(wanted) <= MAX_WATCHED else {}
    demoted = {one.order.source: horizons_to_demote(drifts.get(one.order.source, ())) for one in wanted}
    siblings = {one.order.source: one.shapes for one in wanted if one.shapes}
    request = request.model_copy(update={"trained": trained, "demoted": demoted, "siblings": siblings})
    head = BatchHead(
        request.topology,
        request.issued_at,
        wanted[0].order.terms,
        request.history_snapshot,
        len(wanted),
        bool(trained),
        request.model_dump(mode="json"),
    )
    batch = tracker.begin(head)
    held = {source: _past_scores(of_source) for source, of_source in drifts.items()}
    orders = [
        replace(
            one.order,
            notes=(*one.order.notes, *held.get(one.order.source, ())),
            trained=_unrecorded(one.order.trained, one.version is None),
        ).with_run(one.version is None, demoted[one.order.source], batch.run_id, one.version or batch.model_version)
        for one in wanted
    ]
    try:
        outcomes = list(_outcomes(workspace, orders, progress))
        good = {outcome.source for outcome in outcomes if not outcome.failure}
        content = BatchContent(
            outcomes,
            trained={**kept, **{order.source: order.trained for order in orders if order.source in good}},
            forecasts={o.source: o.folder for o in orders if o.source in good and o.folder is not None},
            histories={one.order.source: one.series for one in wanted} if len(wanted) <= FEW else {},
            drifts=drifts,
        )
        tracker.finish(batch, content, in_use=in_use)
    except BaseException as error:
        _undo(tracker, batch, orders, error)
        raise
    for one, order in zip(wanted, orders, strict=True):
        if order.train and order.source in good:
            _keep(order.trained, one.order.trained)
        if order.demoted and not order.train:
            _tell_demoted(tracker, order)
    entries = {
        outcome.source: _entry(one, outcome.forecast)
        for one, outcome in zip(wanted, outcomes, strict=True)
        if outcome.forecast is not None
    }
    return batch, entries, {outcome.source: outcome.failure for outcome in outcomes if outcome.failure}


def _close(tracker: MlflowTracker, batch: TrackedBatch) -> None:
    """The forecasts are recorded: a run that stays open is closed by a later one."""
    try:
        tracker.close(batch)
    except TrackingError as error:
        log.warning("run %s is not closed: %s", batch.run_id, error)


def _undo(tracker: MlflowTracker, batch: TrackedBatch, orders: Sequence[ForecastTask], error: BaseException) -> None:
    """Remove every reference to an incomplete batch. Raises nothing: the first error is the one to see."""
    for order in orders:
        if order.train:
            shutil.rmtree(order.trained, ignore_errors=True)
    try:
        tracker.abandon(batch, f"{type(error).__name__}: {error}")
    except TrackingError as second:
        log.warning("run %s is not marked as failed: %s", batch.run_id, second)


def _unrecorded(trained: Path, trains: bool) -> Path:
    """Folder of the model that a task uses, or of the one it trains until that is recorded."""
    return trained.parent / UNRECORDED / trained.name if trains else trained


def _keep(unrecorded: Path, trained: Path) -> None:
    """Put the trained models in use. If that fails they are trained again."""
    try:
        put_in_place(unrecorded, trained)
    except OSError as error:
        log.warning("the trained forecasters are not kept, and are trained again for the next forecast: %s", error)
        return
    _prune(trained)


def _prune(trained: Path) -> None:
    """Remove models trained for the same source under other terms or events."""
    name, _, _ = trained.name.rpartition("-")
    for other in trained.parent.glob(f"{glob.escape(name)}-*"):
        if other != trained and other.name.rpartition("-")[0] == name:
            shutil.rmtree(other, ignore_errors=True)


def _tell_demoted(tracker: MlflowTracker, order: ForecastTask) -> None:
    reasons = {f"{slug(order.source)} {horizon_s} s": reason for horizon_s, reason in order.demoted.items()}
    try:
        tracker.demote(order.model_version, reasons)
    except TrackingError as error:
        log.warning("version %s is not tagged as demoted: %s", order.model_version, error)


def _past_scores(drifts: Sequence[ForecastDrift]) -> tuple[str, ...]:
    """Scores of past forecasts, stored with the next one."""
    return tuple(
        f"{drift.horizon_s} s: the p95 held in {drift.coverage:.1%} of {drift.completed} past forecasts"
        for drift in drifts
        if drift.completed
    )


def _outcomes(
    workspace: Workspace, orders: Sequence[ForecastTask], progress: Progress | None
) -> Iterator[ForecastResult]:
    """Results in the order of the tasks."""
    if len(orders) < workspace.settings.fan_out_from:
        yield from forecast_each(orders, progress)
        return
    from forecasting.fleet_spark import forecast_over_spark

    if progress is not None:
        progress(f"{count_of(len(orders), 'source')} over Spark")
    with task_session(workspace.settings, "forescale forecast") as session:
        yield from forecast_over_spark(session, orders)


def _entry(one: Wanted, forecast: Forecast) -> ForecastEntry:
    return ForecastEntry(
        id=one.identity,
        topology=forecast.topology,
        source=forecast.source,
        issued_at=forecast.issued_at,
        horizon_end=forecast.end,
        run_id=forecast.run_id,
        model_version=forecast.model_version,
        folder=str(one.order.folder),
        history_digest=forecast.history_digest,
        history_snapshot=forecast.history_snapshot,
    )


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
