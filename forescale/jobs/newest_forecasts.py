"""The newest forecast of each source in the ledger, and recorded forecasts."""

from pathlib import Path

from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forescale.files.topology import TopologyConfig
from planner.errors import PlanError
from planner.ledger.entries import ForecastEntry
from planner.ledger.ledger import Ledger


def newest_known(config: TopologyConfig, ledger: Ledger) -> dict[str, ForecastEntry]:
    """Entries by source; sources without one are left out."""
    newest: dict[str, ForecastEntry] = {}
    sources = config.as_topology().sources
    # The newest forecast of a source that failed recently is further back.
    for entry in ledger.forecasts(config.topology, limit=100 * len(sources)):
        newest.setdefault(entry.source, entry)
    return {source: newest[source] for source in sources if source in newest}


def newest_forecasts(config: TopologyConfig, ledger: Ledger) -> dict[str, ForecastEntry]:
    """The newest forecast of each source. Raises PlanError if a source has none."""
    newest = newest_known(config, ledger)
    for source in config.as_topology().sources:
        if source not in newest:
            raise PlanError(
                f"topology {config.topology!r} has no forecast of source {source!r}; run `forescale forecast "
                f"{config.topology}` and hold the plan until then"
            )
    return newest


def recorded_forecast(entry: ForecastEntry, *, with_paths: bool = True) -> Forecast:
    """The forecast of an entry. Raises ForecastError as read_forecast, also for one of another topology or source."""
    return read_forecast(Path(entry.folder), with_paths=with_paths, of=(entry.topology, entry.source))
