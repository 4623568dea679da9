"""Answers of engines with one odd value, anywhere in them: read, or refused by the error that everything expects."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from heron_stand_in import prepared, tracker_answers
from unit.flink.recorded_flink import RecordedFlink
from unit.flink.test_flink_adapter import DECLARED
from unit.planner.test_storm_cluster import PAIR, StormStandIn
from wild_inputs import leaves, replaced

from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Cluster
from planner.clusters.flink import FlinkCluster
from planner.clusters.heron import HeronCluster, HeronNames
from planner.clusters.storm import StormCluster
from planner.errors import ClusterError

SEED, MOST = 29, 600
ODD = (None, -1, 0, 1e308, "x", "", [], {}, True, 10**30, float("nan"), [1], {"a": 1}, 2.5)
WORDS = Topology(
    "words",
    (Operator("feed"), Operator("split"), Operator("count")),
    (Stream("feed", "split"), Stream("split", "count")),
)

Pages = Mapping[str, Any]
Connect = Callable[[httpx.BaseTransport], Cluster]


def _flink(folder: Path) -> tuple[Pages, Connect]:
    return RecordedFlink().bodies, lambda to: FlinkCluster("http://flink", "word-count", DECLARED, transport=to)


def _storm(folder: Path) -> tuple[Pages, Connect]:
    storm = StormStandIn()
    topology = "/topology/pair-1-99"
    paths = (
        "/cluster/summary",
        "/topology/summary",
        topology,
        f"{topology}/component/feed",
        f"{topology}/component/count",
    )
    pages = {f"/api/v1{path}": storm._page(path) for path in paths}
    return pages, lambda to: StormCluster("http://ui", "pair", PAIR, clock=storm.clock, transport=to)


def _heron(folder: Path) -> tuple[Pages, Connect]:
    names = HeronNames("local", "prod", "words", role="ubuntu")
    return tracker_answers(prepared(folder)), lambda to: HeronCluster("http://tracker", names, WORDS, transport=to)


def _transport(pages: Pages, damaged: Mapping[str, Any]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path not in pages:
            return httpx.Response(404, json={"errors": ["none"]})
        body = damaged[path] if path in damaged else _body(pages[path], parse_qs(request.url.query.decode()))
        return httpx.Response(200, content=json.dumps(body), headers={"Content-Type": "application/json"})

    return httpx.MockTransport(answer)


def _body(page: Any, query: dict[str, list[str]]) -> Any:
    return page(query) if callable(page) else page


def _cases(pages: Pages) -> Iterator[tuple[str, Any, Any]]:
    for path, page in pages.items():
        if path.endswith("/timeline"):  # answers by what is asked
            continue
        body = _body(page, {})
        yield from ((f"{path} {at}", odd, {path: replaced(body, at, odd)}) for at in leaves(body) for odd in ODD)


@pytest.mark.parametrize("engine", [_flink, _storm, _heron])
def test_state__of_answers_with_one_odd_value_is_read_or_refused(
    engine: Callable[[Path], tuple[Pages, Connect]], tmp_path: Path
) -> None:
    pages, connect = engine(tmp_path)
    assert connect(_transport(pages, {})).state().plan.parallelism  # as they are, they are read
    cases = list(_cases(pages))
    wrong = []
    for place, odd, damaged in random.Random(SEED).sample(cases, min(MOST, len(cases))):
        try:
            state = connect(_transport(pages, damaged)).state()
            if not all(0 < count < 1e6 for count in state.plan.parallelism.values()):
                wrong.append(f"{place}: {odd!r} was taken: {state}")
        except ClusterError:
            continue
        except Exception as error:  # noqa: BLE001 - it is told
            wrong.append(f"{place}: {odd!r}: {error!r}")
    assert wrong == []
