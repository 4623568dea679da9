"""`forescale forecast pages`: pages written from what the ledger, the history and the forecasts' files tell."""

import json
import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from past_forecasts import said
from report_page import ReportPage
from shop_history import NAME, hour, shop_file, write_shop

from forecasting.forecast import Forecast
from forecasting.forecast_file import JSON_FILE, write_forecast
from forescale.cli import main
from forescale.jobs.forecast_report import forecast_reports, reports_after_forecast
from forescale.jobs.past_forecasts import drifts_by_source, write_failures
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, topology_config
from planner.clock import TraceClock
from planner.ledger.entries import ForecastEntry

NBSP = "\N{NO-BREAK SPACE}"
HOURS = 10 * 24
NOW = hour(HOURS)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of an installation with the shop, at the end of ten days in which 3600 orders came each hour, one a second."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(tmp_path / "mlruns"))
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    shop_file(tmp_path / "topologies", {"kind": "prometheus", "url": "http://127.0.0.1:1", "queries": {"orders": "o"}})
    settings = Settings()
    write_shop(settings.home, {"orders": [3600] * HOURS, "clicks": [7200] * HOURS}, now=NOW)
    TraceClock(settings.clock_file).start_at(NOW)
    return settings.home


def keep(forecasts: Sequence[Forecast]) -> list[Path]:
    """As `forescale forecast` keeps them, in files and in the ledger; the folders."""
    settings = Settings()
    folders = []
    for number, forecast in enumerate(forecasts):
        folder = settings.forecasts_dir / forecast.topology / f"{forecast.source}-{number}"
        write_forecast(forecast, folder)
        entry = ForecastEntry(
            f"{forecast.topology}-{forecast.source}-{number}",
            forecast.topology,
            forecast.source,
            forecast.issued_at,
            forecast.end,
            "",
            "",
            str(folder),
            forecast.history_digest,
        )
        ledger_of(settings).record_forecast(entry)
        folders.append(folder)
    return folders


def of_orders(start: datetime, p95_per_s: float, source: str = "orders") -> Forecast:
    """Within an hour and a day the same, as every hour is."""
    peak = p95_per_s * np.array([0.9, 0.95, 1.0, 1.1])
    made = said(start, {3600: peak, 86400: peak}, step_s=3600, topology=NAME, source=source)
    return replace(made, run_id="")


