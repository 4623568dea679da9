"""How long nothing was observed of a source that is not usually quiet at that time."""

from datetime import datetime

import numpy as np

from forecasting.arrivals.history import ArrivalSeries

DAY_S = 86400
SILENT_S = 900
"""Without an observed window for as long, and for three windows, a feed is told to be silent."""
QUIET = 0.05
"""Share of its mean load up to which a source counts as quiet: closing time is not to the minute."""


def silent_s(series: ArrivalSeries, at: datetime) -> float:
    """Seconds up to `at` since the last observed window; 0 if next to nothing came a day or a week before at
    these times either, as of a source that is closed at night.
    """
    known = np.flatnonzero(np.isfinite(series.counts))
    observed = int(known[-1]) + 1 if known.size else 0
    missing = max(0, int((at - series.start).total_seconds()) // series.window_s - observed)
    quiet = QUIET * np.nanmean(series.counts) if known.size else 0.0
    for days in (1, 7):
        begin = observed - days * DAY_S // series.window_s
        usual = series.counts[max(0, begin) : begin + missing]
        if begin >= 0 and usual.size == missing and np.nansum(usual) <= quiet * missing:
            return 0.0
    return max(0.0, (at - series.start).total_seconds() - observed * series.window_s)


def told_silent_s(series: ArrivalSeries, at: datetime) -> float:
    """As `silent_s`, but 0 where it is too short to tell people."""
    for_s = silent_s(series, at)
    return for_s if for_s >= max(SILENT_S, 3 * series.window_s) else 0.0
