"""A deployed forecaster as files: `deployed.json` for its structure, `arrays.npy` for its numbers. No pickle, exact.

All arrays are concatenated in one file, since opening twenty files takes longer than forecasting.
"""

import math
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from forecasting.bounded_file import bounded_bytes, check_regular
from forecasting.calibration import Calibration
from forecasting.deployed import DeployedForecaster
from forecasting.errors import ForecastError
from forecasting.events.calendar import MAX_RATIO
from forecasting.events.effects import EventEffects, KnownEffect
from forecasting.events.event_aware_forecaster import EventAware
from forecasting.forecaster import FittedForecaster
from forecasting.local_time import zone
from forecasting.models.borrowed_forecaster import BorrowedShape, SiblingShape
from forecasting.models.first_days_forecaster import FirstDays
from forecasting.models.harmonic_arima_forecaster import ArmaMemory
from forecasting.models.local_time_forecaster import LocalTimeFitted
from forecasting.models.naive_paths import NaivePaths
from forecasting.models.open_hours import OpenHours
from forecasting.models.persistence_forecaster import LastMean
from forecasting.models.residual_correction import CorrectedForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonAgo
from forecasting.models.slow_level import GridLevel, WeeklyLevel
from forecasting.models.transform import Transform
from forecasting.selection import Ensemble

JSON_FILE, ARRAYS_FILE = "deployed.json", "arrays.npy"

Arrays = Mapping[str, npt.NDArray[np.float64]]


def _known_zone(name: str) -> str:
    return zone(name).key


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Corrected(_Strict):
    """grid_start: of a level stored for a span; None for a weekly level that repeats."""

    kind: Literal["corrected"] = "corrected"
    window_s: int
    transform: Literal["log", "sqrt"]
    grid_start: datetime | None
    errors_end: datetime
    highest_count: float
    memory: ArmaMemory | None
    learns_from: int | None


class _Naive(_Strict):
    kind: Literal["naive"] = "naive"
    window_s: int
    rule: Literal["last_mean", "season_ago"]
    windows: int
    lag: int
    reach: int | None


class _Effect(_Strict):
    start: AwareDatetime
    end: AwareDatetime
    ratio: Annotated[float, Field(ge=0, le=MAX_RATIO)]


class _EventAware(_Strict):
    """outages: start and end of each."""

    kind: Literal["event_aware"] = "event_aware"
    effects: tuple[_Effect, ...]
    outages: tuple[tuple[AwareDatetime, AwareDatetime], ...]
    fitted: "_Fitted"


class _LocalTime(_Strict):
    kind: Literal["local_time"] = "local_time"
    timezone: Annotated[str, AfterValidator(_known_zone)]
    fitted: "_Fitted"


class _Borrowed(_Strict):
    """siblings: entry of each; their arrays are numbered."""

    kind: Literal["borrowed"] = "borrowed"
    window_s: int
    siblings: tuple[_Corrected, ...]


class _FirstDays(_Strict):
    kind: Literal["first_days"] = "first_days"
    window_s: int


_Fitted = Annotated[
    _Corrected | _Naive | _EventAware | _LocalTime | _Borrowed | _FirstDays, Field(discriminator="kind")
]


class _Body(_Strict):
    """weights, naive, held_back: per horizon, in the order of horizons_s. arrays: shapes in file order. arrays_crc:
    CRC-32 of the bytes.
    """

    schema_version: Literal[3] = 3
    window_s: int
    steps: int
    horizons_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    weights: tuple[dict[str, float], ...]
    naive: tuple[str, ...]
    held_back: tuple[bool, ...]
    floor_per_s: float
    arrays: dict[str, tuple[int, ...]]
    arrays_crc: int
    fitted: dict[str, _Fitted]


def write_deployed(deployed: DeployedForecaster, folder: Path) -> None:
    """Write the two files into a folder, which is created. Raises ForecastError for an unknown type of forecaster."""
    arrays: dict[str, npt.NDArray[np.float64]] = {"offsets": deployed.ensemble.calibration.offsets}
    entries = {name: _entry(name, fitted, arrays) for name, fitted in deployed.fitted.items()}
    numbers = np.concatenate([array.reshape(-1) for array in arrays.values()])
    body = _Body(
        window_s=deployed.window_s,
        steps=deployed.steps,
        horizons_s=deployed.horizons_s,
        quantiles=deployed.quantiles,
        weights=tuple(dict(weights) for weights in deployed.ensemble.weights),
        naive=deployed.ensemble.naive,
        held_back=deployed.ensemble.held_back,
        floor_per_s=deployed.ensemble.calibration.floor_per_s,
        arrays={name: array.shape for name, array in arrays.items()},
        arrays_crc=zlib.crc32(numbers.tobytes()),
        fitted=entries,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JSON_FILE).write_text(body.model_dump_json(indent=1), encoding="utf-8")
    np.save(folder / ARRAYS_FILE, numbers, allow_pickle=False)


def read_deployed(folder: Path) -> DeployedForecaster:
    """The deployed forecaster of a folder. Raises ForecastError naming the file and what is wrong with it."""
    try:
        body = _Body.model_validate_json(bounded_bytes(folder / JSON_FILE))
        check_regular(folder / ARRAYS_FILE)
        # Never unpickle foreign files: an array of objects is refused.
        arrays = _arrays(np.load(folder / ARRAYS_FILE, allow_pickle=False), body)
        fitted = {name: _fitted(name, entry, arrays) for name, entry in body.fitted.items()}
        offsets = arrays["offsets"]
    except (OSError, EOFError, ValueError, KeyError) as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else error
        raise ForecastError(f"deployed forecaster in {folder} cannot be read: {problem}; train it again") from None
    ensemble = Ensemble(
        body.weights, body.naive, body.held_back, Calibration(offsets, body.floor_per_s, body.quantiles)
    )
    return DeployedForecaster(body.window_s, body.steps, body.horizons_s, body.quantiles, ensemble, fitted)


