"""Counters of requests become samples; what Prometheus answers is played by a transport, its shape is tested on a real
one in tests/integration/prometheus.
"""

import httpx
import pytest

from engines.prometheus.server import selector_with_suffix
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.service_samples import RequestCounters, service_operator_samples
from planner.errors import ClusterError

PAIR = Topology("pair", (Operator("gate"), Operator("back")), (Stream("gate", "back"),))
COUNTERS = RequestCounters({"gate": 4, "back": 2}, {"gate": "gate_seconds", "back": 'back_seconds{zone="a"}'}, {})
Series = dict[str, list[tuple[dict[str, str], list[tuple[float, float]]]]]


def _samples(series: Series, counters: RequestCounters = COUNTERS, spans: int = 1) -> list[OperatorSample]:
    def answer(request: httpx.Request) -> httpx.Response:
        metric = request.url.params["query"].partition("[")[0].partition("{")[0]
        result = [
            {"metric": {"__name__": metric, **labels}, "values": [[moment, str(value)] for moment, value in points]}
            for labels, points in series.get(metric, [])
        ]
        return httpx.Response(200, json={"status": "success", "data": {"resultType": "matrix", "result": result}})

    transport = httpx.MockTransport(answer)
    found = service_operator_samples(
        "http://prometheus:9090", PAIR, counters, until_s=100.0, span_s=100.0, spans=spans, transport=transport
    )
    return list(found)


def _counter(
    replica: str, *points: tuple[float, float], **labels: str
) -> tuple[dict[str, str], list[tuple[float, float]]]:
    return {"instance": replica, **labels}, list(points)


SERIES: Series = {
    "gate_seconds_count": [_counter("g", (10, 500), (50, 700), (90, 900))],
    "gate_seconds_sum": [_counter("g", (10, 50), (50, 74), (90, 90))],
    "back_seconds_count": [_counter("b1", (10, 0), (90, 300)), _counter("b2", (10, 100), (90, 600))],
    "back_seconds_sum": [_counter("b1", (10, 0), (90, 6)), _counter("b2", (10, 1), (90, 11))],
}


def test_samples__tell_requests_and_held_thread_seconds_of_each_replica() -> None:
    gate, first, second = _samples(SERIES)
    # 400 requests held threads for 40 s in 80 s; of 4 threads: 10 s. The 800 requests at the back are its calls.
    assert (gate.span_s, gate.records_in, gate.busy_s, gate.parallelism) == (80, 400, 10, 1)
    assert gate.records_out == {"gate->back": 800}
    assert (gate.threads, first.threads) == (4, 2)
    assert [(each.index, each.records_in, each.busy_s, each.parallelism) for each in (first, second)] == [
        (0, 300, 3, 2),
        (1, 500, 5, 2),
    ]


def test_samples__of_parts_go_from_scrape_to_scrape() -> None:
    gate = [sample for sample in _samples(SERIES, spans=2) if sample.operator == "gate"]
    assert [(each.began_s, each.span_s, each.records_in, each.busy_s) for each in gate] == [
        (10, 40, 200, 6),
        (50, 40, 200, 4),
    ]


def test_samples__of_a_restart_and_of_a_path_asked_for_later_count_from_zero() -> None:
    counts = [_counter("g", (10, 500), (50, 100), (90, 130), path="/"), _counter("g", (50, 7), (90, 9), path="/new")]
    gate = _samples(SERIES | {"gate_seconds_count": counts})[0]
    assert gate.records_in == 100 + 30 + 7 + 2


def test_samples__count_calls_by_the_caller_where_it_does() -> None:
    counters = RequestCounters(COUNTERS.threads, COUNTERS.requests, {"gate->back": "calls_total"})
    gate = _samples(SERIES | {"calls_total": [_counter("g", (10, 0), (90, 640))]}, counters)[0]
    assert gate.records_out == {"gate->back": 640}


def test_samples__of_a_service_without_counters_say_what_to_check() -> None:
    with pytest.raises(ClusterError, match=r"no two samples of back_seconds_sum\{zone=\"a\"\} \(service 'back'\)"):
        _samples({name: of for name, of in SERIES.items() if name != "back_seconds_sum"})


def _unlabelled(*points: tuple[float, float]) -> tuple[dict[str, str], list[tuple[float, float]]]:
    return {"job": "mesh"}, list(points)


@pytest.mark.parametrize("metric", ["gate_seconds_count", "gate_seconds_sum", "calls_total"])
def test_samples__refuse_series_that_do_not_distinguish_replicas(metric: str) -> None:
    counters = RequestCounters(COUNTERS.threads, COUNTERS.requests, {"gate->back": "calls_total"})
    series = SERIES | {"calls_total": [_counter("g", (10, 0), (90, 640))]}
    with pytest.raises(
        ClusterError, match=rf"series of {metric} .* have no label 'instance', .* their labels are job\. Give"
    ):
        _samples(series | {metric: [_unlabelled((10, 0), (90, 640))]}, counters)


def test_samples__refuse_calls_that_others_than_the_caller_count() -> None:
    counters = RequestCounters(COUNTERS.threads, COUNTERS.requests, {"gate->back": "calls_total"})
    with pytest.raises(ClusterError, match=r"calls_total counts .* by instance 'b1', which is no replica of 'gate'"):
        _samples(SERIES | {"calls_total": [_counter("b1", (10, 0), (90, 640))]}, counters)


def test_selector_with_suffix__refuses_expressions() -> None:
    with pytest.raises(ValueError, match=r"is no NAME or NAME\{LABELS\}"):
        selector_with_suffix("sum(rate(x[5m]))", "_count")
