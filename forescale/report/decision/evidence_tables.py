"""The tables a reviewer checks the decision by: quality of the forecast and of the model, peaks, provenance."""

from collections.abc import Mapping

from forecasting.drift import deployed_score
from forecasting.forecast import BacktestScore, Forecast, mixture_parts
from forecasting.selection import DEPLOYED
from forescale.report.decision.decision import DecisionReport
from forescale.report.kit.decision_words import basis_rows
from forescale.report.kit.local_time import UTC_TIME, LocalTime
from forescale.report.kit.table import Cell, Column, Table, numbers, safe_href, texts
from forescale.report.kit.wording import (
    duration,
    number,
    percent,
    quantile_name,
    rate,
    service_time,
    shortened,
)
from modeling.inputs.operator_profile import OperatorProfile
from modeling.wording import count_of, rounded


def peaks_table(forecasts: Mapping[str, Forecast], planned: float | None = None) -> Table | None:
    """Quantiles of the largest rate within each horizon; the planned quantile stands out."""
    quantiles = sorted({q for forecast in forecasts.values() for q in forecast.quantiles})
    rows = [
        (
            *_head(forecasts, source, horizon_s),
            *(Cell(_peak(forecast, horizon_s, q), strong=q == planned) for q in quantiles),
        )
        for source, forecast in sorted(forecasts.items())
        for horizon_s in sorted(forecast.peak_per_s)
    ]
    columns = (*_head_columns(forecasts, "Within"), *numbers(*map(quantile_name, quantiles)))
    return Table(columns, tuple(rows), compact=True) if rows else None


def _head(forecasts: Mapping[str, Forecast], source: str, horizon_s: int) -> tuple[Cell, ...]:
    """Source and horizon; without the source if there is only one."""
    horizon = Cell(duration(horizon_s), strong=True)
    return (Cell(source, strong=True), horizon) if len(forecasts) > 1 else (horizon,)


def _head_columns(forecasts: Mapping[str, Forecast], horizon: str) -> tuple[Column, ...]:
    return texts("Source", horizon) if len(forecasts) > 1 else texts(horizon)


def _peak(forecast: Forecast, horizon_s: int, quantile: float) -> str:
    return rate(forecast.peak_quantile_per_s(horizon_s, quantile)) if quantile in forecast.quantiles else "–"


def deployed_table(forecasts: Mapping[str, Forecast]) -> Table | None:
    """The forecasters of each horizon, and their backtest scores against the better naive rival."""
    rows = [
        (*_head(forecasts, source, horizon_s), *_deployed_cells(forecast, horizon_s))
        for source, forecast in sorted(forecasts.items())
        for horizon_s in sorted(forecast.forecaster)
    ]
    head = (*_head_columns(forecasts, "Horizon"), *texts("Forecaster"))
    columns = (*head, *numbers("Loss ratio", "Peaks below p95", "Origins"))
    return Table(columns, tuple(rows), compact=True) if rows else None


def _deployed_cells(forecast: Forecast, horizon_s: int) -> tuple[Cell, ...]:
    name = forecast.forecaster[horizon_s]
    score = deployed_score(forecast, horizon_s)
    if score is None:
        return (Cell(name, ("not scored: too few origins",)), Cell("–"), Cell("–"), Cell("–"))
    notes = () if score.ratio < 1 else ("no better than the naive rival",)
    return (Cell(name, notes), Cell(number(score.ratio)), Cell(percent(score.coverage)), Cell(str(score.origins)))


