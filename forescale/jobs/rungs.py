"""The ladder of what to plan by: the newest forecasts, else time-of-week profiles of the history, else nothing."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from forecasting.arrivals.history import ArrivalHistory
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import HORIZONS_S, Forecast
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.outage_shape import MAX_SHARE
from forecasting.terms import ForecastTerms
from forescale.files.topology import TopologyConfig
from forescale.history.quality_checks import RECENT, recent_checks
from forescale.jobs.newest_forecasts import newest_known, recorded_forecast
from forescale.jobs.past_forecasts import known_by
from forescale.jobs.suspected_outages import LOOKED_AT, known_events, recent_suspects
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from planner.decision_basis import Cause, CauseKind, DecisionBasis, Rung
from planner.fallback import unusable
from planner.ledger.entries import ForecastEntry, ScheduleEntry


@dataclass(frozen=True)
class Basis:
    """rung, causes: as in DecisionBasis. By source: forecasts: what to plan by, empty if there is nothing. entries: of
    those in the ledger. profiles: folders of the others, which were made for this schedule.
    """

    rung: Rung
    causes: tuple[Cause, ...]
    forecasts: Mapping[str, Forecast]
    entries: Mapping[str, ForecastEntry]
    profiles: Mapping[str, Path]

    def facts(self) -> DecisionBasis:
        return DecisionBasis(
            self.rung,
            self.causes,
            forecasts=tuple(entry.id for entry in self.entries.values()),
            histories=tuple(forecast.history_digest[:12] for forecast in self.forecasts.values()),
            profiles=tuple(folder.name for folder in self.profiles.values()),
        )


def planning_basis(workspace: Workspace, situation: Situation, now: datetime) -> Basis:
    """The best available rung, with why it is no better. A missing, old, short or unreadable forecast lowers the rung.
    A history that breaks its quality bounds is reported and not used for a profile; so are spans that look like an
    undeclared outage, which the forecasts have learnt. Raises LedgerError only.
    """
    # All that planning reads of the history lies within this span, so that it is read once.
    situation.history.reach(now - _widest(situation.config), now)
    basis = _basis(workspace, situation, now)
    try:
        suspects = recent_suspects(situation, now)
    except HistoryError:
        return basis
    outages = tuple(
        Cause(CauseKind.SUSPECTED_OUTAGE, each.source, each.share, MAX_SHARE, at=each.start, other_at=each.end)
        for each in suspects
    )
    return replace(basis, causes=(*basis.causes, *outages))


def _widest(config: TopologyConfig) -> timedelta:
    """Several sources are joined by their past errors, over the whole training data."""
    return LOOKED_AT if len(config.as_topology().sources) == 1 else max(LOOKED_AT, _learnt(config))


def _learnt(config: TopologyConfig) -> timedelta:
    return timedelta(days=config.forecast.train_days, seconds=config.forecast.step_s)


def _basis(workspace: Workspace, situation: Situation, now: datetime) -> Basis:
    config = situation.config
    entries = newest_known(config, workspace.ledger)
    usable, causes = _usable(config, entries, now)
    history = _history(situation, now, _learnt(config) if causes else RECENT)
    poor = {} if isinstance(history, Cause) else _below_bounds(workspace, config, history, now)
    if not causes:
        amiss = (history,) if isinstance(history, Cause) else tuple(poor.values())
        return Basis(Rung.FORECAST, amiss, usable, entries, {})
    sources = config.as_topology().sources
    made: dict[str, tuple[Path, Forecast]] = {}
    try:
        if isinstance(history, Cause):
            raise _NoProfileError(replace(history, kind=CauseKind.NO_PROFILE))
        if usable:
            others = [source for source in sources if source in causes]
            made = _profiles(workspace, config, history, poor, others, next(iter(usable.values())), now)
            if len({_grid(each) for each in (*usable.values(), *(forecast for _, forecast in made.values()))}) > 1:
                usable = {}
        if not usable:
            made = _profiles(workspace, config, history, poor, sources, None, now)
    except _NoProfileError as error:
        rung = Rung.GUARD if config.planning.guard_mode == "act" else Rung.HOLD
        return Basis(rung, (*causes.values(), error.cause), {}, {}, {})
    forecasts = {source: usable[source] if source in usable else made[source][1] for source in sources}
    return Basis(
        Rung.PROFILE,
        tuple(causes.values()),
        forecasts,
        {source: entries[source] for source in sources if source in usable},
        {source: made[source][0] for source in sources if source in made},
    )


def recorded_basis(workspace: Workspace, made: ScheduleEntry) -> Basis:
    """The basis of a recorded schedule. Raises ForecastError if a forecast is gone."""
    schedule = made.schedule
    sources = {entry.source: entry for entry in workspace.ledger.forecasts_of(made.id)}
    # The ledger returns them in no order; restore the order of the schedule.
    ids = schedule.basis.forecasts
    entries = dict(sorted(sources.items(), key=lambda item: ids.index(item[1].id) if item[1].id in ids else len(ids)))
    folders = [
        workspace.settings.forecasts_dir.resolve() / schedule.topology / name for name in schedule.basis.profiles
    ]
    profiles = {forecast.source: (folder, forecast) for folder in folders for forecast in [read_forecast(folder)]}
    forecasts = {source: recorded_forecast(entry) for source, entry in entries.items()}
    return Basis(
        schedule.basis.rung,
        schedule.basis.causes,
        {**forecasts, **{source: forecast for source, (_, forecast) in profiles.items()}},
        entries,
        {source: folder for source, (folder, _) in profiles.items()},
    )


def _usable(
    config: TopologyConfig, entries: Mapping[str, ForecastEntry], now: datetime
) -> tuple[dict[str, Forecast], dict[str, Cause]]:
    """Forecasts on one grid, and for each other source why its forecast is not usable."""
    found: dict[str, Forecast] = {}
    causes: dict[str, Cause] = {}
    stale = timedelta(seconds=config.planning.stale_s)
    for source in config.as_topology().sources:
        entry = entries.get(source)
        if entry is None:
            causes[source] = Cause(CauseKind.NO_FORECAST, source)
        elif (cause := unusable(source, entry.issued_at, entry.horizon_end, now, stale)) is not None:
            causes[source] = cause
        else:
            try:
                found[source] = recorded_forecast(entry)
            except ForecastError as error:
                causes[source] = Cause(CauseKind.UNREADABLE_FORECAST, source, detail=str(error))
    if found:
        newest = max(found.values(), key=lambda forecast: forecast.issued_at)
        for source in [source for source, forecast in found.items() if _grid(forecast) != _grid(newest)]:
            other = found.pop(source)
            steps = (float(other.step_s), float(newest.step_s))
            causes[source] = Cause(
                CauseKind.OTHER_GRID, source, *steps, at=other.start, other=newest.source, other_at=newest.start
            )
    return found, causes


def _grid(forecast: Forecast) -> tuple[datetime, int, tuple[int, ...]]:
    return forecast.start, forecast.step_s, forecast.paths_per_s.shape


def _history(situation: Situation, now: datetime, span: timedelta) -> ArrivalHistory | Cause:
    """The history of this span before now, or why there is none."""
    try:
        return situation.history.between(now - span, now).in_local_time(situation.config.timezones)
    except HistoryError as error:
        return Cause(CauseKind.NO_HISTORY, detail=str(error))


def _below_bounds(
    workspace: Workspace, config: TopologyConfig, history: ArrivalHistory, now: datetime
) -> dict[str, Cause]:
    """For each source whose history breaks a bound of `arrivals.quality`: which bound and by how much."""
    if config.arrivals_section is None:
        return {}
    sources = config.as_topology().sources
    try:
        checks = recent_checks(workspace.settings.history_dir, history, sources, config.arrivals_section.quality, now)
    except HistoryError as error:
        return dict.fromkeys(sources, Cause(CauseKind.UNKNOWN_QUALITY, detail=str(error)))
    broken: dict[str, Cause] = {}
    for check in checks:
        if not check.holds:
            cause = Cause(CauseKind.POOR_HISTORY, check.source, check.value, check.limit, setting=check.bound)
            broken.setdefault(check.source, cause)
    return broken


class _NoProfileError(Exception):
    """No profile can be made, and why."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.kind)
        self.cause = cause


