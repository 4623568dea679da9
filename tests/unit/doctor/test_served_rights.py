"""Where a scaler asks for its plan, doctor needs no right to change the cluster."""

from pathlib import Path

import pytest
import yaml

from forescale.doctor.examination import NotUsedError
from forescale.doctor.topology_checks import Patient, topology_checks
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.errors import ClusterError


def rights(folder: Path, mode: str) -> str:
    """What the check says of a workload on a Kubernetes that cannot be reached."""
    cluster = {"kind": "kubernetes", "namespace": "shop", "kubeconfig": "none", "operators": {"lines": "hpa/lines"}}
    body = {
        "topology": "words",
        "operators": {"lines": {"service_s": 0.001}},
        "streams": [],
        "planning": {"mode": mode},
        "cluster": cluster,
    }
    (folder / "words.yaml").write_text(yaml.safe_dump(body))
    patient = Patient(Workspace(Settings(home=folder, topologies=folder)), "words")
    (check,) = [check for check in topology_checks(patient) if check.name == "rights"]
    return check.run()


def test_rights__are_asked_for_in_floor_mode_and_not_where_nothing_is_changed(tmp_path: Path) -> None:
    with pytest.raises(ClusterError):
        rights(tmp_path, "floor")
    with pytest.raises(NotUsedError, match="nothing is changed"):
        rights(tmp_path, "serve")
