"""The forecast of one source as a page: what is coming, scores of past forecasts, and provenance."""

from dataclasses import replace

from forescale.report.decision.evidence_tables import deployed_table, peaks_table, rivals_table, run_cell
from forescale.report.forecasts.forecast_figure import forecast_figure
from forescale.report.forecasts.forecast_report import ForecastReport
from forescale.report.forecasts.peak_figure import track_figure
from forescale.report.forecasts.track_tables import alarmed, headline, sentences, track_table
from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell
from forescale.report.kit.wording import moment, span
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
