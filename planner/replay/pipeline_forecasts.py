"""Forecasts as the pipeline makes them, for each hour of a replay: trained every refit_s, issued from newer counts.

They are cached by a digest of their inputs, so that a second replay of the same history needs no forecasting.
"""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import horizons_to_demote
from forecasting.errors import ForecastError, HistoryError
from forecasting.events.calendar import EventCalendar
from forecasting.events.recurring_days import MAX_DAYS, with_past_days
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.forecasters import all_forecasters
from forecasting.joined_paths import JoinedForecasts, joined_forecasts
from forecasting.judged import judged_forecasts
from forecasting.pipeline import issue, known_history, train
from forecasting.terms import ForecastTerms
from planner.horizon.prices import HOURLY_S
from planner.replay.known_history import between, known_at, known_events

CACHE_VERSION = 3
"""Raised when forecasters give another forecast for the same history."""

KNOWN_AFTER_S = 300.0
"""Seconds from the hour at which a forecast starts until the job that makes it has finished."""

MAX_JUDGED = 300
"""Newest forecasts of a source that are judged; the forecast job uses as many."""

NO_EVENTS = EventCalendar()


@dataclass(frozen=True)
class _Block:
    """What one training serves: the moments at which it issues forecasts. demoted: horizons at which forecasts had been
    losing by then, with the reason.
    """

    series: ArrivalSeries
    train_s: float
    asked_s: tuple[float, ...]
    terms: ForecastTerms
    train_days: int
    folder: Path
    calendar: EventCalendar
    demoted: Mapping[int, str] = field(default_factory=dict)

    def without(self, demoted: Mapping[int, str]) -> "_Block":
        """The same with the naive forecaster at some horizons, stored beside it."""
        horizons = "-".join(str(horizon_s) for horizon_s in sorted(demoted))
        return replace(self, demoted=demoted, folder=self.folder.with_name(f"{self.folder.name}-{horizons}"))


