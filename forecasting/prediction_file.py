"""Predictions as a Parquet file, one row per predicted number, so that anyone can score them.

Columns: origin, the moment of forecasting, from which on nothing was known; horizon_s; kind: `peak`, the largest rate
of a window within the horizon, or `path`, the rate of one window within it; target_time: end of the horizon for a peak,
start of the window for a path; quantile; value in events per second at the resolution of the trace; candidate:
`deployed` for the deployed mixture. A window within several horizons has a row for each.
"""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.prequential import Predicted

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


def write_predictions(
    predicted: Iterable[Predicted],
    path: Path,
    series: ArrivalSeries,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    candidates: Sequence[str],
) -> None:
    """Write predictions as they come; the file appears once all are written, or not at all.

    candidates: every name that may occur. Raises ForecastError if the file cannot be written.
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


def _rows(
    one: Predicted,
    series: ArrivalSeries,
    horizons_s: Sequence[int],
    quantiles: Sequence[float],
    candidates: Sequence[str],
) -> pa.Table:
    first_s = int(series.start.timestamp()) + one.origin * series.window_s
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
