"""Arrivals from Storm's UI, against a stand-in that answers in the shapes of Storm 2's REST documentation and code."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.arrival_source_contract import SECRET, ArrivalSourceContract, KnownArrivals
from json_stand_in import JsonStandIn, json_stand_in
from pydantic import SecretStr

from forecasting.arrivals.arrival_source import Arrivals, Measures
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.grid import to_us
from forecasting.arrivals.history import STATUSES
from forecasting.arrivals.sources.steady import SteadySource
from forecasting.arrivals.sources.storm_ui import StormUi
from forecasting.errors import HistoryError

NOON = datetime(2024, 3, 3, 12, tzinfo=UTC)
ID = "words-3-1709400000"
TOPOLOGY, SPOUT = f"/api/v1/topology/{ID}", f"/api/v1/topology/{ID}/component/feed%20spout"


def minute(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


class StormStandIn:
    """A topology of one spout and two bolts. executors: id → emitted of all time, and minute at which it came up."""

    def __init__(self, http: JsonStandIn) -> None:
        self.http = http
        self.executors: dict[str, tuple[int, float]] = {}
        self.capacity = "0.031"
        self.now = NOON
        topologies = [{"id": "other-1-1", "name": "other"}, {"id": ID, "name": "words", "status": "ACTIVE"}]
        http.answers["/api/v1/topology/summary"] = {"topologies": topologies}
        http.answers[TOPOLOGY] = lambda _: {
            "id": ID,
            "spouts": [{"spoutId": "feed spout", "emitted": 1, "completeLatency": "0.000"}],
            "bolts": [
                {"boltId": "split", "capacity": "0.002", "executeLatency": "0.1"},
                {"boltId": "count", "capacity": self.capacity, "executeLatency": "0.7"},
            ],
        }
        http.answers[SPOUT] = lambda query: {
            "id": "feed spout",
            "window": query["window"][0],
            "executorStats": [
                {
                    "id": executor,
                    "host": "node",
                    "port": 6700,
                    "emitted": emitted,
                    "uptimeSeconds": max(0, round((self.now - minute(up)).total_seconds())),
                    "uptime": "1h",
                }
                for executor, (emitted, up) in self.executors.items()
            ],
        }

    def record(self, source: StormUi, at: float, *, capacity: str = "0.031", **executors: tuple[int, float]) -> str:
        self.now, self.capacity = minute(at), capacity
        self.executors = {f"[{name[1:]}-{name[1:]}]": told for name, told in executors.items()}
        return source.record(self.now).line


@pytest.fixture
def http() -> Iterator[JsonStandIn]:
    with json_stand_in() as running:
        yield running


@pytest.fixture
def storm(http: JsonStandIn) -> StormStandIn:
    return StormStandIn(http)


@pytest.fixture
def source(storm: StormStandIn, tmp_path: Path) -> StormUi:
    return StormUi(storm.http.url, "words", {"feed": "feed spout"}, tmp_path / "log", max_gap_s=120)


def statuses(arrivals: Arrivals) -> str:
    told = arrivals.sources["feed"]
    return "".join(one[0] for one in np.array(STATUSES)[status_codes(told.alive, arrivals.edges_us(), told.counts)])


def read(source: StormUi, first: int, last: int) -> Arrivals:
    return source.read(minute(first), minute(last), 60)


class TestStormUiIsAnArrivalSource(ArrivalSourceContract):
    measures = Measures.THROUGHPUT
    within_s = 1.0

    @pytest.fixture
    def known(self) -> KnownArrivals:
        return KnownArrivals("feed", NOON, 60, (40, 0, 900, 20, 0, 60))

    @pytest.fixture
    def source(self, storm: StormStandIn, known: KnownArrivals, tmp_path: Path) -> StormUi:
        source = StormUi(storm.http.url, "words", {"feed": "feed spout"}, tmp_path / "log")
        for number in range(-2, 10):
            half = sum(known.counts[: max(0, number)]) // 2
            storm.record(source, number, e1=(500 + half, -500), e2=(1000 + half, -500))
        return source

    @pytest.fixture
    def unreachable(self, tmp_path: Path) -> StormUi:
        secret = {"Authorization": SecretStr(SECRET)}
        url = f"http://anna:{SECRET}@127.0.0.1:1"
        return StormUi(url, "words", {"feed": "feed"}, tmp_path / "none", headers=secret, timeout_s=self.within_s)


def test_record__keeps_what_each_executor_emitted_and_says_so(storm: StormStandIn, source: StormUi) -> None:
    line = storm.record(source, 0, capacity="0.745", e1=(40, -1), e2=(60, -2))
    assert line == "2024-03-03 12:00:00 UTC: emitted feed spout 100, largest capacity 0.745"
    assert {query["window"][0] for _, query in storm.http.asked} == {":all-time"}
    (file,) = Path(source.place.rpartition("readings in ")[2]).iterdir()
    assert '"emitted": {"feed spout": {"[1-1]": [40, 60], "[2-2]": [60, 120]}}' in file.read_text()


def test_record__of_a_moment_twice_is_once(storm: StormStandIn, source: StormUi) -> None:
    assert source.record(NOON).added
    again = source.record(NOON)
    assert not again.added
    assert "not recorded" in again.line


def test_source__is_one_to_be_read_steadily(source: StormUi) -> None:
    steady: SteadySource = source
    assert steady.measures is Measures.THROUGHPUT


def test_read__counts_between_readings_and_shares_them_by_time(storm: StormStandIn, source: StormUi) -> None:
    for at, emitted in ((0, 1000), (1, 1200), (2.5, 1500), (4, 1500)):
        storm.record(source, at, e1=(emitted, -100))
    arrivals = read(source, 0, 4)
    # 300 in the 1.5 minutes from minute 1: 200 a minute.
    assert arrivals.sources["feed"].counts.tolist() == [200, 200, 100, 0]
    assert statuses(arrivals) == "oooo"


def test_read__of_one_restarted_worker_loses_only_what_that_worker_had_uncounted(
    storm: StormStandIn, source: StormUi
) -> None:
    # At minute 2 executor 2 has been up for half a minute: its 60 came since 1:30. The sum over both executors fell
    # from 6000 to 1260, of which nobody could tell what it means.
    for at, first, second in ((0, 1000, 4800), (1, 1100, 4900), (2, 1200, 60), (3, 1300, 180)):
        storm.record(source, at, e1=(first, -100), e2=(second, -100 if at < 2 else 1.5))
    for at in (4, 5):
        storm.record(source, at, e1=(1300 + 100 * (at - 3), -100), e2=(180 + 100 * (at - 3), 1.5))
    arrivals = read(source, 0, 5)
    assert arrivals.sources["feed"].counts.tolist() == [200, 160, 220, 200, 200]
    assert statuses(arrivals) == "opooo"


def test_read__of_a_restart_that_overtook_the_old_count_is_no_small_increase(
    storm: StormStandIn, source: StormUi
) -> None:
    """The counter alone would tell of 20 events: it stood at 80, and now at 100, all of them new."""
    storm.record(source, 0, e1=(40, -1))
    storm.record(source, 1, e1=(80, -1))
    storm.record(source, 2, e1=(100, 1.5))
    arrivals = read(source, 0, 2)
    assert arrivals.sources["feed"].counts.tolist() == [40, 100]
    assert statuses(arrivals) == "op"


def test_read__passes_over_the_zeros_of_a_worker_that_has_not_reported(storm: StormStandIn, source: StormUi) -> None:
    for at, emitted, up in ((0, 1000, -100), (1, 0, 1), (2, 1040, -100)):
        storm.record(source, at, e1=(emitted, up))
    arrivals = read(source, 0, 2)
    assert arrivals.sources["feed"].counts.tolist() == [20, 20]
    assert statuses(arrivals) == "oo"


def test_read__where_nobody_recorded_is_missing(storm: StormStandIn, source: StormUi) -> None:
    for at in (0, 1, 2, 20, 21, 22):
        storm.record(source, at, e1=(100 * at, -100))
    arrivals = read(source, 0, 22)
    assert arrivals.sources["feed"].counts.tolist() == [100, 100, *[0] * 18, 100, 100]
    assert statuses(arrivals) == "oo" + "m" * 18 + "oo"


def test_read__is_held_back_in_the_ten_minutes_of_a_saturated_capacity(storm: StormStandIn, source: StormUi) -> None:
    for at in range(31):
        storm.record(source, at, capacity="0.900" if at in (20, 21) else "0.899", e1=(100 * at, -100))
    held_back = read(source, 0, 30).sources["feed"].held_back
    assert [[(us - to_us(NOON)) / 60e6 for us in span] for span in held_back.tolist()] == [[10, 21]]
    # Readings after the interval tell of it as well.
    assert read(source, 0, 15).sources["feed"].held_back.size == 2


def test_read__of_a_topology_submitted_anew_goes_on(storm: StormStandIn, source: StormUi) -> None:
    for at in (0, 1, 2):
        storm.record(source, at, e1=(1000 + 100 * at, -100))
    answers = storm.http.answers
    answers["/api/v1/topology/summary"] = {"topologies": [{"id": "words-9-17", "name": "words"}]}
    for path in (TOPOLOGY, SPOUT):
        answers[path.replace(ID, "words-9-17")] = answers.pop(path)
    for at in (3, 4, 5):
        storm.record(source, at, e1=(100 * (at - 2), 2.25))
    arrivals = read(source, 0, 5)
    assert arrivals.sources["feed"].counts.tolist() == [100] * 5
    # Up again a quarter of a minute after the last reading; what the old one emitted until its end is lost.
    assert statuses(arrivals) == "oopoo"


def test_read__before_anything_was_recorded_says_how_to(source: StormUi) -> None:
    for ask in (source.first_moment, lambda: read(source, 0, 1)):
        with pytest.raises(HistoryError, match="no reading yet; run `forescale history record words`"):
            ask()


def test_read__of_another_topologys_readings_is_refused(storm: StormStandIn, source: StormUi, tmp_path: Path) -> None:
    storm.record(source, 0, e1=(20, -1))
    other = StormUi(storm.http.url, "other", {"feed": "feed spout"}, tmp_path / "log")
    with pytest.raises(HistoryError, match=r"of topology 'words'.*folder of its own"):
        read(other, 0, 1)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/api/v1/topology/summary", {"topologies": []}, "does not run; known are: none"),
        ("/api/v1/topology/summary", {"topologies": [{}]}, "not documented"),
        ("/api/v1/topology/summary", {"error": "Internal Server Error", "errorMessage": "…"}, "Internal Server Error"),
        (TOPOLOGY, {"spouts": [], "bolts": []}, "no spout 'feed spout' .* are none"),
        (TOPOLOGY, {"spouts": [], "bolts": [{"capacity": "busy"}]}, "not documented"),
        (SPOUT, {"executorStats": [{"id": "[1-1]"}]}, "not documented"),
        (SPOUT, ["nothing"], "not documented"),
    ],
)
def test_record__of_what_the_ui_does_not_tell_is_an_error_and_keeps_nothing(
    storm: StormStandIn, source: StormUi, path: str, body: Any, message: str
) -> None:
    storm.http.answers[path] = body
    with pytest.raises(HistoryError, match=message):
        source.record(NOON)
    with pytest.raises(HistoryError, match="no reading yet"):
        source.first_moment()


def test_record__without_a_time_zone_is_refused(source: StormUi) -> None:
    with pytest.raises(HistoryError, match="no time zone"):
        source.record(datetime(2024, 3, 3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"spouts": {}}, "no spouts"),
        ({"saturated_capacity": 0}, "saturated_capacity 0"),
        ({"max_gap_s": 0}, "max_gap_s 0"),
        ({"ended_after_s": 10}, "ended_after_s 10"),
    ],
)
def test_parameters__that_cannot_be_are_refused(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        StormUi(**{"url": "http://ui:8080", "topology": "words", "spouts": {"a": "b"}, "log": tmp_path, **wrong})
