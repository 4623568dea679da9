"""Forecasts as the pipeline makes them, for each hour of a replay: trained every refit_s, and asked from newer counts.

They are kept by the digest of what they saw, so that a second replay of the same history costs no forecasting.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast, write_forecast
from forecasting.pipeline import issue, known_history, train
from forecasting.terms import ForecastTerms

CACHE_VERSION = 1
"""Raised where forecasters change what they say of the same history."""

EVERY_S = 3600.0
KNOWN_AFTER_S = 300.0
"""From the hour that a forecast looks on from until the job that makes it is done."""


@dataclass(frozen=True)
class _Block:
    """What one training serves: the moments at which it is asked."""

    series: ArrivalSeries
    train_s: float
    asked_s: tuple[float, ...]
    terms: ForecastTerms
    train_days: int
    folder: Path


class PipelineForecasts:
    """Forecasts of each source at each hour. `prepare` makes those that are not kept yet."""

    def __init__(
        self,
        series: Mapping[str, ArrivalSeries],
        terms: ForecastTerms,
        train_days: int,
        refit_s: float,
        folder: Path,
    ) -> None:
        """folder: where forecasts are kept. refit_s: how old what was trained may be; 0 for every forecast."""
        self._series, self._terms, self._train_days = series, terms, train_days
        # What is asked on the hour is trained on the hour.
        self._refit_s, self._folder = max(1, math.ceil(refit_s / EVERY_S)) * EVERY_S, folder
        self._keys: dict[tuple[str, float], str] = {}
        self._newest: tuple[float, Mapping[str, Forecast]] = (-1.0, {})

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        hour_s = (at_s - KNOWN_AFTER_S) // EVERY_S * EVERY_S
        if self._newest[0] != hour_s:
            self._newest = (hour_s, self._read(hour_s))
        return self._newest[1]

    def prepare(
        self, from_s: float, until_s: float, executor: Executor, progress: Callable[[int, int], None]
    ) -> tuple[str, ...]:
        """Make what lacks of that span; what could not be forecast is told. progress: made, and how many there are."""
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
        return tuple(self._failures(from_s, until_s))

    def _failures(self, from_s: float, until_s: float) -> Iterator[str]:
        """Of each source, at how many hours it was not forecast, and why the first time."""
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
        first_s = (from_s - KNOWN_AFTER_S) // EVERY_S * EVERY_S
        for source, series in self._series.items():
            train_s = first_s // self._refit_s * self._refit_s
            while train_s < until_s:
                end_s = min(until_s, train_s + self._refit_s)
                hours = range(int(max(first_s, train_s)), int(end_s), int(EVERY_S))
                asked_s = tuple(float(at) for at in hours if at > series.start.timestamp())
                if asked_s:
                    folder = self._folder / self._key(source, train_s)
                    # The first hours of a replay were served by what had been trained before it.
                    yield _Block(series, min(train_s, asked_s[0]), asked_s, self._terms, self._train_days, folder)
                train_s += self._refit_s

    def _key(self, source: str, train_s: float) -> str:
        """Of everything that the forecasts of one training depend on but the counts, which stand in their names."""
        if (source, train_s) not in self._keys:
            series = self._series[source]
            told = f"{CACHE_VERSION}|{version('forescale')}|{self._terms}|{self._train_days}|{self._refit_s}"
            told += f"|{source}|{train_s}"
            until = datetime.fromtimestamp(train_s + self._refit_s, UTC)
            # The first is trained on what came train_days before it, and the last asked of what came until then.
            first_seen_s = timedelta(days=self._train_days, seconds=self._refit_s)
            seen = _between(series, until - first_seen_s, until)
            told += f"|{seen.digest() if seen is not None else ''}"
            self._keys[source, train_s] = hashlib.sha256(told.encode()).hexdigest()[:24]
        return self._keys[source, train_s]

    @staticmethod
    def _whole(block: _Block) -> bool:
        return all(_kept(block.folder, at_s) or _failure(block.folder, at_s).exists() for at_s in block.asked_s)

    def _read(self, hour_s: float) -> Mapping[str, Forecast]:
        """Of all sources, or none: a plan needs them all."""
        found = {}
        for source in self._series:
            folder = self._folder / self._key(source, hour_s // self._refit_s * self._refit_s)
            if not _kept(folder, hour_s):
                return {}
            found[source] = read_forecast(_of(folder, hour_s))
        return found


def _made(block: _Block) -> None:
    """Forecasts of one training, and beside them why one could not be made. Raises ForecastError where they cannot be
    written.
    """
    block.folder.mkdir(parents=True, exist_ok=True)
    try:
        at = datetime.fromtimestamp(block.train_s, UTC)
        trained = train(_known(block, at), issued_at=at, terms=block.terms)
    except (ForecastError, HistoryError) as error:
        for at_s in block.asked_s:
            _keep_failure(block.folder, at_s, str(error))
        return
    for at_s in block.asked_s:
        at = datetime.fromtimestamp(at_s, UTC)
        try:
            made = issue(trained, _known(block, at), issued_at=at)
        except (ForecastError, HistoryError) as error:
            _keep_failure(block.folder, at_s, str(error))
        else:
            write_forecast(made, _of(block.folder, at_s))


def _keep_failure(folder: Path, at_s: float, reason: str) -> None:
    part = _failure(folder, at_s).with_suffix(".part")
    part.write_text(reason, encoding="utf-8")
    part.replace(_failure(folder, at_s))


def _known(block: _Block, at: datetime) -> ArrivalSeries:
    """What was over at a moment, and no window more. Raises ForecastError where nothing was."""
    seen = _between(block.series, at - timedelta(days=block.train_days), at)
    if seen is None:
        raise ForecastError(f"source {block.series.source!r} has no history before {at}")
    return known_history(seen, at, block.terms.step_s)


def _between(series: ArrivalSeries, start: datetime, end: datetime) -> ArrivalSeries | None:
    try:
        return series.between(max(series.start, start), min(series.end, end))
    except HistoryError:
        return None


def _of(folder: Path, at_s: float) -> Path:
    return folder / f"{int(at_s)}"


def _kept(folder: Path, at_s: float) -> bool:
    return _of(folder, at_s).is_dir()


def _failure(folder: Path, at_s: float) -> Path:
    return folder / f"{int(at_s)}.failure"
