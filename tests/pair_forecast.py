"""A forecast by hand of the source `read` of the topology `pair`: two steps of five minutes, the same in both."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from forecasting.forecast import Forecast
from modeling.arrays import Floats


def pair_forecast(peak_per_s: Sequence[float], paths_per_s: Floats) -> Forecast:
    """peak_per_s: its p50, p90, p95 and p99. paths_per_s: of each path, shape (paths,)."""
    peak = np.array(peak_per_s)
    return Forecast(
        issued_at=datetime(2026, 3, 2, 8, tzinfo=UTC),
        topology="pair",
        source="read",
        start=datetime(2026, 3, 2, 8, tzinfo=UTC),
        step_s=300,
        quantiles=(0.5, 0.9, 0.95, 0.99),
        rate_per_s=np.tile(peak, (2, 1)),
        peak_per_s={600: peak},
        paths_per_s=np.repeat(paths_per_s, 2).reshape(-1, 2),
        forecaster={600: "persistence"},
        trained_from=datetime(2026, 3, 1, tzinfo=UTC),
        trained_to=datetime(2026, 3, 2, 8, tzinfo=UTC),
        history_digest="",
        seed=7,
    )
