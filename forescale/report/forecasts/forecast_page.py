"""The forecast of one source as a page: what is coming, scores of past forecasts, and provenance."""

from dataclasses import replace

from forecasting.drift import ForecastDrift
from forecasting.models.time_grid import DAY_S
from forecasting.scoring import COVERAGE_QUANTILE
from forecasting.track_scores import TrackScore
from forescale.report.decision.evidence_tables import deployed_table, peaks_table, rivals_table, run_cell
from forescale.report.forecasts.forecast_figure import forecast_figure
from forescale.report.forecasts.forecast_report import ForecastReport
from forescale.report.forecasts.peak_figure import track_figure
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import NBSP, duration, moment, number, percent, rate, sentence, span, visible
from modeling.wording import count_of


def render_forecast_page(report: ForecastReport) -> str:
    """The whole page. The same report gives the same text."""
    forecast = report.newest
    load = forecast_figure(forecast, report.history)
    tracks = [track_figure(report.record, horizon) for horizon, score in enumerate(report.scores) if score.completed]
    own = {forecast.source: forecast}
    return rendered(
        "forecast.html.j2",
        "drawing.js report.js",
        [load, *tracks],
        forecast=forecast,
        issued=moment(forecast.issued_at),
        headline=headline(report),
        sentences=sentences(report),
        alarmed=alarmed(report),
        load=load,
        peaks=peaks_table(own),
        tracks=tracks,
        track=track_table(report),
        past=count_of(len(report.record.issued), "forecast"),
        deployed=deployed_table(own),
        rivals=rivals_table(own),
        provenance=_provenance(report),
    )


def _provenance(report: ForecastReport) -> tuple[tuple[str, Cell], ...]:
    """What is needed to reproduce the forecast, and the data behind its record."""
    forecast, history, record = report.newest, report.history, report.record
    first, last = record.issued[0], record.issued[-1]
    told = moment(last) if first == last else span(first, last)
    known = f"{span(history.start, history.end)} UTC" if history is not None else "none is known"
    return (
        # Its notes are above, with the model that they concern.
        ("Forecast", run_cell(replace(forecast, notes=()), report.link)),
        ("Its record", Cell(f"{count_of(len(record.issued), 'forecast')}, {told} UTC")),
        ("History held against", Cell(known)),
    )


def headline(report: ForecastReport) -> str:
    """One sentence: the p95 of the peak within the longest horizon."""
    forecast = report.newest
    longest_s = max(forecast.peak_per_s)
    p95 = forecast.peak_quantile_per_s(longest_s, COVERAGE_QUANTILE)
    return f"{visible(forecast.source)}: at most {rate(p95)} within {duration(longest_s)}, nineteen times in twenty"


def sentences(report: ForecastReport) -> tuple[Sentence, ...]:
    """What is coming, how often the p95 held, and whether it still does."""
    failure = Sentence("Not renewed", sentence(report.failure)) if report.failure else None
    return (
        *([failure] if failure else []),
        Sentence("Peak (p95)", _peaks(report)),
        Sentence("Held so far", _held(report.scores)),
        Sentence("Drift", _drift(report)),
    )


def _peaks(report: ForecastReport) -> str:
    forecast = report.newest
    told = ", ".join(
        f"{rate(forecast.peak_quantile_per_s(horizon_s, COVERAGE_QUANTILE))} within {duration(horizon_s)}"
        for horizon_s in sorted(forecast.peak_per_s)
    )
    return f"{told}, from {moment(forecast.start)} UTC."


def _held(scores: tuple[TrackScore, ...]) -> str:
    """How often the p95 held, per horizon, the shortest first."""
    judged = [score for score in scores if score.completed]
    if not judged:
        return "Not known yet: no forecast span is over and recorded."
    told = (
        f"in {score.held:,} of {score.completed:,} completed {_spans(score.horizon_s, score.completed)}"
        for score in judged
    )
    return f"The p95 held {', '.join(told)}; {percent(COVERAGE_QUANTILE)} are due."


def _spans(horizon_s: int, count: int) -> str:
    """`hours`, `days`, or `spans of 15 min`."""
    unit = {3600: "hour", DAY_S: "day"}.get(horizon_s)
    if unit is None:
        return f"span{'' if count == 1 else 's'} of {duration(horizon_s)}"
    return unit if count == 1 else f"{unit}s"


def _drift(report: ForecastReport) -> str:
    alarms = [drift for drift in report.drifts if drift.alarmed]
    if alarms:
        within = ", ".join(duration(drift.horizon_s) for drift in alarms)
        first = f"for {duration(alarms[0].horizon_s)}, " if len(alarms) > 1 else ""
        return (
            f"Alarm within {within}: {first}{alarms[0].reason}. Check whether the load or its counting has changed; "
            "until then plan for a higher quantile."
        )
    if not any(drift.completed for drift in report.drifts):
        return "None yet: nothing is scored so far."
    return "None: past forecasts were no worse than their backtest, beyond chance."


def alarmed(report: ForecastReport) -> bool:
    return any(drift.alarmed for drift in report.drifts)


def track_table(report: ForecastReport) -> Table | None:
    """Per horizon: how often the p95 held, and the loss against naive and backtest. None until a span is over."""
    measured = numbers("Completed", "p95 held", "Loss / naive", "Loss / backtest")
    columns = (*texts("Within"), *measured, *texts("Drift"))
    rows = [_row(score, drift) for score, drift in zip(report.scores, report.drifts, strict=True) if score.completed]
    return Table(columns, tuple(rows)) if rows else None


def _row(score: TrackScore, drift: ForecastDrift) -> tuple[Cell, ...]:
    interval = f"likely {percent(score.coverage_low)} to {percent(score.coverage_high)}".replace(" ", NBSP)
    naive = f"against {score.naive}" if score.naive else "the days before are not known"
    return (
        Cell(duration(score.horizon_s), strong=True),
        Cell(f"{score.completed:,}", (f"{score.apart:,} separate",)),
        Cell(percent(score.coverage), (interval, f"{score.held:,} of {score.completed:,}")),
        Cell(number(score.ratio_to_naive), (naive,)),
        Cell(number(drift.loss_ratio_to_backtest)),
        Cell("alarm" if drift.alarmed else "none", (drift.reason,) if drift.alarmed else (), strong=drift.alarmed),
    )
