"""Arrivals from Heron's tracker, against a stand-in that answers in the shapes of its REST interface, old and new.

There is no Heron to be had any more, so what the stand-in tells is modelled on the code of its last releases: minutes
without a report show a count of 0.000000, and values are text.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from contract.arrival_source_contract import SECRET, ArrivalSourceContract, KnownArrivals
from json_stand_in import JsonStandIn, Query, json_stand_in
from pydantic import SecretStr

from forecasting.arrivals.arrival_source import Arrivals, Measures
from forecasting.arrivals.coverage import status_codes
from forecasting.arrivals.history import STATUSES
from forecasting.arrivals.sources.heron_tracker import HeronTracker
from forecasting.errors import HistoryError

FIRST, SECOND, BOLT = "container_1_word_feed_1", "container_2_word_feed_2", "container_1_count_3"
# The tracker keeps three hours, counted from now. The contract wants the start to be a multiple of two minutes.
NOW_S = int(datetime.now(UTC).timestamp())
START_S = (NOW_S - 3600) // 120 * 120


def minute(number: int) -> datetime:
    return datetime.fromtimestamp(START_S + 60 * number, UTC)


class HeronStandIn:
    """A topology of one spout of two instances, and a bolt. Minutes are numbered from START_S.

    emitted, uptimes, pressure: per instance, minute and value. offset_s: how long after whole minutes they begin.
    """

    def __init__(self, http: JsonStandIn, *, wrapped: bool = False, legacy: bool = False) -> None:
        self.http, self._wrapped = http, wrapped
        self.emitted: dict[str, dict[int, float]] = {}
        self.uptimes: dict[str, dict[int, float]] = {}
        self.pressure: dict[str, dict[int, float]] = {}
        self.streams, self.instances, self.offset_s = ["default"], [FIRST, SECOND], 0
        timeline = "/topologies/metricstimeline" if legacy else "/topologies/metrics/timeline"
        http.answers["/topologies/logicalplan"] = self._logical_plan
        http.answers["/topologies/physicalplan"] = self._physical_plan
        http.answers[timeline] = self._timeline

    def reported(self, instance: str, counts: dict[int, float]) -> None:
        """The instance reported those counts, in minutes in which it was up; nothing is under pressure."""
        self.emitted[instance] = counts
        self.uptimes[instance] = {number: 100_000.0 + 60 * number for number in counts}
        self.pressure[instance] = dict.fromkeys(counts, 0.0)

    def tracker(self, **other: Any) -> HeronTracker:
        names = {"cluster": "local", "environ": "prod", "topology": "words", "spouts": {"feed": "word_feed"}}
        return HeronTracker(self.http.url, **{**names, **other})

    def _body(self, result: Any) -> Any:
        if self._wrapped:
            return {"status": "success", "executiontime": 0.01, "message": "", "version": "0.17", "result": result}
        return result

    def _logical_plan(self, query: Query) -> Any:
        outputs = [{"stream_name": stream} for stream in self.streams]
        bolt = {
            "outputs": [],
            "inputs": [{"stream_name": "default", "component_name": "word_feed", "grouping": "SHUFFLE"}],
        }
        return self._body({"spouts": {"word_feed": {"outputs": outputs}}, "bolts": {"count": bolt}})

    def _physical_plan(self, query: Query) -> Any:
        return self._body({"spouts": {"word_feed": self.instances}, "bolts": {"count": [BOLT]}, "instances": {}})

    def _timeline(self, query: Query) -> Any:
        assert query["cluster"] == ["local"]
        component, since, until = query["component"][0], int(query["starttime"][0]), int(query["endtime"][0])
        metrics: dict[str, dict[str, dict[int, float]]]
        if component == "__stmgr__":
            prefix = "__time_spent_back_pressure_by_compid/"
            metrics = {prefix + instance: {"stmgr-1": told} for instance, told in self.pressure.items()}
        else:
            assert component == "word_feed"
            metrics = {f"__emit-count/{stream}": self.emitted for stream in self.streams}
            metrics["__jvm-uptime-secs"] = self.uptimes
        timeline: dict[str, Any] = {}
        for metric in set(query["metricname"]) & set(metrics):
            for instance, told in metrics[metric].items():
                stamps = {START_S + 60 * number + self.offset_s: value for number, value in told.items()}
                kept = {
                    str(s): f"{v:f}" for s, v in stamps.items() if s + 60 > since and s < until and s > NOW_S - 10800
                }
                timeline.setdefault(metric, {})[instance] = kept
        return self._body({"component": component, "starttime": since, "endtime": until, "timeline": timeline})


@pytest.fixture
def http() -> Iterator[JsonStandIn]:
    with json_stand_in() as running:
        yield running


@pytest.fixture
def heron(http: JsonStandIn) -> HeronStandIn:
    """Both instances reported 10 and 20 a minute for half an hour."""
    stand_in = HeronStandIn(http)
    stand_in.reported(FIRST, dict.fromkeys(range(-15, 45), 10))
    stand_in.reported(SECOND, dict.fromkeys(range(-15, 45), 20))
    return stand_in


def read(tracker: HeronTracker, first: int, last: int, window_s: int = 60) -> Arrivals:
    return tracker.read(minute(first), minute(last), window_s)


def statuses(arrivals: Arrivals) -> str:
    told = arrivals.sources["feed"]
    return "".join(one[0] for one in np.array(STATUSES)[status_codes(told.alive, arrivals.edges_us(), told.counts)])


def held_back_minutes(arrivals: Arrivals) -> list[list[float]]:
    return [[(us / 1e6 - START_S) / 60 for us in span] for span in arrivals.sources["feed"].held_back.tolist()]


@pytest.mark.parametrize(("wrapped", "legacy"), [(False, False), (True, True), (True, False)])
class TestHeronTrackerIsAnArrivalSource(ArrivalSourceContract):
    measures = Measures.THROUGHPUT
    within_s = 1.0

    @pytest.fixture
    def known(self) -> KnownArrivals:
        return KnownArrivals("feed", minute(0), 60, (3, 0, 70, 5, 0, 12))

    @pytest.fixture
    def source(self, http: JsonStandIn, known: KnownArrivals, wrapped: bool, legacy: bool) -> HeronTracker:
        stand_in = HeronStandIn(http, wrapped=wrapped, legacy=legacy)
        around = [1, 2, *known.counts, 4, *[0] * 20]
        stand_in.reported(FIRST, {number - 2: count // 2 for number, count in enumerate(around)})
        stand_in.reported(SECOND, {number - 2: count - count // 2 for number, count in enumerate(around)})
        return stand_in.tracker()

    @pytest.fixture
    def unreachable(self, heron: HeronStandIn, wrapped: bool, legacy: bool) -> HeronTracker:
        secret = {"headers": {"Authorization": SecretStr(SECRET)}, "timeout_s": self.within_s}
        names: dict[str, Any] = {
            "cluster": "local",
            "environ": "prod",
            "topology": "words",
            "spouts": {"feed": "word_feed"},
        }
        return HeronTracker(f"http://anna:{SECRET}@127.0.0.1:1", **names, **secret)


def test_read__adds_the_instances_up(heron: HeronStandIn) -> None:
    arrivals = read(heron.tracker(), 0, 4)
    assert arrivals.sources["feed"].counts.tolist() == [30] * 4
    assert arrivals.sources["feed"].tallies["rows_read"].tolist() == [2] * 4
    assert statuses(arrivals) == "oooo"
    assert held_back_minutes(arrivals) == []


def test_read__shares_a_minute_that_an_edge_cuts_by_time(heron: HeronStandIn) -> None:
    # Minutes begin 20 s late: of the window, 20 s are of the minute before (a third of it), 40 s of its own.
    heron.emitted[FIRST], heron.offset_s = {**heron.emitted[FIRST], 2: 100}, 20
    counts = read(heron.tracker(), 1, 5).sources["feed"].counts.tolist()
    # In minute 2 (2:20 to 3:20) 120 are emitted: 80 of them by 3:00, 40 after it.
    # First instance: 1/3 of 10 + 2/3 of 100 = 70 and 1/3 of 100 + 2/3 of 10 = 40; second: 20 each.
    assert counts == [30, 90, 60, 30]


def test_read__of_a_minute_without_report_is_partial_though_the_tracker_shows_zero(heron: HeronStandIn) -> None:
    heron.emitted[SECOND][2], heron.uptimes[SECOND][2] = 0, 0
    arrivals = read(heron.tracker(), 0, 5)
    assert arrivals.sources["feed"].counts.tolist() == [30, 30, 10, 30, 30]
    assert statuses(arrivals) == "oopoo"


def test_read__of_a_minute_without_any_value_is_partial(heron: HeronStandIn) -> None:
    del heron.emitted[SECOND][2], heron.uptimes[SECOND][2]
    assert statuses(read(heron.tracker(), 0, 5)) == "oopoo"


def test_read__of_an_instance_that_emitted_nothing_yet_is_zero_and_alive(heron: HeronStandIn) -> None:
    del heron.emitted[SECOND]
    arrivals = read(heron.tracker(), 0, 3)
    assert arrivals.sources["feed"].counts.tolist() == [10] * 3
    assert statuses(arrivals) == "ooo"


def test_read__while_an_instance_of_the_plan_never_reported_is_partial(heron: HeronStandIn) -> None:
    heron.instances = [FIRST, SECOND, "container_3_word_feed_4"]
    assert statuses(read(heron.tracker(), 0, 3)) == "ppp"


def test_read__before_an_instance_was_added_is_alive(heron: HeronStandIn) -> None:
    heron.instances = [FIRST, SECOND, "container_3_word_feed_4"]
    heron.reported("container_3_word_feed_4", dict.fromkeys(range(30, 45), 5))
    arrivals = read(heron.tracker(), 0, 3)
    assert statuses(arrivals) == "ooo"
    assert statuses(read(heron.tracker(), 27, 33)) == "oppooo"  # 90 s before its first minute are in doubt


def test_read__after_an_instance_was_taken_away_is_alive(heron: HeronStandIn) -> None:
    """The topology master goes on with zeros for it."""
    heron.instances = [FIRST]
    heron.reported(SECOND, {**dict.fromkeys(range(-15, -12), 20), **dict.fromkeys(range(-12, 45), 0)})
    heron.uptimes[SECOND] = {number: 100 if number < -12 else 0 for number in range(-15, 45)}
    assert statuses(read(heron.tracker(), 0, 3)) == "ooo"


def test_read__is_held_back_in_minutes_of_backpressure_anywhere(heron: HeronStandIn) -> None:
    heron.pressure[BOLT] = {**dict.fromkeys(range(-15, 45), 0.0), 2: 1500.0, 3: 60000.0}
    assert held_back_minutes(read(heron.tracker(), 0, 6)) == [[2, 4]]


def test_read__is_held_back_where_no_stream_manager_tells(heron: HeronStandIn) -> None:
    heron.pressure = {FIRST: dict.fromkeys(range(-15, 3), 0.0)}
    assert held_back_minutes(read(heron.tracker(), 0, 6)) == [[3, 6]]


def test_read__asks_for_the_metrics_of_many_instances_in_parts(heron: HeronStandIn) -> None:
    more = [f"container_{number}_word_feed_{number}" for number in range(4, 100)]
    heron.instances = [FIRST, SECOND, *more]
    for instance in more:
        heron.reported(instance, dict.fromkeys(range(-15, 45), 1))
    heron.pressure[more[-1]][1] = 5.0
    arrivals = read(heron.tracker(), 0, 3)
    assert arrivals.sources["feed"].counts.tolist() == [126] * 3
    assert held_back_minutes(arrivals) == [[1, 2]]
    assert max(len(query.get("metricname", [])) for _, query in heron.http.asked) <= 40


def test_read__of_a_spout_with_several_streams_asks_which(heron: HeronStandIn) -> None:
    heron.streams = ["words", "audit"]
    with pytest.raises(HistoryError, match=r"2 streams \(words, audit\).*name in `streams`"):
        read(heron.tracker(), 0, 1)
    assert read(heron.tracker(streams={"feed": ["words"]}), 0, 1).sources["feed"].counts.tolist() == [30]
    assert read(heron.tracker(streams={"feed": ["words", "audit"]}), 0, 1).sources["feed"].counts.tolist() == [60]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"spouts": {"feed": "words_feed"}}, "no spout 'words_feed' .* are word_feed"),
        ({"streams": {"feed": ["x"]}}, "no stream 'x'; its streams are default"),
        ({"streams": {"fed": ["x"]}}, "'fed', which is no source"),
        ({"spouts": {}}, "no spouts"),
    ],
)
def test_names__that_the_topology_does_not_have_are_refused(
    heron: HeronStandIn, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(HistoryError, match=message):
        read(heron.tracker(**wrong), 0, 1)


@pytest.mark.parametrize("window_s", [1, 30, 90])
def test_read__of_windows_that_are_no_minutes_is_refused(heron: HeronStandIn, window_s: int) -> None:
    with pytest.raises(HistoryError, match=f"windows of {window_s} s; .*multiple of 60"):
        heron.tracker().read(minute(0), minute(3), window_s)


def test_read__beyond_what_is_kept_is_missing(heron: HeronStandIn) -> None:
    heron.reported(FIRST, dict.fromkeys(range(-200, 45), 1))
    heron.reported(SECOND, dict.fromkeys(range(-200, 45), 1))
    assert statuses(read(heron.tracker(), -190, -180)) == "m" * 10
    first = heron.tracker().first_moment()
    assert timedelta(minutes=178) < datetime.now(UTC) - first < timedelta(minutes=182)


@pytest.mark.parametrize(
    "path", ["/topologies/physicalplan", "/topologies/logicalplan", "/topologies/metrics/timeline"]
)
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"status": "failure", "message": "No topology words", "result": {}}, 200, "No topology words; check cluster"),
        ({"detail": "TManager not set"}, 500, "TManager not set"),
        ([1], 200, "not documented"),
        ({"spouts": 3, "bolts": 4, "timeline": {"__emit-count/default": {FIRST: {"x": "y"}}}}, 200, "not documented"),
    ],
)
def test_read__of_a_tracker_that_fails_says_why(
    heron: HeronStandIn, path: str, body: Any, status: int, message: str
) -> None:
    heron.http.answers[path], heron.http.statuses[path] = body, status
    with pytest.raises(HistoryError, match=message):
        read(heron.tracker(role="ads"), 0, 1)


def test_read__of_a_negative_count_is_refused(heron: HeronStandIn) -> None:
    heron.emitted[FIRST][1] = -4
    with pytest.raises(HistoryError, match="negative"):
        read(heron.tracker(), 0, 3)


def test_first_moment__of_a_topology_that_never_reported_says_so(http: JsonStandIn) -> None:
    with pytest.raises(HistoryError, match="no counts of word_feed"):
        HeronStandIn(http).tracker().first_moment()


def test_place__names_cluster_role_environ_and_topology(heron: HeronStandIn) -> None:
    assert heron.tracker(role="ads").place == f"Heron Tracker at {heron.http.url}, topology local/ads/prod/words"
