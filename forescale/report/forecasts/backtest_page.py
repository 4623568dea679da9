"""A replayed trace as one self-contained page: forecasts of each horizon's peak, the real peaks, and the scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, isfinite

import numpy as np
import plotly.graph_objects as go

from forecasting.arrivals.history import ArrivalSeries
from forecasting.backtest import known_peaks_per_s
from forecasting.prequential import MAX_HISTORY_S, Predicted
from forecasting.prequential_scores import SEASONS_S, PrequentialScore
from forecasting.selection import DEPLOYED
from forescale.report.forecasts.peak_figure import peak_figure
from forescale.report.kit.figure import (
    ARRIVED,
    FORECAST,
    KeyEntry,
    ReportFigure,
    base_layout,
    look,
    plotly_time,
    plotly_times,
)
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.traces import MISSING_KEY, gap_shading, line, marks, runs
from forescale.report.kit.wording import duration, moment, percent, shortened
from modeling.wording import count_of

SHOWN_QUANTILES = (0.5, 0.95, 0.99)

MAX_BINS = 1500
PHONE_HISTORY = timedelta(days=14)
_Y_TITLE = "events per second"


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


def origins_figure(series: ArrivalSeries, origins: Sequence[datetime]) -> ReportFigure:
    """Arrivals, thinned to the largest window of each bin, and a mark on the axis for every origin."""
    windows = max(1, ceil(series.counts.size / MAX_BINS))
    bins = ceil(series.counts.size / windows)
    padded = np.full(bins * windows, np.nan)
    padded[: series.counts.size] = series.rate_per_s()
    rates = np.fmax.reduce(padded.reshape(bins, windows), axis=1)
    width_s = windows * series.window_s
    top = 1.08 * max(float(np.nanmax(rates, initial=0.0)), 1.0 / series.window_s)

    came = line(None, rates, "came", ARRIVED, 1.2, x0=plotly_time(series.start), dx=1000 * width_s, connectgaps=False)
    made = marks(plotly_times(origins), np.zeros(len(origins)), "origin", FORECAST, "triangle-up", 8, hoverinfo="skip")
    key = [
        KeyEntry(f"came{_largest(series.window_s, windows)}", "line", ARRIVED),
        KeyEntry(f"origins: forecasts were made here ({len(origins)})", "mark", FORECAST),
    ]
    gaps = runs(np.isnan(rates))
    if gaps:
        key.append(MISSING_KEY)
    plot = go.Figure([came, made], base_layout(series.start, series.end, _Y_TITLE))
    width = timedelta(seconds=width_s)
    plot.update_layout(
        shapes=[
            gap_shading(series.start + first * width, min(series.end, series.start + end * width))
            for first, end in gaps
        ],
        # Room for the marks below zero.
        yaxis={"range": [-0.04 * top, top], "rangemode": "normal"},
    )
    everything = plotly_times([series.start, series.end])
    phone = plotly_times([max(series.start, min(origins[0], series.end - PHONE_HISTORY)), series.end])
    return ReportFigure(
        title="Arrivals, and when forecasts were made",
        description=(
            f"Arrivals from {moment(series.start)} to {moment(series.end)} UTC, with "
            f"{count_of(len(origins), 'origin')} from {moment(origins[0])} on."
        ),
        plot=plot,
        key=tuple(key),
        wide=look(250, 60, 10) | {"yaxis.title.text": _Y_TITLE, "xaxis.range": everything},
        narrow=look(220, 48, 4) | {"yaxis.title.text": "", "xaxis.range": phone},
    )


def _largest(window_s: int, windows: int) -> str:
    return f": largest {duration(window_s)} in each {duration(windows * window_s)}" if windows > 1 else ""
