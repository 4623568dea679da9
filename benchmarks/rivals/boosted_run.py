"""Our side of the one boosted model over all series: what it is asked, what it said before, and its answers.

Its quantiles are conformalised: each is moved by what it was off by at earlier origins, those that only teach among
them, whose peaks were over. Adaptive conformal is taken, as for ours (forecasting/calibration.py). Split conformal, by
the rank of past errors, was tried with all of them, with the last 40, and with a stretch of two weeks that was kept out
of the fit: its coverage was nearer to .95, and its p95 lost more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import numpy as np
from rival_runs import Fit, RivalRun, answered, said

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.calibration import calibration
from forecasting.forecast import QUANTILES
from forecasting.prequential import LONGEST_HISTORY_S, Origins, Predicted

BOOSTED = "boosted"
CANDIDATE = "LightGBM over all series, conformal"
SCRIPT = Path(__file__).with_name("boosted_peaks.py")


def boosted_runs(
    asked: Sequence[tuple[ArrivalSeries, Origins, Sequence[int]]], *, cache: Path, python: Path
) -> Mapping[str, RivalRun]:
    """What the model over all of these series says of each, by its name. asked: series, origins and horizons_s.

    What it cost falls to all origins that are told of alike.
    """
    job = {
        "series": [
            {
                "start": series.start.astimezone(UTC).isoformat(),
                "window_s": series.window_s,
                "origins": list(at.at),
                "horizons_s": list(horizons_s),
            }
            for series, at, horizons_s in asked
        ],
        "quantiles": list(QUANTILES),
        "history_s": LONGEST_HISTORY_S,
    }
    counts = {f"counts-{number}": series.counts for number, (series, _, _) in enumerate(asked)}
    answer, told = answered(BOOSTED, [SCRIPT], job, counts, cache=cache, python=python)
    told_of = [[origin for origin in at.at if origin >= at.told_from] for _, at, _ in asked]
    each_cpu_s = told["cpu_s"] / sum(map(len, told_of))
    return {
        series.source: RivalRun(
            CANDIDATE,
            conformal(said(answer / f"said-{number}.npz", CANDIDATE), series, at.told_from, horizons_s),
            [Fit(origin, each_cpu_s, "") for origin in origins],
            told["versions"],
        )
        for number, ((series, at, horizons_s), origins) in enumerate(zip(asked, told_of, strict=True))
    }


def conformal(
    predicted: Sequence[Predicted], series: ArrivalSeries, told_from: int, horizons_s: Sequence[int]
) -> list[Predicted]:
    """The predictions from an origin on, each calibrated by those before it whose peaks were over by then."""
    steps = np.array([horizon_s // series.window_s for horizon_s in horizons_s])
    origins = np.array([one.origin for one in predicted])
    peaks = np.stack([one.peak_per_s[CANDIDATE] for one in predicted])
    actual = known_peaks_per_s(series, origins.tolist(), steps.tolist())
    told = []
    for row, one in enumerate(predicted):
        if one.origin >= told_from:
            over = origins[:row, None] + steps <= one.origin
            came = np.where(over, actual[:row], np.nan)
            calibrated = calibration(peaks[:row], came, QUANTILES).applied(peaks[row])
            told.append(replace(one, peak_per_s={CANDIDATE: calibrated}))
    return told
