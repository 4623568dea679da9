"""The load of an evaluation: paths of sources go together as the ledger's past forecasts, or the history, tell."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from joined_sources import END, errors, forecasts, histories, past
from scipy.stats import spearmanr

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.evaluation_load import AskedLoad, EvaluatedLoad, evaluated_load
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, topology_config
from planner.ledger.entries import ForecastEntry

TOPOLOGY = """
topology: shop
operators:
  app: {service_s: 0.0001}
  web: {service_s: 0.0001}
  join: {service_s: 0.01}
streams:
  - {from: app, to: join}
  - {from: web, to: join}
planning: {arrival_cv2: 1}
"""
ASKED = AskedLoad({}, (), newest=True)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "shop.yaml").write_text(TOPOLOGY)
    made = Settings(home=tmp_path / "home", topologies=tmp_path, mlruns=tmp_path / "mlruns")
    _keep(made, list(forecasts().values()))
    return made


def _keep(settings: Settings, made: Sequence[Forecast]) -> None:
    for each in made:
        name = f"{each.source}-{each.start:%m%dT%H}"
        folder = settings.home / "said" / name
        write_forecast(each, folder)
        entry = ForecastEntry(name, "shop", each.source, each.issued_at, each.end, "", "", str(folder), "", "")
        ledger_of(settings).record_forecast(entry)


def _write(settings: Settings, rho: float, days: int = 21) -> None:
    known = histories(rho, days)
    alive = np.array([[0, 2**62]])
    counts = {source: SourceArrivals(each.counts.round().astype(np.int64), alive) for source, each in known.items()}
    start = next(iter(known.values())).start
    write_history(Arrivals(start, END, 900, Measures.OFFERED, counts), settings.history_dir, "shop", start, END)


def _load(settings: Settings) -> EvaluatedLoad:
    config: TopologyConfig = topology_config("shop", settings)
    return evaluated_load(Workspace(settings), Workspace(settings).situation(config), ASKED)


def _paired(load: EvaluatedLoad) -> float:
    return float(spearmanr(*(load.paths_per_s[source].mean(axis=1) for source in ("app", "web")))[0])


def test_an_evaluation__pairs_paths_by_the_history_where_no_past_forecasts_are_kept(settings: Settings) -> None:
    _write(settings, 0.9)
    load = _load(settings)
    assert _paired(load) > 0.75
    assert load.notes == ()


def test_an_evaluation__pairs_paths_by_past_forecasts_where_they_are_kept(settings: Settings) -> None:
    _write(settings, 0.9)
    known = histories(0.9, 21)
    off = 0.1 * errors(-0.9, 30)
    for source, each in zip(("app", "web"), off, strict=True):
        _keep(settings, past(source, each, known[source]))
    load = _load(settings)
    assert _paired(load) < -0.6
    # One source peaks where the other does not, so less comes together than their peaks add up to.
    alone = sum(float(np.quantile(of.max(axis=1), 0.95)) for of in load.paths_per_s.values())
    assert load.peak_per_s[0.95] < 0.99 * alone
    # The load is what comes then of each.
    assert sum(load.rate_per_s.values()) == pytest.approx(load.peak_per_s[0.95], rel=0.01)


def test_an_evaluation__without_enough_history_says_that_paths_are_paired_as_they_come(settings: Settings) -> None:
    (note,) = _load(settings).notes
    assert note.startswith("sample paths of sources are paired as they come: ")
    _write(settings, 0.9, days=7)
    (note,) = _load(settings).notes
    assert note.startswith("sample paths of app, web are paired as they come: 0 spans of 1 h are known of all of them")
