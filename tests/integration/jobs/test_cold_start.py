"""A topology of half a day borrows from its siblings: on the command line, when it is asked again, and made again."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from integration.airflow.day_and_night import NAME, NOW, START, TOPOLOGY, calls_per_minute, install

from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forecasting.errors import ForecastError
from forecasting.forecast_file import read_forecast
from forescale.cli.main import application
from forescale.jobs.forecast import forecast
from forescale.jobs.reproduce import reproduce
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, tracker_of
from planner.clock import TraceClock

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

YOUNG = NOW - timedelta(hours=12)
OLDER = TOPOLOGY.replace("topology: day-and-night", "topology: older")


def arrive(settings: Settings, topology: str, since: timedelta, hours: float = 0, source: str = "receive") -> None:
    """The history of a source, as long as told before NOW and hours beyond it, with noise of a tenth."""
    start, end = NOW - since, NOW + timedelta(hours=hours)
    first, count = int((start - START).total_seconds()) // 60, int((end - start).total_seconds()) // 60
    usual = np.array([calls_per_minute(minute) for minute in range(first, first + count)], dtype=np.int64)
    counts = np.random.default_rng(len(topology)).poisson(20 * usual).astype(np.int64)
    rows = history_rows(topology, source, counts, np.array([[0, 2**62]]), start=start, window_s=60)
    write_history(rows, settings.history_dir, topology, start, end)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = install(tmp_path).settings
    (settings.topologies / "older.yaml").write_text(OLDER)
    arrive(settings, NAME, NOW - YOUNG)
    arrive(settings, "older", timedelta(days=21))
    TraceClock(settings.clock_file).start_at(NOW)
    return settings


def name_siblings(settings: Settings, *siblings: str) -> None:
    path = settings.topologies / f"{NAME}.yaml"
    path.write_text(f"{TOPOLOGY}\nsources: {{ receive: {{ like: {json.dumps(list(siblings))} }} }}\n")


def notes(folder: Path) -> str:
    return "\n".join(read_forecast(folder, with_paths=False).sibling_notes)


def test_the_command_line__tells_from_whom_a_shape_is_borrowed(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    name_siblings(settings, "older/receive")
    with pytest.raises(SystemExit) as ended:
        application("forecast", "run")(["forecast", NAME], obj=settings)
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "shape borrowed from older/receive (named, correlation " in told
    assert "until its own record is better" in told


def test_a_sibling_that_is_not_named__is_found_by_its_likeness_and_told_on_the_page(settings: Settings) -> None:
    arrive(settings, NAME, timedelta(hours=30))
    made = forecast(Workspace(settings), NAME)
    assert "shape borrowed from older/receive (found, correlation " in made.siblings["receive"][0]
    assert "shape borrowed from older/receive (found" in made.reports["receive"].read_text()


def test_what_was_borrowed__is_asked_again_and_made_again_bit_for_bit_after_the_sibling_has_moved_on(
    settings: Settings,
) -> None:
    name_siblings(settings, "older/receive")
    first = forecast(Workspace(settings), NAME)
    assert reproduce(Workspace(settings), first.run_ids["receive"]).sources["receive"].same
    arrive(settings, NAME, NOW - YOUNG, hours=2)
    # The sibling's history becomes another one: what was trained has seen the commit of before.
    arrive(settings, "older", timedelta(days=30), hours=2)
    TraceClock(settings.clock_file).start_at(NOW + timedelta(hours=2))
    second = forecast(Workspace(settings), NAME)
    assert read_forecast(second.forecasts["receive"]).trained_to == NOW
    assert second.siblings == first.siblings
    recorded = tracker_of(settings).fetch_request(second.run_ids["receive"])["siblings"]["receive"]
    assert [(each["topology"], each["source"], each["named"]) for each in recorded] == [("older", "receive", True)]
    for folder in ("trained", "forecasts"):
        shutil.rmtree(settings.home / folder)
    for made, how in ((first, "trained anew"), (second, f"asked of model version {NAME}/1")):
        again = reproduce(Workspace(settings), made.run_ids["receive"]).sources["receive"]
        assert (again.same, again.how, again.cause) == (True, how, "")


def test_what_a_found_sibling_lent__is_read_again_alike_where_others_of_its_topology_went_on(
    settings: Settings,
) -> None:
    arrive(settings, NAME, timedelta(hours=30))
    # The last two days are written anew, with another source in place of the one that lends.
    arrive(settings, "older", timedelta(days=2), source="other")
    made = forecast(Workspace(settings), NAME)
    assert "shape borrowed from older/receive (found, correlation " in made.siblings["receive"][0]
    again = reproduce(Workspace(settings), made.run_ids["receive"]).sources["receive"]
    assert (again.same, again.cause) == (True, "")


def test_the_same_history__is_forecast_once(settings: Settings) -> None:
    name_siblings(settings, "older/receive")
    first, again = forecast(Workspace(settings), NAME), forecast(Workspace(settings), NAME)
    assert first.run_ids == again.run_ids
    assert len(ledger_of(settings).forecasts(NAME)) == 1


def test_a_sibling_that_is_not_known__is_told_with_field_and_remedy_and_hurts_nothing_else(settings: Settings) -> None:
    arrive(settings, "new", timedelta(days=2))
    name_siblings(settings, "nowhere/receive", "older/other", "new/receive", "older/receive")
    told = notes(forecast(Workspace(settings), NAME).forecasts["receive"])
    assert "siblings: nowhere/receive lends nothing: " in told
    assert "siblings: older/other lends nothing: topology 'older' has no arrival history of source 'other'" in told
    assert "new/receive lends nothing: 2.00 days of history, 7 are needed" in told
    assert "or name another in sources.receive.like" in told
    assert "shape borrowed from older/receive (named" in told


def test_two_young_sources_that_name_each_other__are_refused_with_what_both_lack(settings: Settings) -> None:
    arrive(settings, "new", timedelta(hours=12))
    name_siblings(settings, "new/receive")
    with pytest.raises(ForecastError, match=r"0\.50 days of history, 1 are needed.*new/receive lends nothing: 0\.50 d"):
        forecast(Workspace(settings), NAME)


def test_half_a_day_without_named_siblings__is_refused_with_the_field_that_names_them(settings: Settings) -> None:
    with pytest.raises(
        ForecastError, match=r"0\.50 days of history, 1 are needed.*name those .* in sources\.receive\.like"
    ):
        forecast(Workspace(settings), NAME)


def test_a_source_whose_history_is_long_enough__borrows_nothing(settings: Settings) -> None:
    arrive(settings, NAME, timedelta(days=15))
    made = forecast(Workspace(settings), NAME)
    # train_days is 4: what a source has seen before counts as well.
    assert made.siblings == {}
