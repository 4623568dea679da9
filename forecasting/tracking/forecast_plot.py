"""A picture of one forecast: the last days of history, the band of the rate, and the peaks per horizon."""

from datetime import timedelta
from pathlib import Path

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import Forecast
from forecasting.models.time_grid import DAY_S, newest

SHOWN_DAYS = 3


def write_forecast_plot(forecast: Forecast, history: ArrivalSeries, path: Path) -> None:
    """A PNG of about 1000 × 450 pixels. Times are UTC."""
    # The figure is used without pyplot: no global state, no display, safe in threads.
    from matplotlib.figure import Figure

    recent = newest(history, SHOWN_DAYS * DAY_S // history.window_s)
    figure = Figure(figsize=(10, 4.5), dpi=100, layout="constrained")
    axes = figure.subplots()
    axes.plot(recent.window_starts(), recent.rate_per_s(), color="#555555", linewidth=0.8, label="arrived")
    steps = np.array([start.replace(tzinfo=None) for start in forecast.step_starts()], dtype="datetime64[s]")
    low = np.quantile(forecast.paths_per_s, 0.05, axis=0)
    median, upper = (forecast.rate_per_s[:, forecast.quantiles.index(level)] for level in (0.5, 0.95))
    axes.fill_between(steps, low, upper, color="#1f77b4", alpha=0.25, linewidth=0, label="5 to 95 %")
    axes.plot(steps, median, color="#1f77b4", linewidth=1.2, label="median")
    for horizon_s in forecast.peak_per_s:
        end = (forecast.start + timedelta(seconds=horizon_s)).replace(tzinfo=None)
        peak = forecast.peak_quantile_per_s(horizon_s, 0.95)
        axes.hlines(peak, steps[0], np.datetime64(end, "s"), color="#d62728", linewidth=1.2, linestyle="--")
        axes.annotate(f"{horizon_s / 3600:g} h", (np.datetime64(end, "s"), peak), color="#d62728", fontsize=8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("arrival rate per s")
    axes.set_title(
        f"{forecast.topology} · {forecast.source} · issued {forecast.issued_at:%Y-%m-%d %H:%M} UTC "
        "(dashed: p95 of the peak)",
        fontsize=10,
        parse_math=False,
    )
    axes.legend(loc="upper left", fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, format="png")
