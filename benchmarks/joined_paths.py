"""What it is worth to pair the sample paths of two sources by the correlation of their past errors.

    python benchmarks/joined_paths.py [--seeds 4] [--json]

Made-up pairs of sources, twelve weeks in quarters of an hour: a wave a day, errors that fade over eight hours and
correlate between the sources, Poisson counts. Forecasters are trained on the first 44 days and asked at 38 moments
afterwards for the largest total rate of the next day, with paths paired in three ways:

    as they come   path by path, with nothing done
    independently  in random order
    joined         by forecasting.joined_paths, from the 44 days before each moment

Prints for each correlation: the rank correlation of the levels of paired paths (mean and range), the share of moments
whose peak stayed below each quantile, and the pinball losses in events per second.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from scipy.signal import lfilter
from scipy.stats import spearmanr

# A script's own folder comes first, and holds one named like the package that it measures.
sys.path.pop(0)

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.joined_paths import joined_forecasts
from forecasting.peaks import pinball
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
WINDOW_S, PER_DAY, DAYS, LEARNT_DAYS, MOMENTS = 900, 96, 84, 44, 38
USUAL_PER_S = {"app": 20.0, "web": 15.0}
MEMORY, SPREAD = 0.97, 0.25
"""Errors of the log rate: autocorrelation from one window to the next, and standard deviation."""
TERMS = ForecastTerms(WINDOW_S, 86400, paths=500, origins=24)
CORRELATIONS = (0.9, 0.0, -0.8)
QUANTILES = np.array([0.5, 0.9, 0.95, 0.99])
WAYS = ("as they come", "independently", "joined")


@dataclass(frozen=True)
class Told:
    """below, loss: one value per quantile p50, p90, p95, p99."""

    correlation: float
    way: str
    paired: float
    paired_range: tuple[float, float]
    below: tuple[float, ...]
    loss: tuple[float, ...]


def sources(correlation: float, seed: int) -> dict[str, ArrivalSeries]:
    rng = np.random.default_rng(seed)
    count, settling = DAYS * PER_DAY, 500
    one, other = rng.standard_normal((2, count + settling))
    drawn = np.array([one, correlation * one + np.sqrt(1 - correlation**2) * other])
    errors = SPREAD * lfilter([np.sqrt(1 - MEMORY**2)], [1, -MEMORY], drawn, axis=1)[:, settling:]
    hours = np.arange(count) / PER_DAY * 2 * np.pi
    made = {}
    for number, (name, usual) in enumerate(USUAL_PER_S.items()):
        rates = usual * np.exp(0.6 * np.sin(hours - 1 - 0.3 * number) + errors[number])
        made[name] = ArrivalSeries("pair", name, MONDAY, WINDOW_S, rng.poisson(WINDOW_S * rates).astype(np.float64))
    return made


def asked(series: Mapping[str, ArrivalSeries], seed: int) -> Iterator[tuple[float, dict[str, dict[str, Floats]]]]:
    """Yield per moment the observed peak of the total rate, and by way of pairing the paths of each source."""
    learnt = timedelta(days=LEARNT_DAYS)
    began = MONDAY + learnt
    trained = {name: train(each.between(MONDAY, began), issued_at=began, terms=TERMS) for name, each in series.items()}
    rng = np.random.default_rng([seed, 1])
    for number in range(MOMENTS):
        at = began + timedelta(days=number, hours=6 * (number % 4))
        seen = {name: each.between(at - learnt, at) for name, each in series.items()}
        said = {name: issue(trained[name], each, issued_at=at) for name, each in seen.items()}
        coming = [each.between(at, at + timedelta(days=1)).rate_per_s() for each in series.values()]
        come = {name: each.paths_per_s for name, each in said.items()}
        joined = {name: each.paths_per_s for name, each in joined_forecasts(said, seen).forecasts.items()}
        apart = {name: rng.permutation(paths) for name, paths in come.items()}
        yield float(np.sum(coming, axis=0).max()), dict(zip(WAYS, (come, apart, joined), strict=True))


def told(correlation: float, seeds: int) -> list[Told]:
    peaks, quantiles, paired = list[float](), {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for seed in range(seeds):
        for peak, ways in asked(sources(correlation, seed), seed):
            peaks.append(peak)
            for way, paths in ways.items():
                quantiles[way].append(np.quantile(sum(paths.values()).max(axis=1), QUANTILES))
                paired[way].append(spearmanr(*(each.mean(axis=1) for each in paths.values()))[0])
    came = np.array(peaks)[:, None]
    return [
        Told(
            correlation,
            way,
            float(np.mean(paired[way])),
            (float(min(paired[way])), float(max(paired[way]))),
            tuple((came <= quantiles[way]).mean(axis=0).tolist()),
            tuple(pinball(came, np.array(quantiles[way]), QUANTILES).mean(axis=0).tolist()),
        )
        for way in WAYS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = [row for correlation in CORRELATIONS for row in told(correlation, given.seeds)]
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print(
        "| correlation | paths paired | their rank correlation | below p90, p95, p99 | loss of the p95 | of the p99 |"
    )
    print("|---|---|---|---|---|---|")
    for row in rows:
        low, high = row.paired_range
        below = ", ".join(f"{share:.3f}" for share in row.below[1:])
        print(
            f"| {row.correlation:g} | {row.way} | {row.paired:.2f} ({low:.2f} to {high:.2f}) | {below} | "
            f"{row.loss[2]:.3f} | {row.loss[3]:.3f} |"
        )


if __name__ == "__main__":
    main()