def hourly(count: int, p95_per_s: float) -> list[Forecast]:
    """The last one begins now."""
    return [of_orders(NOW - timedelta(hours=back), p95_per_s) for back in range(count, -1, -1)]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(("forecast", "pages", *arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def page(path: str) -> str:
    return ReportPage(Path(path).read_text(encoding="utf-8")).text.replace(NBSP, " ")


def test_forecasts__writes_a_page_for_each_source_and_one_for_all(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep([*hourly(30, 1.2), of_orders(NOW, 2.4, "clicks")])
    told = answer(capsys, NAME)
    assert told["page"] == str(home / "reports" / "forecasts.html")
    orders, clicks = told["topologies"][NAME]["orders"], told["topologies"][NAME]["clicks"]
    assert orders["report"] == str(home / "reports" / NAME / "forecast-orders.html")
    assert (orders["cause"], orders["alarms"]) == ("", {})
    # Of thirty hours all are over, of days those that began 24 to 30 hours ago.
    assert (orders["drifts"]["3600"]["completed"], orders["drifts"]["86400"]["completed"]) == (30, 7)
    assert orders["drifts"]["3600"]["coverage"] == 1.0
    # 1.2 against one a second.
    assert orders["growth"] == pytest.approx(0.2)
    assert "in 30 of 30 completed hours, in 7 of 7 completed days" in page(orders["report"])
    assert clicks["drifts"]["3600"]["completed"] == 0
    every = page(told["page"])
    assert "2 series: all are forecast, none has drifted" in every
    assert every.index("clicks") < every.index("orders"), "of the same growth, by name"


def test_forecasts__shows_a_table_and_where_the_pages_are(capsys: pytest.CaptureFixture[str]) -> None:
    keep([*hourly(30, 1.2), of_orders(NOW, 2.4, "clicks")])
    assert run() == 0
    told = capsys.readouterr().out.replace(NBSP, " ")
    assert "shop / orders" in told
    assert "1.2 within 24 h" in told
    assert "100 % of 7 × 24 h" in told
    assert "forecast-orders.html" in told
    assert "forecasts.html" in told


def test_forecasts__raises_an_alarm_where_the_p95_no_longer_holds(capsys: pytest.CaptureFixture[str]) -> None:
    # One a second came, where half of it was said to be exceeded once in twenty times.
    keep(hourly(30, 0.5))
    orders = answer(capsys)["topologies"][NAME]["orders"]
    assert "the p95 was exceeded in 30 of the last 30 separate spans" in orders["alarms"]["3600"]
    assert "Drift Alarm within 1 h" in page(orders["report"])
    settings = Settings()
    drifts = drifts_by_source(Workspace(settings), topology_config(NAME, settings))
    assert [drift.alarmed for drift in drifts["orders"]] == [True, False]


def test_forecasts__names_the_cause_where_there_is_no_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    [folder] = keep([of_orders(NOW, 1.2)])
    (folder / JSON_FILE).write_text("{}")
    told = answer(capsys, NAME)
    orders, clicks = told["topologies"][NAME]["orders"], told["topologies"][NAME]["clicks"]
    assert orders["report"] is None
    assert JSON_FILE in orders["cause"]
    assert "make the forecast again" in orders["cause"]
    assert clicks["cause"] == "it was never forecast; run `forescale forecast shop`"
    assert "2 series: 2 not forecast, none drifted" in page(told["page"])


def test_forecasts__bears_past_ones_that_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    folders = keep(hourly(5, 1.2))
    (folders[0] / JSON_FILE).unlink()
    orders = answer(capsys, NAME)["topologies"][NAME]["orders"]
    assert orders["drifts"]["3600"]["completed"] == 4


def test_forecasts__says_of_one_that_is_over_that_nothing_is_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    keep([of_orders(NOW - timedelta(hours=24), 1.2)])
    orders = answer(capsys, NAME)["topologies"][NAME]["orders"]
    assert orders["cause"].startswith("the newest forecast ended Thu 14 Mar 00:00 UTC")
    assert orders["p95_per_s"] == {}
    # What it was worth can still be read.
    assert "The p95 held in 1 of 1 completed hour, in 1 of 1 completed day" in page(orders["report"])


def test_forecasts__names_the_cause_of_a_source_that_could_not_be_forecast_since(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep([of_orders(NOW - timedelta(hours=3), 1.2)])
    write_failures(Settings().forecasts_dir / NAME, NOW, {"orders": "nothing was observed in the last 3.0 h"})
    told = answer(capsys, NAME)
    orders = told["topologies"][NAME]["orders"]
    assert orders["cause"] == "not forecast since Wed 13 Mar 21:00 UTC: nothing was observed in the last 3.0 h"
    # What was forecast before still reaches ahead.
    assert orders["p95_per_s"]["86400"] == pytest.approx(1.2)
    assert "Not renewed Nothing was observed in the last 3.0 h." in page(orders["report"])


def test_forecasts__knows_nothing_of_what_comes_after_now(capsys: pytest.CaptureFixture[str]) -> None:
    keep(hourly(30, 1.2))
    TraceClock(Settings().clock_file).start_at(NOW - timedelta(hours=12))
    orders = answer(capsys, NAME)["topologies"][NAME]["orders"]
    assert orders["drifts"]["3600"]["completed"] == 18


def test_forecasts__holds_none_against_an_outage_that_was_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(hourly(30, 1.2))
    outage = {"label": "works", "kind": "outage", "start": f"{NOW - timedelta(hours=6)}", "end": f"{NOW}"}
    file = tmp_path / "topologies" / f"{NAME}.yaml"
    file.write_text(file.read_text() + yaml.safe_dump({"events": [outage]}))
    orders = answer(capsys, NAME)["topologies"][NAME]["orders"]
    # Six of the thirty hours tell nothing. Of the seven days, the two that began last lack more than a fifth.
    assert (orders["drifts"]["3600"]["completed"], orders["drifts"]["86400"]["completed"]) == (24, 5)


def test_forecasts__of_all_includes_those_without_a_file_and_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep([of_orders(NOW, 1.2), replace(of_orders(NOW, 3.3), topology="forgotten")])
    (tmp_path / "topologies" / "broken.yaml").write_text("topology: [")
    told = answer(capsys)
    assert set(told["topologies"]) == {NAME, "forgotten"}
    every = page(told["page"])
    assert "broken all sources" in every
    assert "forgotten orders" in every
    # Named ones are written again, all are shown.
    assert set(answer(capsys, NAME)["topologies"]) == {NAME}
    assert "forgotten orders" in page(told["page"])


def test_forecasts__writes_no_more_pages_than_asked_for_those_of_the_riskiest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Two clicks came a second: 2.2 is a tenth more. Of the orders 1.5 is half as much again as the one that came.
    keep([of_orders(NOW, 1.5), of_orders(NOW, 2.2, "clicks")])
    told = answer(capsys, "--most-pages", "1")
    assert Path(told["topologies"][NAME]["orders"]["report"]).exists()
    assert told["topologies"][NAME]["clicks"]["report"] is None
    fleet = Path(told["page"]).read_text(encoding="utf-8")
    assert "forecast-orders.html" in fleet
    assert "forecast-clicks.html" not in fleet
    # A page of before is still linked.
    answer(capsys)
    assert "forecast-clicks.html" in Path(answer(capsys, "--most-pages", "0")["page"]).read_text(encoding="utf-8")


def test_forecasts__of_an_unknown_topology_says_which_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("elsewhere") == 1
    assert "known are: shop" in capsys.readouterr().err


def test_forecasts__of_a_source_with_an_odd_name_stays_in_its_folder(home: Path) -> None:
    odd = "../../etc/" + "a" * 300
    settings = Settings()
    folder = settings.forecasts_dir / "forgotten" / "odd"
    write_forecast(replace(of_orders(NOW, 1.2), topology="forgotten", source=odd), folder)
    entry = ForecastEntry("odd", "forgotten", odd, NOW, NOW + timedelta(days=1), "", "", str(folder), "")
    ledger_of(settings).record_forecast(entry)
    written = forecast_reports(Workspace(settings)).topologies["forgotten"][odd].report
    assert written is not None
    assert written.resolve().parent == (home / "reports" / "forgotten").resolve()
    assert written.exists()


def test_forecasts__is_written_and_linked_to_its_runs_while_mlflow_is_away() -> None:
    settings = Settings(mlflow_uri="http://127.0.0.1:1", mlflow_ui="http://mlflow.example")
    keep([replace(of_orders(NOW, 1.2, f"source {number}"), topology="many", run_id="run-1") for number in range(5)])
    pages = forecast_reports(Workspace(settings)).topologies["many"]
    assert len(pages) == 5
    for one in pages.values():
        assert one.report is not None
        assert ("href", "http://mlflow.example/#/runs/run-1") in ReportPage(one.report.read_text("utf-8")).attributes


def test_reports_after_forecast__never_stand_in_its_way(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep([of_orders(NOW, 1.2)])
    assert set(reports_after_forecast(Workspace(Settings()), NAME)) == {"orders"}
    shutil.rmtree(home / "reports")
    (home / "reports").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        assert reports_after_forecast(Workspace(Settings()), NAME) == {}
    assert "the pages on the forecasts of shop could not be written" in caplog.text
