"""Our side of the one boosted model over all series: what it is asked, what it said before, and its answers."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path

from rival_runs import Fit, RivalRun, answered, said

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prequential import LONGEST_HISTORY_S

BOOSTED = "boosted"
CANDIDATE = "LightGBM over all series, conformal"
SCRIPT = Path(__file__).with_name("boosted_peaks.py")


def boosted_runs(
    asked: Sequence[tuple[ArrivalSeries, Sequence[int], Sequence[int]]], *, cache: Path, python: Path
) -> Mapping[str, RivalRun]:
    """What the model over all of these series says of each, by its name. asked: series, origins and horizons_s."""
    job = {
        "series": [
            {
                "start": series.start.astimezone(UTC).isoformat(),
                "window_s": series.window_s,
                "origins": list(origins),
                "horizons_s": list(horizons_s),
            }
            for series, origins, horizons_s in asked
        ],
        "quantiles": list(QUANTILES),
        "history_s": LONGEST_HISTORY_S,
    }
    counts = {f"counts-{number}": series.counts for number, (series, _, _) in enumerate(asked)}
    answer, told = answered(BOOSTED, [SCRIPT], job, counts, cache=cache, python=python)
    each_cpu_s = told["cpu_s"] / sum(len(origins) for _, origins, _ in asked)
    return {
        series.source: RivalRun(
            CANDIDATE,
            said(answer / f"said-{number}.npz", CANDIDATE),
            [Fit(origin, each_cpu_s, "") for origin in origins],
            told["versions"],
        )
        for number, (series, origins, _) in enumerate(asked)
    }
