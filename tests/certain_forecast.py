"""A forecast without any doubt, in which every path and quantile is the mean; also recorded as if it had been made."""

from datetime import datetime

import numpy as np

from forecasting.arrays import Floats
from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from planner.ledger.entries import ForecastEntry

QUANTILES = (0.5, 0.9, 0.95, 0.99)


def certain_forecast(
    topology: str,
    source: str,
    mean_per_s: Floats,
    *,
    step_s: int,
    horizon_s: int,
    issued_at: datetime,
    trained_from: datetime,
) -> Forecast:
    """mean_per_s: shape (steps,); horizon_s: of the peak, from issued_at on."""
    return Forecast(
        issued_at=issued_at,
        topology=topology,
        source=source,
        start=issued_at,
        step_s=step_s,
        quantiles=QUANTILES,
        rate_per_s=np.repeat(mean_per_s[:, None], len(QUANTILES), axis=1),
        peak_per_s={horizon_s: np.full(len(QUANTILES), mean_per_s[: horizon_s // step_s].max())},
        paths_per_s=np.repeat(mean_per_s[None], 4, axis=0),
        forecaster={horizon_s: "by hand"},
        trained_from=trained_from,
        trained_to=issued_at,
        history_digest="",
        seed=7,
    )


def record_certain_forecast(
    settings: Settings,
    topology: str,
    mean_per_s: Floats,
    *,
    step_s: int,
    horizon_s: int,
    issued_at: datetime,
    trained_from: datetime,
) -> None:
    """Of the source `read`, as `certain_forecast`."""
    ident = f"{topology}-{issued_at:%d%H%M}"
    forecast = certain_forecast(
        topology,
        "read",
        mean_per_s,
        step_s=step_s,
        horizon_s=horizon_s,
        issued_at=issued_at,
        trained_from=trained_from,
    )
    folder = settings.forecasts_dir / ident
    write_forecast(forecast, folder)
    entry = ForecastEntry(ident, topology, "read", issued_at, forecast.end, "run", "", str(folder), "", "")
    ledger_of(settings).record_forecast(entry)