class PipelineForecasts:
    """Forecasts of each source at each hour. `prepare` makes those that are not stored yet."""

    def __init__(
        self,
        series: Mapping[str, ArrivalSeries],
        terms: ForecastTerms,
        train_days: int,
        refit_s: float,
        folder: Path,
        calendar: EventCalendar = NO_EVENTS,
        every_s: int = HOURLY_S,
    ) -> None:
        """folder: where forecasts are stored. refit_s: maximum age of a training; 0 trains for every forecast.
        calendar: events of all sources; each counts as known from the start, an outage once it has ended. every_s:
        between forecasts.
        """
        self._calendar = calendar
        self._series, self._terms, self._train_days = series, terms, train_days
        # Forecasts are issued on the hour, so trainings are on the hour too.
        self._refit_s, self._folder = max(1, math.ceil(refit_s / every_s)) * every_s, folder
        self._every_s = every_s
        self._keys: dict[tuple[str, float], str] = {}
        self._demoted: dict[tuple[str, float], str] = {}
        self._newest: tuple[float, Mapping[str, Forecast]] = (-1.0, {})
        self._with_paths = True

    def without_paths(self) -> "PipelineForecasts":
        """The same without sample paths, for policies that use only quantiles: paths are most of a forecast and slow to
        read.
        """
        others = copy(self)
        others._with_paths = False
        return others

    @property
    def digest(self) -> str:
        """Over everything that the forecasts depend on."""
        counts = "|".join(f"{source} {series.digest()}" for source, series in self._series.items())
        text = f"{self._terms_text}|{counts}|{self._calendar.digest()}|{self._every_s}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _terms_text(self) -> str:
        # Forecasters whose library is missing do not compete.
        libraries = "|".join(f"{name} {_version(name)}" for name in ("forescale", "prophet", "statsmodels"))
        return f"{CACHE_VERSION}|{libraries}|{self._terms}|{self._train_days}|{self._refit_s}"

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        asked_s = self._asked_s(at_s)
        if self._newest[0] != asked_s:
            self._newest = (asked_s, self._joined(asked_s).forecasts if self._with_paths else self._read(asked_s))
        return self._newest[1]

    def _asked_s(self, at_s: float) -> float:
        """When the newest forecast of a moment was issued."""
        return (at_s - KNOWN_AFTER_S) // self._every_s * self._every_s

    def prepare(
        self, from_s: float, until_s: float, executor: Executor, progress: Callable[[int, int], None]
    ) -> tuple[str, ...]:
        """Make the missing forecasts of that span. Returns notes on what could not be forecast, and where the naive
        forecaster stood in.

        progress: called with the number made, and the total.
        """
        blocks = [block for block in self._blocks(from_s, until_s) if not self._whole(block)]
        total, done = sum(len(block.asked_s) for block in blocks), 0
        progress(0, total)
        waiting = {executor.submit(_made, block): block for block in blocks}
        try:
            for future in as_completed(waiting):
                future.result()
                done += len(waiting[future].asked_s)
                progress(done, total)
        finally:
            for future in waiting:
                future.cancel()
        self._demote(from_s, until_s, executor)
        return (*self._failures(from_s, until_s), *self._demotions(), *self._unpaired(from_s))

    def _unpaired(self, from_s: float) -> Iterator[str]:
        if note := self._joined(self._asked_s(from_s)).note:
            yield f"at the beginning {note}"

    def _demotions(self) -> Iterator[str]:
        for source, count in Counter(source for source, _ in self._demoted).items():
            yield f"{source}: trained {count} times with the naive forecaster in place of what had been losing"

    def _demote(self, from_s: float, until_s: float, executor: Executor) -> None:
        """Remake forecasts whose predecessors in the replay had been losing when they were trained."""
        digest = hashlib.sha256(f"{self.digest}|{from_s}|{until_s}".encode()).hexdigest()[:24]
        kept = self._folder / f"demoted-{digest}.json"
        if kept.exists():
            self._demoted = {(source, train_s): name for source, train_s, name in json.loads(kept.read_bytes())}
            return
        past: dict[str, list[Forecast]] = {source: [] for source in self._series}
        for block in self._blocks(from_s, until_s):
            judged = past[block.series.source]
            if demoted := _losing(block, judged[-MAX_JUDGED:]):
                block = block.without(demoted)
                if not self._whole(block):
                    executor.submit(_made, block).result()
                train_s = block.asked_s[0] // self._refit_s * self._refit_s
                self._demoted[block.series.source, train_s] = block.folder.name
            folders = [_of(block.folder, at_s) for at_s in block.asked_s if _kept(block.folder, at_s)]
            judged += [read_forecast(folder, with_paths=False) for folder in folders]
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        part.write_text(json.dumps([[*key, name] for key, name in self._demoted.items()]), encoding="utf-8")
        part.replace(kept)

    def _failures(self, from_s: float, until_s: float) -> Iterator[str]:
        """For each source, at how many hours it was not forecast, and the first reason."""
        failed: dict[str, list[Path]] = {}
        hours = 0
        for block in self._blocks(from_s, until_s):
            hours += len(block.asked_s)
            every = [_failure(block.folder, at_s) for at_s in block.asked_s]
            failed.setdefault(block.series.source, []).extend(path for path in every if path.exists())
        for source, paths in failed.items():
            if paths:
                reason = paths[0].read_text(encoding="utf-8")
                yield f"{source}: not forecast at {len(paths)} of {hours // len(failed)} hours: {reason}"

    def _blocks(self, from_s: float, until_s: float) -> Iterator[_Block]:
        first_s = self._asked_s(from_s)
        for source, series in self._series.items():
            train_s = first_s // self._refit_s * self._refit_s
            while train_s < until_s:
                end_s = min(until_s, train_s + self._refit_s)
                moments = range(int(max(first_s, train_s)), int(end_s), self._every_s)
                asked_s = tuple(float(at) for at in moments if at > series.start.timestamp())
                if asked_s:
                    folder = self._folder / self._key(source, train_s)
                    # The first hours of a replay use a training from before it.
                    events = self._events(source, train_s)
                    at_s = min(train_s, asked_s[0])
                    yield _Block(series, at_s, asked_s, self._terms, self._train_days, folder, events)
                train_s += self._refit_s

    def _events(self, source: str, train_s: float) -> EventCalendar:
        """Events that affect what one training learns from or forecasts."""
        at = datetime.fromtimestamp(train_s, UTC)
        start = at - timedelta(days=self._train_days)
        reach = at + timedelta(seconds=self._refit_s + self._terms.horizon_s)
        calendar = self._calendar.of_source(source)
        known = known_at(self._series[source], at, MAX_DAYS, calendar)
        if known is None:
            return calendar.between(start, reach)
        return with_past_days(calendar, known, start, reach).calendar

    def _key(self, source: str, train_s: float) -> str:
        """Digest of everything that a training's forecasts depend on, except their times, which are in the file
        names.
        """
        if (source, train_s) not in self._keys:
            series = self._series[source]
            text = f"{self._terms_text}|{source}|{train_s}"
            until = datetime.fromtimestamp(train_s + self._refit_s, UTC)
            # The training uses train_days before its time, and its last forecast is issued refit_s later.
            first_seen_s = timedelta(days=self._train_days, seconds=self._refit_s)
            seen = between(series, until - first_seen_s, until)
            text += f"|{seen.digest() if seen is not None else ''}"
            if (events := self._events(source, train_s)).events:
                text += f"|{events.digest()}"
            self._keys[source, train_s] = hashlib.sha256(text.encode()).hexdigest()[:24]
        return self._keys[source, train_s]

    @staticmethod
    def _whole(block: _Block) -> bool:
        return all(_kept(block.folder, at_s) or _failure(block.folder, at_s).exists() for at_s in block.asked_s)

    def _joined(self, hour_s: float) -> JoinedForecasts:
        """With paths joined across sources according to the history known by then."""
        at = datetime.fromtimestamp(hour_s, UTC)
        known = {
            s: known_at(each, at, self._train_days, self._calendar.of_source(s)) for s, each in self._series.items()
        }
        return joined_forecasts(self._read(hour_s), known)

    def _read(self, hour_s: float) -> Mapping[str, Forecast]:
        """Of all sources, or none: a plan needs all of them."""
        found = {}
        for source in self._series:
            train_s = hour_s // self._refit_s * self._refit_s
            folder = self._folder / self._demoted.get((source, train_s), self._key(source, train_s))
            if not _kept(folder, hour_s):
                return {}
            found[source] = read_forecast(_of(folder, hour_s), with_paths=self._with_paths)
        return found