def _arrays(numbers: npt.NDArray[np.float64], body: _Body) -> Arrays:
    shapes = body.arrays
    sizes = [math.prod(shape) for shape in shapes.values()]
    if numbers.shape != (sum(sizes),) or numbers.dtype != np.float64:
        raise ValueError(f"{ARRAYS_FILE} holds {numbers.shape} of {numbers.dtype}, {sum(sizes)} numbers are expected")
    if zlib.crc32(numbers.tobytes()) != body.arrays_crc:
        raise ValueError(f"{ARRAYS_FILE} holds other numbers than were written")
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def _entry(name: str, fitted: FittedForecaster, arrays: dict[str, npt.NDArray[np.float64]]) -> _Fitted:
    if isinstance(fitted, EventAware):
        effects = tuple(_Effect(**vars(effect)) for effect in fitted.effects.effects)
        inner = _entry(name, fitted.fitted, arrays)
        return _EventAware(effects=effects, outages=fitted.effects.outages, fitted=inner)
    if isinstance(fitted, LocalTimeFitted):
        return _LocalTime(timezone=fitted.timezone, fitted=_entry(name, fitted.fitted, arrays))
    if isinstance(fitted, NaivePaths) and isinstance(fitted.rule, LastMean):
        return _naive(fitted, "last_mean", fitted.rule.windows)
    if isinstance(fitted, NaivePaths) and isinstance(fitted.rule, SeasonAgo):
        return _naive(fitted, "season_ago", fitted.rule.season)
    if isinstance(fitted, BorrowedShape):
        arrays |= {f"{name}.{at}.hours": of.hours.closed.astype(np.float64) for at, of in enumerate(fitted.siblings)}
        siblings = tuple(_corrected_entry(f"{name}.{at}", of.hourly, arrays) for at, of in enumerate(fitted.siblings))
        return _Borrowed(window_s=fitted.window_s, siblings=siblings)
    if isinstance(fitted, FirstDays):
        arrays[f"{name}.weights"] = fitted.weights
        return _FirstDays(window_s=fitted.window_s)
    return _corrected_entry(name, fitted, arrays)


def _corrected_entry(name: str, fitted: FittedForecaster, arrays: dict[str, npt.NDArray[np.float64]]) -> _Corrected:
    if not isinstance(fitted, CorrectedForecaster) or not isinstance(fitted.memory, ArmaMemory | None):
        raise ForecastError(f"forecaster {name!r} ({type(fitted).__name__}) has no file form; add one to deployed_file")
    if not isinstance(fitted.level, WeeklyLevel | GridLevel):
        raise ForecastError(f"level of forecaster {name!r} has no file form; add one to deployed_file")
    arrays |= {
        f"{name}.level": fitted.level.slots if isinstance(fitted.level, WeeklyLevel) else fitted.level.values,
        f"{name}.closed": fitted.hours.closed.astype(np.float64),
        f"{name}.usual_size": fitted.usual_size,
        f"{name}.errors": fitted.errors,
        f"{name}.weights": fitted.weights,
    }
    return _Corrected(
        window_s=fitted.window_s,
        transform=fitted.transform.name,
        grid_start=fitted.level.start if isinstance(fitted.level, GridLevel) else None,
        errors_end=fitted.errors_end,
        highest_count=fitted.highest_count,
        memory=fitted.memory,
        learns_from=fitted.learns_from,
    )


def _naive(fitted: NaivePaths, rule: Literal["last_mean", "season_ago"], windows: int) -> _Naive:
    return _Naive(window_s=fitted.window_s, rule=rule, windows=windows, lag=fitted.lag, reach=fitted.reach)


def _fitted(name: str, entry: _Fitted, arrays: Arrays) -> FittedForecaster:
    if isinstance(entry, _EventAware):
        effects = tuple(KnownEffect(effect.start, effect.end, effect.ratio) for effect in entry.effects)
        return EventAware(_fitted(name, entry.fitted, arrays), EventEffects(effects, entry.outages))
    if isinstance(entry, _LocalTime):
        return LocalTimeFitted(_fitted(name, entry.fitted, arrays), entry.timezone)
    if isinstance(entry, _Naive):
        rule = LastMean(entry.windows) if entry.rule == "last_mean" else SeasonAgo(entry.windows)
        return NaivePaths(entry.window_s, rule, entry.lag, entry.reach)
    if isinstance(entry, _Borrowed):
        siblings = tuple(
            SiblingShape(
                _corrected(f"{name}.{at}", of, arrays), OpenHours(of.window_s, arrays[f"{name}.{at}.hours"] > 0)
            )
            for at, of in enumerate(entry.siblings)
        )
        return BorrowedShape(entry.window_s, siblings)
    if isinstance(entry, _FirstDays):
        return FirstDays(entry.window_s, arrays[f"{name}.weights"])
    return _corrected(name, entry, arrays)


def _corrected(name: str, entry: _Corrected, arrays: Arrays) -> CorrectedForecaster:
    level = arrays[f"{name}.level"]
    return CorrectedForecaster(
        entry.window_s,
        GridLevel(entry.grid_start, entry.window_s, level)
        if entry.grid_start is not None
        else WeeklyLevel(entry.window_s, level),
        Transform(entry.transform),
        OpenHours(entry.window_s, arrays[f"{name}.closed"] > 0),
        arrays[f"{name}.usual_size"],
        arrays[f"{name}.errors"],
        entry.errors_end,
        arrays[f"{name}.weights"],
        entry.highest_count,
        entry.memory,
        entry.learns_from,
    )