def _profiles(
    workspace: Workspace,
    config: TopologyConfig,
    history: ArrivalHistory,
    poor: Mapping[str, Cause],
    sources: Collection[str],
    beside: Forecast | None,
    now: datetime,
) -> dict[str, tuple[Path, Forecast]]:
    """Folder and profile of each source. beside: the forecast whose grid they must have.

    Raises _NoProfileError if a source's history is not good enough.
    """
    from forecasting.profile_forecast import profile_forecast  # all forecasters, which a plan by a forecast leaves out

    terms, issued_at = _terms(config, beside), now if beside is None else beside.issued_at
    made: dict[str, tuple[Path, Forecast]] = {}
    for source in sources:
        if source in poor:
            raise _NoProfileError(replace(poor[source], kind=CauseKind.NO_PROFILE))
        try:
            series = known_by(history, source, config.events, issued_at)
            if series is None:
                raise HistoryError(f"source {source!r} has no arrival history; run `forescale history build`")
            end = issued_at + timedelta(seconds=terms.horizon_s)
            calendar = known_events(config, series.start, end).of_source(source)
            forecast = profile_forecast(
                series, issued_at=issued_at, terms=terms, history_snapshot=history.snapshot, calendar=calendar
            )
        except (ForecastError, HistoryError) as error:
            raise _NoProfileError(Cause(CauseKind.NO_PROFILE, source, detail=str(error))) from None
        events = f"|{calendar.digest()}" if calendar.events else ""
        identity = hashlib.sha256(f"{source}|{forecast.history_digest}|{terms}{events}".encode()).hexdigest()[:16]
        folder = workspace.settings.forecasts_dir.resolve() / config.topology / f"profile-{identity}"
        write_forecast(forecast, folder)
        made[source] = folder, forecast
    return made


def _terms(config: TopologyConfig, beside: Forecast | None) -> ForecastTerms:
    wanted = config.forecast
    if beside is None:
        return ForecastTerms(wanted.step_s, wanted.horizon_s, HORIZONS_S, wanted.paths, wanted.origins, wanted.seed)
    paths, steps = beside.paths_per_s.shape
    horizons_s = tuple(beside.peak_per_s)
    return ForecastTerms(beside.step_s, beside.step_s * steps, horizons_s, paths, wanted.origins, wanted.seed)