@cache
def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def _made(block: _Block) -> None:
    """Make the forecasts of one training, and record why one could not be made. Raises ForecastError if they cannot be
    written.
    """
    block.folder.mkdir(parents=True, exist_ok=True)
    try:
        at = datetime.fromtimestamp(block.train_s, UTC)
        competing = all_forecasters(known_events(block.calendar, at), prophet=block.terms.prophet)
        trained = train(_known(block, at), issued_at=at, terms=block.terms, forecasters=competing)
        if block.demoted:
            trained = trained.demoted(dict(block.demoted))
    except (ForecastError, HistoryError) as error:
        for at_s in block.asked_s:
            _keep_failure(block.folder, at_s, str(error))
        return
    for at_s in block.asked_s:
        if _kept(block.folder, at_s):
            continue
        at = datetime.fromtimestamp(at_s, UTC)
        try:
            made = issue(trained, _known(block, at), issued_at=at)
        except (ForecastError, HistoryError) as error:
            _keep_failure(block.folder, at_s, str(error))
        else:
            write_forecast(made, _of(block.folder, at_s))


def _losing(block: _Block, past: Sequence[Forecast]) -> dict[int, str]:
    """Horizons to demote, by what was known at the training."""
    try:
        history = _known(block, datetime.fromtimestamp(block.train_s, UTC))
    except (ForecastError, HistoryError):
        return {}
    return horizons_to_demote(judged_forecasts(past, history).drifts) if past else {}


def _keep_failure(folder: Path, at_s: float, reason: str) -> None:
    part = _failure(folder, at_s).with_suffix(f".{os.getpid()}.part")
    part.write_text(reason, encoding="utf-8")
    part.replace(_failure(folder, at_s))


def _known(block: _Block, at: datetime) -> ArrivalSeries:
    """Windows that had ended by that moment. Raises ForecastError if there are none."""
    seen = known_at(block.series, at, block.train_days, block.calendar)
    if seen is None:
        raise ForecastError(f"source {block.series.source!r} has no history before {at}")
    return known_history(seen, at, block.terms.step_s)


def _of(folder: Path, at_s: float) -> Path:
    return folder / f"{int(at_s)}"


def _kept(folder: Path, at_s: float) -> bool:
    return _of(folder, at_s).is_dir()


def _failure(folder: Path, at_s: float) -> Path:
    return folder / f"{int(at_s)}.failure"
