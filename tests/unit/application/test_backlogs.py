"""What waits at sources, where a cluster tells it and where it does not."""

from pathlib import Path

import httpx
import yaml
from unit.flink.metered_flink import MeteredFlink
from unit.flink.recorded_flink import JOB, SOURCE

from forescale.files.topology import read_topology_file
from forescale.wiring.backlogs import backlogs
from planner.clusters.cluster import SourceBacklog


def test_a_cluster_that_does_not_answer__leaves_what_waits_unknown_and_says_why(tmp_path: Path) -> None:
    body = {
        "topology": "word-count",
        "operators": {name: {"service_s": 0.01} for name in ("sentences", "split", "count")},
        "streams": [{"from": "sentences", "to": "split"}, {"from": "split", "to": "count"}],
        "cluster": {"kind": "flink", "url": "http://flink:8081", "job": "word-count"},
    }
    (tmp_path / "word-count.yaml").write_text(yaml.safe_dump(body))
    config, flink = read_topology_file(tmp_path / "word-count.yaml"), MeteredFlink((1.0, 0.0, 0.0), (11.0, 0.0, 99.0))
    assert backlogs(config, flink.cluster()) == {"sentences": SourceBacklog(0.0, 0.0)}
    flink.replace(
        "GET",
        f"/jobs/{JOB}/vertices/{SOURCE}/subtasks/metrics",
        lambda _: httpx.Response(503, json={"errors": ["overloaded"]}),
    )
    told = backlogs(config, flink.cluster())["sentences"]
    assert (told.tuples, told.lag_s) == (None, None)
    assert "with HTTP 503: overloaded; see its log" in told.unmeasured
