"""Forecasts of several sources with joint sample paths, by the correlation of their past errors."""

from collections.abc import Mapping

from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import Forecast
from forecasting.joined_paths import JoinedForecasts, compared_s, joined_forecasts
from forescale.jobs.newest_forecasts import recorded_forecast
from forescale.jobs.past_forecasts import known_by
from forescale.situation.situation import Situation
from planner.ledger.ledger import Ledger

MAX_LISTED = 15_000
"""Ledger entries searched for past forecasts: for two hourly sources, more than half a year."""
MAX_PAST = 120
"""Past forecasts read per source."""


def joint_forecasts(situation: Situation, ledger: Ledger, forecasts: Mapping[str, Forecast]) -> JoinedForecasts:
    """Join them by the ledger's past forecasts and the history; the note says if these are not enough."""
    if len(forecasts) < 2:
        return JoinedForecasts(forecasts)
    config, since = situation.config, min(each.trained_from for each in forecasts.values())
    until = max(each.start for each in forecasts.values())
    try:
        history = situation.history.between(since, until).in_local_time(config.timezones)
    except HistoryError as error:
        return JoinedForecasts(forecasts, f"sample paths of sources are paired as they come: {error}")
    known = {source: known_by(history, source, config.events, until) for source in forecasts}
    past = _past(ledger, config.topology, forecasts, compared_s(forecasts))
    return joined_forecasts(forecasts, known, past)


def _past(ledger: Ledger, topology: str, forecasts: Mapping[str, Forecast], span_s: int) -> dict[str, list[Forecast]]:
    """Forecasts that ended a whole number of spans before the present ones, newest first, without missing ones."""
    found: dict[str, list[Forecast]] = {source: [] for source in forecasts}
    for entry in ledger.forecasts(topology, limit=MAX_LISTED):
        if entry.source not in forecasts or len(found[entry.source]) == MAX_PAST:
            continue
        before_s = (forecasts[entry.source].end - entry.horizon_end).total_seconds()
        if before_s <= 0 or before_s % span_s:
            continue
        try:
            found[entry.source].append(recorded_forecast(entry, with_paths=False))
        except ForecastError:
            continue
    return found
