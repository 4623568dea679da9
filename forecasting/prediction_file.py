"""Predictions as a Parquet file, a row for every number that was said, so that anyone can score them.

Columns: origin, the moment of forecasting: nothing at or after it was known; horizon_s; kind: `peak`, the largest rate
of a window within the horizon, or `path`, the rate of one window within it; target_time: end of the horizon for a peak,
start of the window for a path; quantile; value in events per second at the resolution of the trace; candidate,
`deployed` for what would have been used. A window that lies within several horizons has a row in each.

Whatever else forecasts may write such a file too; read back, it is scored as ours is.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.prequential import Predicted

if TYPE_CHECKING:
    import pandas as pd

_MOMENT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        pa.field("origin", _MOMENT),
        pa.field("horizon_s", pa.int32()),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        pa.field("target_time", _MOMENT),
        pa.field("quantile", pa.float64()),
        pa.field("value", pa.float64()),
        pa.field("candidate", pa.dictionary(pa.int8(), pa.string())),
    ]
)
_KINDS = ("peak", "path")
Floats = npt.NDArray[np.float64]


def write_predictions(
    predicted: Iterable[Predicted],
    path: Path,
    series: ArrivalSeries,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    candidates: Sequence[str],
) -> None:
    """Write them as they come; the file is there when all of them are, or not at all.

    candidates: every name that may occur. Raises ForecastError where the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    try:
        with pq.ParquetWriter(aside, SCHEMA) as writer:
            for one in predicted:
                writer.write_table(_rows(one, series, horizons_s, quantiles, candidates))
        aside.replace(path)
    except OSError as error:
        raise ForecastError(f"predictions cannot be written to {path}: {error}; check the path and the space") from None
    finally:
        aside.unlink(missing_ok=True)


def read_predictions(
    path: Path, series: ArrivalSeries, horizons_s: Sequence[int], quantiles: Sequence[float]
) -> list[Predicted]:
    """What a file says of a trace at these horizons and quantiles, in order of time, whoever wrote it.

    A peak that it lacks is NaN; a candidate that lacks windows of the longest horizon has no path. Raises
    ForecastError where the file cannot be read, lacks a column, or has origins off the windows of the trace.
    """
    try:
        rows = pq.read_table(path, columns=SCHEMA.names).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise ForecastError(
            f"predictions cannot be read from {path}: {' '.join(str(error).split())}; its columns are "
            f"{', '.join(SCHEMA.names)}"
        ) from None
    windows, off = np.divmod(_seconds_of(rows["origin"]) - _seconds(series.start), series.window_s)
    if off.any():
        raise ForecastError(
            f"predictions {path}: origin {rows['origin'][int(np.flatnonzero(off)[0])]} is not the start of a window "
            f"of {series.source}, which has {series.window_s} s from {series.start} on"
        )
    rows = rows.assign(
        window=windows,
        step=(_seconds_of(rows["target_time"]) - _seconds_of(rows["origin"])) // series.window_s,
        level=_place(rows["quantile"].to_numpy(), quantiles),
        horizon=_place(rows["horizon_s"].to_numpy(), horizons_s),
    )
    rows = rows[(rows["level"] >= 0) & (rows["horizon"] >= 0)]
    longest, steps = max(horizons_s), max(horizons_s) // series.window_s
    predicted = []
    for window, at_origin in rows.groupby("window"):
        peaks: dict[str, Floats] = {}
        paths: dict[str, Floats] = {}
        for name, own in at_origin.groupby("candidate", observed=True):
            peak = own[own["kind"] == "peak"]
            peaks[str(name)] = np.full((len(horizons_s), len(quantiles)), np.nan)
            peaks[str(name)][peak["horizon"], peak["level"]] = peak["value"]
            walk = own[(own["kind"] == "path") & (own["horizon_s"] == longest) & own["step"].between(0, steps - 1)]
            path_per_s = np.full((steps, len(quantiles)), np.nan)
            path_per_s[walk["step"], walk["level"]] = walk["value"]
            if np.isfinite(path_per_s).all():
                paths[str(name)] = path_per_s
        predicted.append(Predicted(int(window), peaks, paths, ()))
    return predicted


def _seconds_of(moments: "pd.Series[pd.Timestamp]") -> npt.NDArray[np.int64]:
    return np.asarray(moments.dt.as_unit("us").astype("int64").to_numpy() // 1_000_000, dtype=np.int64)


def _place(values: npt.NDArray[np.float64], among: Sequence[float]) -> npt.NDArray[np.int64]:
    """Number of each value among those known, -1 where it is none of them."""
    same = np.isclose(np.asarray(values, dtype=np.float64)[:, None], np.asarray(among, dtype=np.float64))
    places = np.full(len(values), -1, dtype=np.int64)
    at, known = np.nonzero(same)
    places[at] = known
    return places


def _rows(
    one: Predicted,
    series: ArrivalSeries,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    candidates: Sequence[str],
) -> pa.Table:
    first_s = _seconds(series.start) + one.origin * series.window_s
    parts = []
    for name in one.peak_per_s:
        for number, horizon_s in enumerate(horizons_s):
            steps = horizon_s // series.window_s
            values = np.concatenate([one.peak_per_s[name][number], one.rate_per_s[name][:steps].reshape(-1)])
            starts_s = first_s + np.arange(steps) * series.window_s
            target_s = np.concatenate([[first_s + horizon_s], starts_s]).repeat(len(quantiles))
            kinds = np.ones(values.size, np.int8)
            kinds[: len(quantiles)] = 0
            parts.append(
                pa.table(
                    [
                        pa.array(np.full(values.size, first_s * 1_000_000)).cast(_MOMENT),
                        pa.array(np.full(values.size, horizon_s, np.int32)),
                        pa.DictionaryArray.from_arrays(kinds, pa.array(_KINDS)),
                        pa.array(target_s * 1_000_000).cast(_MOMENT),
                        pa.array(np.tile(np.asarray(quantiles, np.float64), values.size // len(quantiles))),
                        pa.array(values),
                        pa.DictionaryArray.from_arrays(
                            np.full(values.size, candidates.index(name), np.int8), pa.array(candidates)
                        ),
                    ],
                    schema=SCHEMA,
                )
            )
    return pa.concat_tables(parts)


def _seconds(moment: datetime) -> int:
    return int(moment.astimezone(UTC).timestamp())
