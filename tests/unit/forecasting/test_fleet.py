"""Forecasts of many sources: what is wrong with one hurts no other and is named."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sample_orders import TERMS, order_of, poisoned, short_requests

from forecasting.errors import ForecastError
from forecasting.fleet import ForecastResult, ForecastTask, forecast_each, run_task
from forecasting.forecast_file import forecast_digest, read_forecast
from forecasting.trained_file import JSON_FILE, read_trained, write_trained


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def order(home: Path) -> ForecastTask:
    return order_of(short_requests(), home, run_id="r1", model_version="shop/1")


@pytest.fixture(scope="module")
def outcome(order: ForecastTask) -> ForecastResult:
    return run_task(order)


@pytest.fixture
def order_to_ask(order: ForecastTask, outcome: ForecastResult) -> ForecastTask:
    """For what `outcome` has trained, to be asked alone."""
    assert outcome.failure == ""
    return replace(order, train=False, folder=None)


def test_an_order__becomes_a_forecast_in_its_folder(order: ForecastTask, outcome: ForecastResult) -> None:
    assert (outcome.failure, outcome.fresh) == ("", True)
    assert outcome.cpu_s > 0
    assert order.folder is not None
    kept = read_forecast(order.folder)
    assert kept.paths_per_s.shape == (TERMS.paths, TERMS.steps)
    assert forecast_digest(kept) == outcome.digest
    assert (kept.run_id, kept.model_version) == ("r1", "shop/1")
    assert outcome.forecast is not None
    assert outcome.forecast.paths_per_s.shape == (0, TERMS.steps)
    assert outcome.forecast.peak_per_s.keys() == kept.peak_per_s.keys()


def test_what_was_trained__says_the_same_when_it_is_asked_again(
    order_to_ask: ForecastTask, outcome: ForecastResult
) -> None:
    again = run_task(order_to_ask)
    assert (again.failure, again.fresh) == ("", False)
    assert again.digest == outcome.digest


def test_the_same_order__carried_out_anew_gives_the_same_forecast(
    order: ForecastTask, outcome: ForecastResult, tmp_path: Path
) -> None:
    assert run_task(replace(order, trained=tmp_path / "t", folder=None)).digest == outcome.digest


def test_another_seed__gives_another_forecast(order: ForecastTask, outcome: ForecastResult, tmp_path: Path) -> None:
    other = replace(order, terms=replace(TERMS, seed=4), trained=tmp_path / "t", folder=None)
    assert run_task(other).digest != outcome.digest


def test_what_was_trained__comes_back_from_its_folder(
    order: ForecastTask, outcome: ForecastResult, tmp_path: Path
) -> None:
    trained = read_trained(order.trained)
    assert (trained.source, trained.terms, trained.model_version) == ("web", TERMS, "shop/1")
    write_trained(trained, tmp_path / "copy")
    again = read_trained(tmp_path / "copy")
    # NaN is not equal to itself, its name is.
    assert repr(again.scores) == repr(trained.scores)
    assert again.deployed.ensemble.weights == trained.deployed.ensemble.weights
    (tmp_path / "copy" / JSON_FILE).write_text("{}")
    with pytest.raises(ForecastError, match=r"trained\.json cannot be read.*train it again"):
        read_trained(tmp_path / "copy")


def test_poisoned_series__hurt_no_other_and_have_a_named_cause(outcome: ForecastResult, tmp_path: Path) -> None:
    orders: Mapping[str, ForecastTask] = poisoned(tmp_path) | {"web": order_of(short_requests(), tmp_path)}
    outcomes = {each.source: each for each in forecast_each(list(orders.values()))}
    assert outcomes["web"].digest == outcome.digest
    assert "no window of the history was observed" in outcomes["all NaN"].failure
    assert "count -1" in outcomes["negative"].failure
    assert "0.03 days of history, 1 are needed" in outcomes["three points"].failure
    assert "2% of the windows are observed, 50% are needed" in outcomes["a year of gaps"].failure
    # What never changes can be forecast: 90 events in 900 s.
    constant = outcomes["constant"].forecast
    assert constant is not None
    assert constant.peak_quantile_per_s(21600, 0.99) == pytest.approx(0.1)
    assert any(note.startswith("harmonic_arima takes no part: every observed count is 90") for note in constant.notes)
    for source in ("all NaN", "negative", "three points", "a year of gaps"):
        assert outcomes[source].forecast is None
        assert not orders[source].trained.exists()
        assert not (tmp_path / "forecasts" / source).exists()


def test_a_defect_in_one_source__is_named_and_stays_its_own(
    order_to_ask: ForecastTask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import forecasting.fleet

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(forecasting.fleet, "train", broken)
    outcomes = list(forecast_each([replace(order_to_ask, train=True, trained=tmp_path / "t"), order_to_ask]))
    assert outcomes[0].failure == "ZeroDivisionError: division by zero"
    assert outcomes[1].failure == ""


def test_a_demoted_horizon__is_said_in_the_forecast(order_to_ask: ForecastTask) -> None:
    demoted = run_task(replace(order_to_ask, demoted={900: "the p95 held in 12 of 30 windows"}))
    assert demoted.forecast is not None
    assert "900 s: demoted, the p95 held in 12 of 30 windows" in demoted.forecast.notes
    naive = dict(zip(TERMS.horizons_s, read_trained(order_to_ask.trained).deployed.ensemble.naive, strict=True))
    assert demoted.forecast.forecaster[900] == naive[900]
    assert np.isfinite(demoted.forecast.rate_per_s).all()
