"""Answers of Prometheus in another shape than its own are named, and no number is read from what is none."""

from collections.abc import Iterator
from typing import Any

import pytest
from json_stand_in import JsonStandIn, json_stand_in

from engines.prometheus.server import PrometheusServer
from forecasting.errors import HistoryError


@pytest.fixture
def server() -> Iterator[JsonStandIn]:
    with json_stand_in() as stand_in:
        yield stand_in


def samples(server: JsonStandIn, result: Any, **more: Any) -> Any:
    server.answers["/api/v1/query"] = {"status": "success", "data": {"resultType": "matrix", "result": result}} | more
    return PrometheusServer(server.url, HistoryError).samples("reads_total", 0, 60_000)


def test_samples__are_read_by_labels_without_stale_markers(server: JsonStandIn) -> None:
    series = {"metric": {"pod": "a", "job": "b"}, "values": [[1, "2"], [2.5, "NaN"], [3, "1e3"], [4, "+Inf"]]}
    (labels, (times_ms, values)) = next(iter(samples(server, [series]).items()))
    assert labels == (("job", "b"), ("pod", "a"))
    assert (times_ms.tolist(), values.tolist()) == ([1000, 3000, 4000], [2.0, 1000.0, float("inf")])


@pytest.mark.parametrize(
    "series",
    [
        {"metric": {}, "values": "abc"},
        {"metric": {}, "values": ["ab"]},
        {"metric": {}, "values": [[1, "2", 3]]},
        {"metric": {}, "values": [["soon", "2"]]},
        {"metric": {}, "values": [[True, "2"]]},
        {"metric": {}, "values": [[1e300, "2"]]},
        {"metric": {}, "values": [[1, "0x1p3"]]},
        {"metric": {}, "values": [[1, "1_0"]]},
        {"metric": {}, "values": [[1, "１"]]},
        {"metric": {}, "values": [[1, True]]},
        {"metric": {}, "values": [[2, "1"], [1, "2"]]},
        {"metric": {}, "values": [[1, "1"], [1, "2"]]},
        {"metric": ["a"], "values": [[1, "2"]]},
        {"metric": {"a": {"b": 1}}, "values": [[1, "2"]]},
        {"values": [[1, "2"]]},
        7,
    ],
)
def test_a_series_of_another_shape__is_named(server: JsonStandIn, series: Any) -> None:
    with pytest.raises(HistoryError, match="/api/v1/query"):
        samples(server, [series])


@pytest.mark.parametrize("warnings", [5, {"a": 1}, "oh"])
def test_warnings_of_another_shape__are_named(server: JsonStandIn, warnings: Any) -> None:
    with pytest.raises(HistoryError, match="/api/v1/query"):
        samples(server, [], warnings=warnings)
