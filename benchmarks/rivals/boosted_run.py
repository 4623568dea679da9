"""Our side of the one boosted model over all series: its job, its cached answers and its new ones."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path

from rival_runs import Fit, RivalRun, answered, said

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prequential import MAX_HISTORY_S, Origins

BOOSTED = "boosted"
CANDIDATE = "LightGBM over all series"
CONFORMAL = f"{CANDIDATE}, conformal"
SCRIPT = Path(__file__).with_name("boosted_peaks.py")


def boosted_runs(
    asked: Sequence[tuple[ArrivalSeries, Origins, Sequence[int]]], *, cache: Path, python: Path
) -> Mapping[str, RivalRun]:
    """The forecasts of the one model over all of these series, by the series' name. asked: series, origins, horizons_s.

    Its cost is shared equally by all scored origins.
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
        "history_s": MAX_HISTORY_S,
    }
    counts = {f"counts-{number}": series.counts for number, (series, _, _) in enumerate(asked)}
    answer, told = answered(BOOSTED, [SCRIPT], job, counts, cache=cache, python=python)
    told_of = [[origin for origin in at.at if origin >= at.told_from] for _, at, _ in asked]
    each_cpu_s = told["cpu_s"] / sum(map(len, told_of))
    return {
        series.source: RivalRun(
            CANDIDATE,
            said(answer / f"said-{number}.npz", CANDIDATE),
            [Fit(origin, each_cpu_s, "") for origin in origins],
            told["versions"],
            CONFORMAL,
        )
        for number, ((series, _, _), origins) in enumerate(zip(asked, told_of, strict=True))
    }
