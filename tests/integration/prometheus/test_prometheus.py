"""Arrivals from the counters of a real Prometheus server. What it holds is told in prometheus_history."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from prometheus_history import DAYS, moment
from prometheus_server import prometheus_server, require_prometheus

from forecasting.arrivals.arrival_source import Arrivals, Measures
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.grid import to_us, whole_windows
from forecasting.arrivals.history import STATUSES
from forecasting.arrivals.sources.prometheus import Prometheus
from forecasting.errors import HistoryError

pytestmark = pytest.mark.prometheus


def minutes_of(url: str, selector: str, first: int, last: int, max_gap_s: float = 60) -> tuple[list[int], str]:
    """Counts and statuses (one letter each) of the minutes from first to last."""
    arrivals = Prometheus(url, {"feed": selector}, max_gap_s=max_gap_s).read(moment(first), moment(last), 60)
    return arrivals.sources["feed"].counts.tolist(), statuses(arrivals)


def statuses(arrivals: Arrivals) -> str:
    told = arrivals.sources["feed"]
    return "".join(one[0] for one in np.array(STATUSES)[status_codes(told.alive, arrivals.edges_us(), told.counts)])


def held_back_minutes(arrivals: Arrivals, source: str = "feed") -> list[list[float]]:
    return [[(us - to_us(moment(0))) / 60e6 for us in span] for span in arrivals.sources[source].held_back.tolist()]


def test_read__of_a_restart_counts_what_came_since_and_calls_the_minute_partial(prometheus: str) -> None:
    # 60 a minute; at 10:15 the counter stands at 60 · 0.15 = 9, which is what is known to have come since 10:00.
    counts, status = minutes_of(prometheus, "restarted_total", 8, 13)
    assert counts == [60, 60, 9 + 45, 60, 60]
    assert status == "oopoo"


def test_read__of_a_gap_shorter_than_the_look_back_is_missing_and_no_lump(prometheus: str) -> None:
    # A stale sample repeated for five minutes would make four minutes of zero, and 240 events at once.
    counts, status = minutes_of(prometheus, "gaps_total", 8, 16)
    assert counts == [60, 60, 0, 0, 0, 0, 60, 60]
    assert status == "oommmmoo"


def test_read__of_a_gap_that_may_be_bridged_is_spread_over_it(prometheus: str) -> None:
    counts, status = minutes_of(prometheus, "gaps_total", 8, 16, max_gap_s=240)
    assert counts == [60] * 8
    assert status == "o" * 8


def test_read__of_a_gap_longer_than_the_look_back_is_missing(prometheus: str) -> None:
    counts, status = minutes_of(prometheus, "gaps_total", 18, 32)
    assert counts == [60, 60, *[0] * 10, 60, 60]
    assert status == "oo" + "m" * 10 + "oo"


def test_read__adds_up_series_that_begin_and_end(prometheus: str) -> None:
    # Pod b: 120 a minute from 20 to 40. The minute before it, and the one after it, may have had more of it.
    counts, status = minutes_of(prometheus, "pods_total", 18, 43)
    assert counts == [60, 60, *[180] * 20, 60, 60, 60]
    assert status == "op" + "o" * 20 + "poo"


def test_read__of_an_autoscalers_pods_knows_the_peak_that_they_carry(prometheus: str) -> None:
    # 10/s from 9 to 11, 2/s else; what a pod of 20 minutes counts after its last scrape, at most 15 s, is lost.
    for width, least in ((60, 0.9), (300, 1.0)):
        arrivals = Prometheus(prometheus, {"feed": "hpa_total"}).read(moment(480), moment(720), width)
        counts, known = arrivals.sources["feed"].counts, np.array(list(statuses(arrivals))) == "o"
        peak = slice(3600 // width, 3 * 3600 // width)
        assert known[peak].mean() >= least, width
        assert known[: peak.start].all()
        assert counts[peak].sum() == pytest.approx(72_000, rel=0.8 * 15 / 1200)
        assert set(counts[: peak.start].tolist()) == {2 * width}


def test_read__of_more_samples_than_a_page_holds_loses_none(prometheus: str) -> None:
    # 17,281 samples of at most 11,000 a page.
    arrivals = Prometheus(prometheus, {"feed": "long_total"}).read(moment(0), moment(DAYS * 1440), 60)
    assert statuses(arrivals) == "o" * DAYS * 1440
    assert set(arrivals.sources["feed"].counts.tolist()) == {4}  # one event a scrape


@pytest.mark.parametrize("page_points", [4, 7, 1000])
@pytest.mark.parametrize("ended_after_s", [600, 599.999])  # with the latter, pages end in the moments of scrapes
def test_read__page_by_page_changes_nothing(prometheus: str, page_points: int, ended_after_s: float) -> None:
    queries = {"a": "restarted_total", "b": "gaps_total", "c": "pods_total", "d": "burst_total"}
    whole, paged = (
        Prometheus(
            prometheus, queries, held_back="pressure_total", page_points=points, ended_after_s=ended_after_s
        ).read(moment(5), moment(75), 60)
        for points in (11_000, page_points)
    )
    for source in queries:
        assert paged.sources[source].counts.tolist() == whole.sources[source].counts.tolist()
        assert paged.sources[source].alive.tolist() == whole.sources[source].alive.tolist()
        assert (
            paged.sources[source].tallies["rows_read"].tolist() == whole.sources[source].tallies["rows_read"].tolist()
        )
        assert paged.sources[source].held_back.tolist() == whole.sources[source].held_back.tolist()


def test_read__of_a_selector_that_matches_nothing_is_missing(prometheus: str) -> None:
    counts, status = minutes_of(prometheus, 'pods_total{pod="z"}', 0, 5)
    assert counts == [0] * 5
    assert status == "mmmmm"


def test_read__of_throughput_is_held_back_throughout_unless_something_tells(prometheus: str) -> None:
    arrivals = Prometheus(prometheus, {"feed": "pods_total"}).read(moment(0), moment(10), 60)
    assert held_back_minutes(arrivals) == [[0, 10]]


def test_read__is_held_back_where_the_expression_says_so_or_says_nothing(prometheus: str) -> None:
    source = Prometheus(prometheus, {"feed": "pods_total"}, held_back="pressure_total > bool 0")
    # Above 0 from 30 to 31:45, and free a scrape before and after. The last value is of 50, and is repeated for the
    # five minutes of the look-back: at 55 it is so for the last time, or a scrape before.
    pressed, silent = held_back_minutes(source.read(moment(20), moment(70), 60))
    assert pressed == [29.75, 32]
    assert silent[0] in (54.75, 55)
    assert silent[1] == 60


def test_read__of_what_is_offered_is_never_held_back(prometheus: str) -> None:
    arrivals = Prometheus(prometheus, {"feed": "pods_total"}, measures=Measures.OFFERED).read(moment(0), moment(5), 60)
    assert held_back_minutes(arrivals) == []


def test_first_moment__is_that_of_the_oldest_sample(prometheus: str) -> None:
    assert Prometheus(prometheus, {"feed": "burst_total"}).first_moment() == moment(100)
    assert Prometheus(prometheus, {"a": "burst_total", "b": 'pods_total{pod="b"}'}).first_moment() == moment(20)


def test_first_moment__of_nothing_names_the_selector(prometheus: str) -> None:
    with pytest.raises(HistoryError, match=r"no sample of nobody_total; check"):
        Prometheus(prometheus, {"feed": "nobody_total"}).first_moment()


def test_first_moment__that_is_given_is_not_looked_for() -> None:
    source = Prometheus("http://127.0.0.1:1", {"feed": "pods_total"}, since=moment(3))
    assert source.first_moment() == moment(3)


@pytest.mark.parametrize("selector", ["pods_total{", "sum(pods_total)", "rate(pods_total[5m])", "pods_total[5m]"])
def test_read__of_a_selector_that_is_none_quotes_the_server(prometheus: str, selector: str) -> None:
    with pytest.raises(HistoryError, match=r"cannot answer .*(parse error|expected|only allowed).*plain selector"):
        minutes_of(prometheus, selector, 0, 5)


def test_read__of_a_wrong_held_back_quotes_the_server(prometheus: str) -> None:
    with pytest.raises(HistoryError, match=r"cannot answer sum\(: .*parse error"):
        Prometheus(prometheus, {"feed": "pods_total"}, held_back="sum(").read(moment(0), moment(5), 60)


class _Exporter(ThreadingHTTPServer):
    """Counts, and says how far it has counted when it is scraped."""

    counted = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"# TYPE events_total counter\nevents_total {self.server.counted}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def exporter() -> Iterator[_Exporter]:
    with _Exporter(("127.0.0.1", 0), _Answer) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def test_read__of_a_counter_that_is_being_scraped_gives_what_it_counted(tmp_path: Path, exporter: _Exporter) -> None:
    require_prometheus()
    # More than a scrape's worth of its rate: it ran long before.
    exporter.counted = 5000
    with prometheus_server(tmp_path / "prometheus", (exporter.target,), scrape_s=1) as url:
        source = Prometheus(url, {"feed": "events_total"}, scrape_interval_s=1)
        begun = _eventually(source.first_moment)
        for _ in range(6):  # on a busy machine a scrape is late now and then
            time.sleep(1.5)
            exporter.counted += 37
            time.sleep(2.5)
            # From the window before the first scrape to the last one that is over, of which samples are still to come.
            start, end = whole_windows(begun, datetime.now(UTC) + timedelta(seconds=1), 1)
            time.sleep(1.5)
            arrivals = source.read(start, end, 1)
            if statuses(arrivals)[1:].startswith("ooo"):
                break
            begun = datetime.now(UTC)
    assert arrivals.sources["feed"].counts.sum() == 37
    assert statuses(arrivals)[1:].startswith("ooo")


def _eventually(ask: Callable[[], datetime], timeout_s: float = 120) -> datetime:
    """What it answers once it does not fail any more."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return ask()
        except HistoryError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
