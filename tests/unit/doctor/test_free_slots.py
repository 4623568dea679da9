"""What doctor makes of a cluster without free slots: some take larger plans all the same."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from forescale.doctor.examination import AilmentError
from forescale.doctor.topology_checks import Patient, topology_checks
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import ClusterState, Status

FLINK = {"kind": "flink", "url": "http://127.0.0.1:9", "job": "words"}
COMMAND = {"slots_command": ["/opt/slots", "{slots_total}"]}
STORM = {"kind": "storm", "url": "http://127.0.0.1:9"}
WORKLOADS = {
    "kind": "kubernetes",
    "namespace": "shop",
    "operators": {"lines": "deployment/lines", "count": "deployment/count"},
}


def slots(tmp_path: Path, cluster: dict[str, Any], free: int) -> str:
    """The check's own words, or AilmentError."""
    (tmp_path / "words.yaml").write_text(
        yaml.safe_dump(
            {
                "topology": "words",
                "operators": {"lines": {"service_s": 0.001}, "count": {"service_s": 0.002}},
                "streams": [{"from": "lines", "to": "count"}],
                "arrivals": {"path": "events", "columns": {"time": "t", "id": "i"}, "source": "lines"},
                "cluster": cluster,
            }
        )
    )
    patient = Patient(Workspace(Settings(home=tmp_path, topologies=tmp_path)), "words")
    now = datetime(2024, 3, 3, tzinfo=UTC)
    patient.__dict__["state"] = ClusterState(
        "words", PhysicalPlan("words", {"lines": 1, "count": 1}), Status.RUNNING, now, now, free
    )
    (check,) = [check for check in topology_checks(patient) if check.name == "slots"]
    return check.run()


@pytest.mark.parametrize(
    ("cluster", "remedy"), [(FLINK, "task managers"), (WORKLOADS, "resource quota")], ids=["flink", "kubernetes"]
)
def test_no_free_slot__is_bad_where_larger_plans_are_refused_and_names_what_helps(
    tmp_path: Path, cluster: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(AilmentError, match="none is free") as found:
        slots(tmp_path, cluster, 0)
    assert remedy in found.value.remedy
    assert slots(tmp_path, cluster, 1) == "1 free"


@pytest.mark.parametrize("cluster", [FLINK | COMMAND, STORM], ids=["slots_command", "storm"])
def test_no_free_slot__is_good_where_larger_plans_need_none_or_ask_for_them(
    tmp_path: Path, cluster: dict[str, Any]
) -> None:
    assert slots(tmp_path, cluster, 0) == "0 free"