def rivals_table(forecasts: Mapping[str, Forecast]) -> Table | None:
    """Every other forecaster that was tried, per horizon: whether it is part of what is deployed, and its score."""
    rows = [
        (
            *_head(forecasts, source, score.horizon_s),
            Cell(_tried(score), (_verdict(forecast, score),)),
            Cell(number(score.ratio)),
            Cell(percent(score.coverage)),
            Cell(score.reason or "–"),
        )
        for source, forecast in sorted(forecasts.items())
        for score in sorted(forecast.scores, key=lambda s: (s.horizon_s, s.forecaster))
        if score is not deployed_score(forecast, score.horizon_s)
    ]
    head = (*_head_columns(forecasts, "Horizon"), *texts("Forecaster"))
    columns = (*head, *numbers("Loss ratio", "Peaks below p95"), *texts("Reason"))
    return Table(columns, tuple(rows)) if rows else None


def _tried(score: BacktestScore) -> str:
    return "the best together" if score.forecaster == DEPLOYED else score.forecaster


def _verdict(forecast: Forecast, score: BacktestScore) -> str:
    deployed = score.forecaster in mixture_parts(forecast.forecaster.get(score.horizon_s, ""))
    return "part of what is deployed" if deployed else "not deployed"


def profiles_table(decision: DecisionReport) -> Table:
    """Service time per operator as the model used it, and as the topology file declares it."""
    rows = [_profile_row(profile, decision.declared[name]) for name, profile in decision.profiles.items()]
    columns = (*texts("Operator"), *numbers("Service time", "Declared"))
    return Table(columns, tuple(rows), compact=True)


def _profile_row(profile: OperatorProfile, declared: OperatorProfile) -> tuple[Cell, ...]:
    origin = f"measured, {count_of(profile.samples, 'sample')}" if profile.samples else "declared, not yet measured"
    selectivity = (f"{stream}: {number(ratio)} out per tuple in" for stream, ratio in profile.selectivity.items())
    return (
        Cell(profile.operator, (f"{origin}{_against_declared(profile, declared)}", *selectivity), strong=True),
        Cell(service_time(profile.service_s, profile.service_s_error)),
        Cell(service_time(declared.service_s)),
    )


def _against_declared(profile: OperatorProfile, declared: OperatorProfile) -> str:
    if not profile.samples or declared.service_s <= 0:
        return ""
    times = profile.service_s / declared.service_s
    off = times - 1
    if abs(off) < 0.005:
        return ", as declared"
    if times >= 2:
        return f", {rounded(times, 2)} times as long as declared"
    return f", {percent(abs(off))} {'longer' if off > 0 else 'shorter'} than declared"


def provenance(decision: DecisionReport) -> tuple[tuple[str, Cell], ...]:
    """What is needed to reproduce the decision, as pairs of name and value."""
    current, local = decision.schedule.current, decision.local
    forecasts = (
        (f"Forecast of {source}", run_cell(forecast, decision.links.get(source, ""), local))
        for source, forecast in sorted(decision.forecasts.items())
    )
    return (
        ("Schedule", Cell(decision.schedule_id, (f"decided {local.moment(decision.schedule.made_at)}",))),
        ("Current plan", Cell(current.brief(), (f"plan {current.plan_id}",))),
        *forecasts,
        *((name, Cell(text)) for name, text in basis_rows(decision.schedule.basis)),
    )


def run_cell(forecast: Forecast, link: str, local: LocalTime = UTC_TIME) -> Cell:
    """The run of a forecast, linked if the link is plain http(s), and what reproduces it."""
    version = f", model version {forecast.model_version}" if forecast.model_version else ""
    run = f"MLflow run {forecast.run_id}" if forecast.run_id else "not tracked in MLflow"
    href = safe_href(link)
    notes = (
        f"issued {local.moment(forecast.issued_at)} {local.name}, seed {forecast.seed}",
        f"trained on {local.span(forecast.trained_from, forecast.trained_to)} {local.name}, "
        f"history {shortened(forecast.history_digest, 17)}{_snapshot(forecast)}",
        *([link] if link and not href else []),
        *forecast.sibling_notes,
        *forecast.notes,
    )
    return Cell(f"{run}{version}", notes, href)


def _snapshot(forecast: Forecast) -> str:
    return f", snapshot {forecast.history_snapshot}" if forecast.history_snapshot else ""
