"""A history with an outage that nobody declared: asked about by check, with the line that confirms it."""

import json
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml
from shop_history import MONDAY, NAME, hour, shop_file, write_shop

from forecasting.arrivals.store import read_history
from forecasting.events.effects import without_outages
from forescale.cli import main
from forescale.jobs.rungs import planning_basis
from forescale.jobs.suspected_outages import known_events
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.clock import TraceClock
from planner.decision_basis import CauseKind

FIRST, HOURS = 15 * 24, 72  # the Tuesday of the third week, for three days
DAYS = 28
KAFKA = {"kind": "kafka", "servers": "127.0.0.1:1", "topics": {"orders": "a", "clicks": "b"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """1,000 orders an hour, of which 150 came for three days; clicks came as ever."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    shop_file(tmp_path / "topologies", KAFKA)
    orders = [1000] * DAYS * 24
    orders[FIRST : FIRST + HOURS] = [150] * HOURS
    write_shop(tmp_path / "home", {"orders": orders, "clicks": [1000] * DAYS * 24})
    TraceClock(Settings(home=tmp_path / "home", clock="trace").clock_file).start_at(MONDAY + timedelta(days=DAYS))
    return tmp_path / "home"


def checked(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(("history", "check", NAME, *options))
    assert ended.value.code == 0
    return capsys.readouterr().out


def workspace(home: Path) -> Workspace:
    return Workspace(Settings(home=home, topologies=home.parent / "topologies", clock="trace"))


def test_check__asks_and_its_line_leaves_the_span_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(checked(capsys).split())
    assert "orders: from 2024-03-19 00:00 to 2024-03-22 00:00 UTC came 15 % of what is usual" in text
    assert "clicks: from" not in text
    (suspect,) = json.loads(checked(capsys, "--json"))["suspected_outages"]
    assert (suspect["source"], suspect["share"], suspect["lost"]) == ("orders", 0.15, 850 * HOURS)

    line = re.search(r"- (\{.*kind: outage.*?\})", text)
    assert line is not None
    path = home.parent / "topologies" / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"events": [yaml.safe_load(line[1])]}))
    assert json.loads(checked(capsys, "--json"))["suspected_outages"] == []
    # What forecasts learn from: orders without these 72 hours, and clicks with them.
    config = workspace(home).config(NAME)
    calendar = known_events(config, MONDAY, MONDAY + timedelta(days=DAYS))
    history = read_history(home / "history", NAME)
    left_out = {
        source: np.flatnonzero(np.isnan(without_outages(series, calendar.of_source(source)).counts)).tolist()
        for source, series in history.series.items()
    }
    assert left_out == {"orders": list(range(FIRST, FIRST + HOURS)), "clicks": []}


def test_plan__names_the_span_among_what_it_stands_on(home: Path) -> None:
    its = workspace(home)
    config, now = its.config(NAME), MONDAY + timedelta(days=DAYS)
    (cause,) = [
        each
        for each in planning_basis(its, its.situation(config), now).causes
        if each.kind is CauseKind.SUSPECTED_OUTAGE
    ]
    assert (cause.source, cause.at, cause.other_at, cause.value) == ("orders", hour(FIRST), hour(FIRST + HOURS), 0.15)
    later = planning_basis(its, its.situation(config), hour(FIRST + HOURS) + timedelta(days=28))
    assert CauseKind.SUSPECTED_OUTAGE not in {each.kind for each in later.causes}
