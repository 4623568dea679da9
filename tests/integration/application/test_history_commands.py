"""`forescale history …` as a user runs it: over histories on disk, a Prometheus server, a stand-in for Storm's UI."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_stand_in import JsonStandIn, json_stand_in
from patience import until
from prometheus_history import HISTORY
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus
from report_page import ReportPage
from shop_history import MONDAY, NAME, hour, shop_file, write_shop

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.cli import main

NOWHERE = {"kind": "prometheus", "url": "http://127.0.0.1:1", "queries": {"orders": "orders_total"}}
COMMAND = [sys.executable, "-c", "from forescale.cli import main; main()", "history"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of an installation with one topology, the shop, that has no history yet."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))
    monkeypatch.delenv("FORESCALE_CLOCK", raising=False)
    describe(tmp_path, NOWHERE)
    return tmp_path / "home"


def describe(folder: Path, arrivals: dict[str, Any]) -> None:
    shop_file(folder / "topologies", arrivals)


def run(*arguments: str) -> int:
    """The exit code of `forescale history`."""
    with pytest.raises(SystemExit) as ended:
        main(("history", *arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The JSON document."""
    capsys.readouterr()
    assert run(*arguments, "--json") == code
    return json.loads(capsys.readouterr().out)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(*arguments) == code
    return capsys.readouterr().out


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of the error."""
    capsys.readouterr()
    assert run(*arguments) == 1
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("forescale: ")
    assert len(written.err.splitlines()) == 1
    return written.err


def test_show__tells_each_source_and_day_and_never_makes_a_gap_zero(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    day = [36] * 20 + [7200, 0, None, "~18"]
    write_shop(home, {"orders": [*day, *[None] * 24], "clicks": [3600] * 24 + ["^7200"] * 24}, measures="throughput")
    rows = {(row.pop("source"), row.pop("day")): row for row in answer(capsys, "show", NAME)["days"]}
    assert rows["orders", "2024-03-04"] == {
        "arrivals": 20 * 36 + 7200 + 18,
        "peak_per_s": 2.0,  # 7200 in an hour
        "peak_status": "observed",
        "observed": 22,
        "partial": 1,
        "throttled": 0,
        "missing": 1,
    }
    gone = rows["orders", "2024-03-05"]
    assert (gone["arrivals"], gone["peak_per_s"], gone["missing"]) == (None, None, 24)
    assert rows["clicks", "2024-03-05"]["peak_status"] == "throttled"
    table = shown(capsys, "show", NAME)
    assert "(throughput; windows of 3600 s)" in table
    assert re.search(r"orders │ 2024-03-05 │ +– │ +– │", table)
    assert re.search(r"clicks │ 2024-03-05 │ +172,800 │ +≥ 2 │", table)


def test_show__takes_any_span_sources_and_snapshot(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    first = write_shop(home, {"orders": [1] * 240, "clicks": [1] * 240})
    write_shop(home, {"orders": [9] * 24, "clicks": [9] * 24}, start=hour(48))
    told = answer(capsys, "show", NAME, "--from", "2024-03-06", "--to", "2024-03-07T12:00", "--source", "orders")
    assert [(row["day"], row["source"], row["arrivals"]) for row in told["days"]] == [
        ("2024-03-06", "orders", 24 * 9),
        ("2024-03-07", "orders", 12),
    ]
    before = answer(capsys, "show", NAME, "--from", "2024-03-06", "--days", "1", "--snapshot", first)
    assert before["snapshot"] == first
    assert [row["arrivals"] for row in before["days"]] == [24, 24]


def test_show__of_a_source_without_a_row_says_that_it_is_missing(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    write_shop(home, {"orders": [1] * 24})
    rows = answer(capsys, "show", NAME, "--source", "clicks")["days"]
    assert [(row["source"], row["missing"], row["arrivals"]) for row in rows] == [("clicks", 24, None)]


def test_show__draws_no_line_where_nobody_looks(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    write_shop(home, {"orders": [1] * 24})
    assert "█" not in shown(capsys, "show", NAME)


def test_show__draws_a_line_per_source_on_a_terminal(home: Path) -> None:
    write_shop(home, {"orders": [0, None, 3600, 7200]})
    # `script` gives it a terminal.
    lines = subprocess.run(
        ["script", "-qec", shlex.join([*COMMAND, "show", NAME]), "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "150"},
        timeout=120,
    ).stdout.splitlines()
    assert [line.rstrip() for line in lines if line.startswith(("orders _", "clicks ·"))] == [
        "clicks ···· nothing known",
        "orders _·▅█ peak 2/s",
    ]


def test_show__tells_the_most_frequent_keys(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    heavy = {f"key-{number:02}": 100 - number for number in range(12)} | {"[bold]\x1b[31mred": 1}
    keys = (DailyKeyCounts("orders", MONDAY.date(), heavy, residual=66, max_error=2),)
    source = SourceArrivals(np.full(24, 50), np.array([[0, 2**62]]))
    arrivals = Arrivals(MONDAY, hour(24), 3600, Measures.OFFERED, {"orders": source}, keys)
    write_history(arrivals, home / "history", NAME, MONDAY, hour(24))
    (told,) = answer(capsys, "show", NAME, "--keys")["keys"]
    said = {"source": "orders", "day": "2024-03-04", "heavy": heavy, "residual": 66, "max_error": 2}
    assert told == {**said, "distinct_keys": None}
    table = shown(capsys, "show", NAME, "--keys")
    # 100 + 99 + … + 89 + 1 + 66 = 1134 + 67 events; the ten of the table are 100 + … + 91 = 955.
    assert re.search(r"key-00 │ +100 │ +8 %", table.replace("\xa0", " "))
    assert re.search(r"\(all others\) │ +246 │ +20 %", table.replace("\xa0", " "))
    assert "key-10" not in table
    assert "\x1b[31m" not in table


def test_show__tells_how_many_other_keys_there_are(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    keys = (DailyKeyCounts("orders", MONDAY.date(), {"a": 3, "b": 2}, residual=40, distinct_keys=12),)
    source = SourceArrivals(np.full(24, 50), np.array([[0, 2**62]]))
    arrivals = Arrivals(MONDAY, hour(24), 3600, Measures.OFFERED, {"orders": source}, keys)
    write_history(arrivals, home / "history", NAME, MONDAY, hour(24))
    assert answer(capsys, "show", NAME, "--keys")["keys"][0]["distinct_keys"] == 12
    assert "(all others: 10)" in shown(capsys, "show", NAME, "--keys")


def test_show__without_keys_says_what_would_give_them(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    write_shop(home, {"orders": [1] * 24})
    assert "columns.key" in shown(capsys, "show", NAME, "--keys")


def test_plot__is_a_page_of_its_own_with_every_source(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    write_shop(home, {"orders": [1, None, 3] * 16, "clicks": [7] * 48})
    file = home / "pages" / "shop.html"
    file.parent.mkdir()
    assert answer(capsys, "show", NAME, "--plot", str(file))["plot"] == str(file)
    page = ReportPage(file.read_text())
    assert len(page.figures) == 2
    assert "Arrival history of shop" in page.text
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("show", NAME, "--plot", "shop.pdf"),
            r"--plot shop\.pdf is not the name of a page; give one that ends in \.html",
        ),
        (("show", NAME, "--from", "monday"), r"--from 'monday' is no ISO time; give it like"),
        (("show", NAME, "--from", "2024-03-05", "--to", "2024-03-04"), r"--from 2024-03-05 00:00 is not before --to"),
        (("show", NAME, "--source", "mail"), r"no source 'mail' .*; known are clicks, orders"),
        (("show", NAME, "--snapshot", "0" * 16), r"no snapshot '0000000000000000'; the newest are "),
        (
            ("show", NAME, "--from", "2020-01-01", "--days", "3"),
            r"no arrival history from 2020-01-01 .*; it covers 2024",
        ),
        (("check", NAME, "--to", "2020-01-01"), r"no arrival history before 2020-01-01 .*; it covers 2024"),
        (
            ("check", NAME, "--from", "2020-01-01", "--to", "2020-01-02"),
            r"no whole window between .*; it covers the dates",
        ),
        (("check", NAME, "--days", "-1"), r"--days -1; give more than 0"),
        (("record", NAME, "--for", "5"), r"--for 5 needs --every"),
        (("record", NAME, "--every", "0"), r"--every 0; give a positive number of seconds"),
        (("record", NAME, "--every", "1", "--for", "nan"), r"--for nan; give a positive number"),
        (("build", NAME, "--start", "noon"), r"start 'noon' is no ISO time"),
    ],
)
def test_what_cannot_be__is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], home: Path, arguments: tuple[str, ...], message: str
) -> None:
    write_shop(home, {"orders": [1] * 24})
    assert re.search(message, fails(capsys, *arguments))


@pytest.mark.parametrize("words", [("show",), ("check",), ("show", "--snapshots")], ids=" ".join)
def test_topology_without_a_history__is_told_to_build_one(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert "no arrival history" in (told := fails(capsys, *words, NAME))
    assert "run `forescale history build`" in told
    assert "no topology 'shpo'" in fails(capsys, *words, "shpo")


def test_check__of_a_good_history_passes(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    write_shop(home, {"orders": [100] * 240, "clicks": [100] * 240}, tallies={"duplicates": 10, "late": 1})
    told = answer(capsys, "check", NAME)
    assert told["good"]
    # The last seven days: 168 windows; of 111 rows each, 10 are copies and 1 late.
    assert told["sources"]["orders"]["rows_read"] == 168 * 111
    assert told["total"]["kept"] == 2 * 168 * 100
    assert told["total"]["share_observed"] == 1.0
    values = {(check["bound"], check["source"]): check["value"] for check in told["checks"]}
    assert values["max_duplicates", "clicks"] == pytest.approx(10 / 111)
    assert values["max_late", "orders"] == pytest.approx(1 / 111)
    assert "good" in shown(capsys, "check", NAME).splitlines()[-1]


def test_check__fails_with_the_bound_the_value_and_the_remedy(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    write_shop(home, {"orders": [100] * 24, "clicks": [100] * 18 + [None] * 6}, tallies={"future": 25})
    told = answer(capsys, "check", NAME, code=1)
    assert not told["good"]
    failed = {(check["bound"], check["source"]): check["value"] for check in told["checks"] if not check["holds"]}
    # 18 of 24 windows; 25 of 125 rows.
    assert failed == {
        ("min_observed", "clicks"): 0.75,
        ("max_quarantined", "orders"): 0.2,
        ("max_quarantined", "clicks"): 0.2,
    }
    table = " ".join(shown(capsys, "check", NAME, code=1).replace("\xa0", " ").split())
    assert "clicks: min_observed: 75 %, at least 90 % is asked; most of the rest is missing: see whether" in table
    assert "set the clocks" in table
    assert table.endswith("not good enough")


def test_check__of_a_source_without_a_row_and_of_days_never_built_counts_them_as_missing(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    write_shop(home, {"orders": [100] * 24})
    told = answer(capsys, "check", NAME, "--from", "2024-03-03", "--to", "2024-03-06", code=1)
    assert (told["sources"]["clicks"]["missing"], told["sources"]["clicks"]["observed"]) == (72, 0)
    assert (told["sources"]["orders"]["missing"], told["sources"]["orders"]["observed"]) == (48, 24)


def test_check__misses_nothing_before_the_first_count_of_a_young_history(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # Counted from eleven o'clock of its first day on, as plans and `doctor` check it.
    write_shop(home, {"orders": [None] * 11 + [100] * 37, "clicks": [None] * 12 + [100] * 36})
    told = answer(capsys, "check", NAME)
    assert (told["start"], told["sources"]["clicks"]["missing"]) == (hour(11).isoformat(), 1)
    assert not answer(capsys, "check", NAME, "--from", "2024-03-04", code=1)["good"]  # 11 of 48 hours


def test_check__goes_by_the_bounds_of_the_file(capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path) -> None:
    write_shop(home, {"orders": [100] * 12 + [None] * 12, "clicks": [100] * 24})
    assert not answer(capsys, "check", NAME, code=1)["good"]
    describe(tmp_path, NOWHERE | {"quality": {"min_observed": 0.5}})
    assert answer(capsys, "check", NAME)["good"]


def test_snapshots__are_listed_newest_first_with_what_they_cover(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    then = datetime.now(UTC) - timedelta(days=1)
    first = write_shop(home, {"orders": [1] * 24}, now=then)
    second = write_shop(home, {"orders": [2] * 24}, start=hour(24), now=then + timedelta(hours=1))
    newest, oldest = answer(capsys, "show", "--snapshots", NAME)["snapshots"]
    assert (newest["id"], newest["in_force"], newest["kept_until"]) == (second, True, None)
    assert (newest["first_date"], newest["last_date"], newest["dates"]) == ("2024-03-04", "2024-03-05", 2)
    assert newest["built_until"] == hour(48).isoformat()
    # 90 days after the second took its place.
    assert oldest["kept_until"] == (then + timedelta(days=90, hours=1)).isoformat()
    assert (oldest["id"], oldest["last_date"]) == (first, "2024-03-04")
    assert re.search(
        rf"{second} │ .* in force │ 2024-03-04 to 2024-03-05 │", shown(capsys, "show", "--snapshots", NAME)
    )


def test_record__of_a_source_that_keeps_what_came_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing has to be recorded" in shown(capsys, "record", NAME)
    assert "nothing has to be recorded" in shown(capsys, "record", NAME, "--every", "5")
    assert answer(capsys, "record", NAME)["steady"] is False


class _Storm:
    """Of two spouts, of which the first has emitted 40 more at each look."""

    def __init__(self, http: JsonStandIn) -> None:
        self.http = http
        self.emitted = 0
        here = "/api/v1/topology/shop-1-1"
        http.answers["/api/v1/topology/summary"] = {"topologies": [{"id": "shop-1-1", "name": NAME}]}
        http.answers[here] = {
            "spouts": [{"spoutId": "order-spout"}, {"spoutId": "click-spout"}],
            "bolts": [{"boltId": "join", "capacity": "0.1"}],
        }
        http.answers[f"{here}/component/order-spout"] = lambda _: self._executors(40)
        http.answers[f"{here}/component/click-spout"] = lambda _: self._executors(0)

    def _executors(self, more: int) -> dict[str, Any]:
        self.emitted += more
        emitted = self.emitted if more else 0
        return {"executorStats": [{"id": "[1-1]", "emitted": emitted, "uptimeSeconds": 5000}]}


@pytest.fixture
def storm(tmp_path: Path) -> Iterator[JsonStandIn]:
    with json_stand_in() as http:
        _Storm(http)
        spouts = {"orders": "order-spout", "clicks": "click-spout"}
        describe(tmp_path, {"kind": "storm", "url": http.url, "spouts": spouts, "window_s": 1, "lateness_s": 0})
        yield http


def test_record__once_keeps_a_reading(capsys: pytest.CaptureFixture[str], home: Path, storm: JsonStandIn) -> None:
    assert "emitted order-spout 40, click-spout 0, largest capacity 0.1" in shown(capsys, "record", NAME)
    (file,) = (home / "readings" / NAME).iterdir()
    assert len(file.read_text().splitlines()) == 1


def test_record__once_of_a_ui_that_does_not_answer_fails(
    capsys: pytest.CaptureFixture[str], storm: JsonStandIn, tmp_path: Path
) -> None:
    describe(tmp_path, {"kind": "storm", "url": "http://127.0.0.1:1", "spouts": {"orders": "order-spout"}})
    assert "Storm UI at http://127.0.0.1:1, topology shop" in fails(capsys, "record", NAME)
    # Steadily it goes on trying, and says in the end that there is nothing.
    assert run("record", NAME, "--every", "0.2", "--for", "0.5") == 1
    written = capsys.readouterr()
    assert "0 readings recorded, 3 attempts failed" in written.out
    assert written.err.count("cannot be reached") == 3
    assert "trying again" in written.err


def test_record__steadily_makes_a_history_that_can_be_built(
    capsys: pytest.CaptureFixture[str], home: Path, storm: JsonStandIn
) -> None:
    told = answer(capsys, "record", NAME, "--every", "0.5", "--for", "4.2")
    # At 0, 0.5, … 4.0 s; a busy machine may miss one or two of them.
    assert 7 <= told.pop("recorded") <= 9
    assert told == {"topology": NAME, "steady": True, "failed": 0}
    built = answer(capsys, "build", NAME)
    assert built["measures"] == "throughput"
    # 40 at each reading: the first is half a second of the counter's own rate, so it began at zero just before. What
    # came after the last whole second is of no window yet.
    assert 40 * 5 <= built["per_source"]["orders"] <= 40 * 9
    assert built["per_source"]["clicks"] == 0
    rows = {row["source"]: row for row in answer(capsys, "show", NAME)["days"]}
    assert rows["clicks"]["arrivals"] == 0
    assert rows["orders"]["observed"] >= 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_record__survives_an_outage_and_ends_cleanly_when_it_is_stopped(
    home: Path, storm: JsonStandIn, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "record", NAME, "--every", "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: readings(home) >= 2)
        storm.statuses["/api/v1/topology/summary"] = 500
        # The first of them may have been answered just before, and what was asked after it belongs to its reading.
        asked = summaries(storm)
        until(lambda: summaries(storm) >= asked + 2)
        before = readings(home)
        storm.statuses.clear()
        until(lambda: readings(home) >= before + 2)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert re.search(rf"^{readings(home)} readings recorded, \d+ attempts failed$", out, re.MULTILINE)
    assert "fails /api/v1/topology/summary: HTTP 500" in err
    assert "Traceback" not in err


def summaries(storm: JsonStandIn) -> int:
    """How often the summary was asked for."""
    return sum(path == "/api/v1/topology/summary" for path, _ in list(storm.asked))


def readings(home: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in (home / "readings" / NAME).glob("*.jsonl"))


@pytest.mark.prometheus
def test_build_of_a_prometheus_history__then_check_and_show(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    require_prometheus()
    backfill(tmp_path / "prometheus", openmetrics(HISTORY))
    with prometheus_server(tmp_path / "prometheus") as url:
        section = {
            "kind": "prometheus",
            "url": url,
            "queries": {"orders": "burst_total", "clicks": "gaps_total"},
            "held_back": "vector(0)",
        }
        describe(tmp_path, section)
        span = ("--start", "2024-03-03T02:00", "--end", "2024-03-03T02:08")
        with caplog.at_level("INFO"):
            built = answer(capsys, "build", NAME, *span)
        # Minutes 120 to 128 of the burst: 30 + 5 + 400 + 20 + 7; the other counter ended at minute 40.
        assert built["per_source"] == {"orders": 462}
        assert built["sources_unknown"] == ["clicks"]
        assert (built["observed"], built["missing"]) == (8, 0)
        assert "history of shop from 2024-03-03 02:00:00+00:00" in caplog.text
        told = answer(capsys, "check", NAME, code=1)
        assert {check["source"] for check in told["checks"] if not check["holds"]} == {"clicks"}
        # In words, and without an expression that tells when it was held back.
        describe(tmp_path, {name: section[name] for name in ("kind", "url", "queries")})
        words = shown(capsys, "build", NAME, *span)
        assert "462 events counted from 2024-03-03T02:00:00+00:00" in words
        assert "windows: 0 observed, 0 partial, 8 throttled, 0 missing" in words
        assert "too few observed to forecast from; most of the rest is throttled" in words
        assert "no data of source clicks" in words
        assert "say when the source was held back (held_back)" in shown(capsys, "check", NAME, code=1)
