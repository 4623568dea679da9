"""A replayed trace as one self-contained page: forecasts of each horizon's peak, the real peaks, and the scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.prequential import MAX_HISTORY_S, Predicted
from forecasting.prequential_scores import SEASONS_S, PrequentialScore
from forecasting.selection import DEPLOYED
from forescale.report.forecasts.origins_figure import origins_figure
from forescale.report.forecasts.peak_figure import peak_figure
from forescale.report.kit.figure import ReportFigure
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import duration, percent, shortened
from modeling.wording import count_of

SHOWN_QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class ReplayedTrace:
    """The result of `forescale forecast backtest`. name: of the trace, as given. predictions: for at least one origin.

    refusals: why a forecaster could not take part, by name.
    """

    name: str
    series: ArrivalSeries
    horizons_s: Sequence[int]
    quantiles: Sequence[float]
    predictions: Sequence[Predicted]
    scores: Sequence[PrequentialScore]
    refusals: Mapping[str, str]

    def origins(self) -> list[datetime]:
        width = timedelta(seconds=self.series.window_s)
        return [self.series.start + one.origin * width for one in self.predictions]


def render_backtest_page(trace: ReplayedTrace) -> str:
    """The whole page. The same replay gives the same text."""
    origins, series = trace.origins(), trace.series
    shown_from = max(series.start, origins[0] - timedelta(seconds=MAX_HISTORY_S))
    history = origins_figure(series.between(shown_from, series.end), origins)
    peaks = _peak_figures(trace, origins)
    return rendered(
        "backtest.html.j2",
        "drawing.js report.js",
        [history, *peaks],
        trace=shortened(trace.name, 200),
        headline=_headline(trace),
        sentences=_sentences(trace, shown_from),
        history=history,
        horizons=[
            (duration(horizon_s), figure, _scores_table(trace, horizon_s))
            for horizon_s, figure in zip(trace.horizons_s, peaks, strict=True)
        ],
        refusals=list(trace.refusals.items()),
    )


def _peak_figures(trace: ReplayedTrace, origins: Sequence[datetime]) -> list[ReportFigure]:
    steps = [horizon_s // trace.series.window_s for horizon_s in trace.horizons_s]
    came = known_peaks_per_s(trace.series, [one.origin for one in trace.predictions], steps)
    columns = [list(trace.quantiles).index(quantile) for quantile in SHOWN_QUANTILES]
    said = np.stack([one.peak_per_s[DEPLOYED] for one in trace.predictions])[:, :, columns]
    return [
        peak_figure(origins, said[:, number], came[:, number], horizon_s)
        for number, horizon_s in enumerate(trace.horizons_s)
    ]


def _of_deployed(trace: ReplayedTrace) -> list[PrequentialScore]:
    return [score for score in trace.scores if score.candidate == DEPLOYED]


def _headline(trace: ReplayedTrace) -> str:
    scores = [score for score in _of_deployed(trace) if score.origins]
    peaks = sum(score.origins for score in scores)
    if not peaks:
        return "The arrivals after the forecasts are unknown"
    below = round(sum(score.coverage * score.origins for score in scores))
    return f"{below:,} of {count_of(peaks, 'peak')} stayed within the p95 that was forecast"


def _sentences(trace: ReplayedTrace, shown_from: datetime) -> list[Sentence]:
    series, origins, scores = trace.series, trace.origins(), _of_deployed(trace)
    missing = int(np.isnan(series.counts).sum())
    cut = (
        f"; drawn from {shown_from:%Y-%m-%d} on, as no forecast used earlier data" if shown_from > series.start else ""
    )
    held = ", ".join(
        f"{percent(score.coverage)} within {duration(score.horizon_s)}" for score in scores if isfinite(score.coverage)
    )
    loss = ", ".join(
        f"{score.ratio_p95:.2f} within {duration(score.horizon_s)}" for score in scores if isfinite(score.ratio_p95)
    )
    return [
        Sentence(
            "Trace",
            f"{series.start:%Y-%m-%d %H:%M} to {series.end:%Y-%m-%d %H:%M} UTC, "
            f"{count_of(series.counts.size, 'window')} of {duration(series.window_s)}, "
            f"{f'{missing:,}' if missing else 'none'} missing{cut}.",
        ),
        Sentence(
            "Forecasts",
            f"{count_of(len(origins), 'origin')}, {origins[0]:%Y-%m-%d %H:%M} to {origins[-1]:%Y-%m-%d %H:%M} UTC; "
            "each from earlier data alone.",
        ),
        Sentence("p95 held", f"{held} (95\N{NO-BREAK SPACE}% should)." if held else "Not known."),
        Sentence(
            "p95 loss",
            f"{loss} relative to the better seasonal naive."
            if loss
            else "Not known: the trace holds no season before the origins to compare with.",
        ),
    ]


def _scores_table(trace: ReplayedTrace, horizon_s: int) -> Table:
    """Scores, first of the forecaster that would have been deployed, last of the seasonal naives."""
    own = [score for score in trace.scores if score.horizon_s == horizon_s]
    ordered = sorted(own, key=lambda score: (score.candidate != DEPLOYED, score.candidate in SEASONS_S))
    rows = []
    for score in ordered:
        fewer = f"of {count_of(score.origins, 'origin')} only" if score.origins < len(trace.predictions) else ""
        name = Cell(score.candidate, strong=score.candidate == DEPLOYED, notes=(fewer,) if fewer else ())
        rows.append(
            (
                name,
                Cell(_two(score.ratio_p95)),
                Cell(_two(score.ratio_p99)),
                Cell(percent(score.coverage)),
                Cell(_two(score.wape)),
            )
        )
    columns = (*texts("candidate"), *numbers("p95 loss", "p99 loss", "p95 held", "WAPE"))
    return Table(columns, tuple(rows), compact=True)


def _two(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else "–"
