"""The relay before the Prometheus of a soak hides what is still to come."""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "soaking"


def test_up_to__leaves_out_points_after_now_and_series_without_others() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        relay = import_module("relay")
    finally:
        sys.path.remove(str(FOLDER))
    series = [{"metric": {"pod": "a"}, "values": [[60, "1"], [120, "2"]]}, {"metric": {}, "values": [[180, "3"]]}]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    kept = [{"metric": {"pod": "a"}, "values": [[60, "1"]]}]
    assert relay.up_to(60, answer) == {"status": "success", "data": {"resultType": "matrix", "result": kept}}
    labels = {"status": "success", "data": [{"pod": "a"}]}
    assert relay.up_to(60, labels) == labels
