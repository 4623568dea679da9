"""Where each value that decides what a plan carries comes from: nothing that is assumed counts as declared."""

import json
from pathlib import Path
from typing import Any

import pytest

from forescale.files.profile import write_profile_file
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.workspace import Workspace
from modeling.inputs.operator_profile import OperatorProfile
from planner.provenance import ASSUMED, UNCALIBRATED, Origin, Provenance, Quantity

SPLIT, JOIN = {"from": "split", "to": "join", "grouping": "fields"}, {"service_s": 0.1}


def known(
    tmp_path: Path, stream: dict[str, Any] | None = None, join: dict[str, Any] | None = None, **of: Any
) -> dict[tuple[Quantity, str], Provenance]:
    """By quantity and the first name that it is of. stream: what the file says of split->join."""
    body = {
        "topology": "words",
        "operators": {"read": {"service_s": 0.001}, "split": {"service_s": 0.01}, "join": {**JOIN, **(join or {})}},
        "streams": [{"from": "read", "to": "split"}, {**SPLIT, **(stream or {})}],
    }
    situation = Workspace(Settings(home=tmp_path)).situation(TopologyConfig.model_validate({**body, **of}))
    found = (*grounds(situation), *rescale_grounds(situation))
    return {(each.quantity, "".join(each.of[:1])): each.provenance for each in found}


def calibrate(home: Path, *profiles: OperatorProfile) -> None:
    path = home / "profiles" / "words.json"
    path.parent.mkdir()
    write_profile_file(path, "words", {each.operator: each for each in profiles}, "2026-03-02T13:31:00+00:00")


def site(home: Path, **of: Any) -> dict[str, Any]:
    (home / "site.yaml").write_text(json.dumps(of))
    return {"packing": {"packer": "round_robin", "site": "site.yaml"}}


def test_every_default_that_decides_a_number__is_assumed(tmp_path: Path) -> None:
    found = known(tmp_path)
    declared = {key for key, provenance in found.items() if provenance.origin is not Origin.ASSUMED}
    assert declared == {(Quantity.SERVICE_TIME, name) for name in ("read", "split", "join")}
    assert {quantity for quantity, _ in found} == {
        Quantity.SERVICE_TIME,
        Quantity.SPREAD,
        Quantity.SELECTIVITY,
        Quantity.KEYS,
        Quantity.STATE,
        Quantity.CONTAINERS,
        Quantity.NODES,
        Quantity.CORES,
        Quantity.MEMORY,
        Quantity.LINKS,
        Quantity.BUFFERS,
        Quantity.DOWNTIME,
        Quantity.LEAD,
        Quantity.WARM_UP,
    }


def test_a_selectivity__is_declared_only_where_the_file_has_one(tmp_path: Path) -> None:
    assert known(tmp_path)[Quantity.SELECTIVITY, "split->join"] == UNCALIBRATED
    assert known(tmp_path, {"selectivity": 1.0})[Quantity.SELECTIVITY, "split->join"].origin is Origin.DECLARED


def test_the_selectivity_of_a_source__is_measured_only_where_the_engine_counts_what_it_takes_in(tmp_path: Path) -> None:
    ratio = {"read->split": 2.0}
    calibrate(tmp_path, OperatorProfile("read", 0.002, ratio, samples=6))
    assert known(tmp_path)[Quantity.SELECTIVITY, "read->split"] == ASSUMED
    counted = tmp_path / "counted"
    counted.mkdir()
    calibrate(
        counted, OperatorProfile("read", 0.002, ratio, samples=6, intervals={"selectivity[read->split]": (1.9, 2.1)})
    )
    measured = known(counted)[Quantity.SELECTIVITY, "read->split"]
    assert (measured.origin, measured.samples, measured.interval) == (Origin.MEASURED, 6, (1.9, 2.1))


def test_a_measured_selectivity__has_its_interval(tmp_path: Path) -> None:
    ratio = {"split->join": 2.0}
    calibrate(
        tmp_path, OperatorProfile("split", 0.01, ratio, samples=6, intervals={"selectivity[split->join]": (1.9, 2.1)})
    )
    measured = known(tmp_path)[Quantity.SELECTIVITY, "split->join"]
    assert (measured.origin, measured.samples, measured.interval) == (Origin.MEASURED, 6, (1.9, 2.1))


def test_a_service_time_that_the_engine_does_not_report__stays_the_file_s(tmp_path: Path) -> None:
    calibrate(tmp_path, OperatorProfile("read", 0.5, samples=6))
    timed = known(tmp_path)[Quantity.SERVICE_TIME, "read"]
    assert (timed.origin, timed.samples) == (Origin.DECLARED, 6)


def test_a_spread__is_measured_unless_only_a_bound_of_it_is_known(tmp_path: Path) -> None:
    intervals = {"service_s": (0.09, 0.11)}
    calibrate(
        tmp_path,
        OperatorProfile("join", 0.1, samples=6, service_cv2=2.0, service_cv2_interval=(1.5, 2.5), intervals=intervals),
        OperatorProfile("split", 0.1, samples=6, service_cv2_interval=(0.0, 2.5), intervals=intervals),
    )
    found = known(tmp_path)
    assert found[Quantity.SPREAD, "join"].interval == (1.5, 2.5)
    assert found[Quantity.SPREAD, "split"] == ASSUMED


@pytest.mark.parametrize("gib", [0.0, 2.0])
def test_state__is_assumed_to_be_none_only_where_the_file_says_nothing(tmp_path: Path, gib: float) -> None:
    assert known(tmp_path, join={"state_gib": gib})[Quantity.STATE, "join"].origin is Origin.DECLARED
    # Only operators that read by key are expected to have some.
    assert (Quantity.STATE, "split") not in known(tmp_path)


def test_restoring_state__is_assumed_to_take_no_time_unless_the_site_says_how_long(tmp_path: Path) -> None:
    state = {"state_gib": 2.0}
    assert known(tmp_path, join=state)[Quantity.RESTORE, ""] == ASSUMED
    packing = site(tmp_path, rescale={"restore_s_per_gib": 5})
    assert known(tmp_path, join=state, **packing)[Quantity.RESTORE, ""].origin is Origin.DECLARED


def test_the_site_file__declares_only_what_it_has(tmp_path: Path) -> None:
    packing = site(tmp_path, containers={"memory_mib": 1024}, nodes={"old": {"service_factor": 2}})
    found = known(tmp_path, **packing)
    assert found[Quantity.MEMORY, ""].place.endswith("site.yaml")
    assert found[Quantity.NODES, "old"].place.endswith("site.yaml")
    assert found[Quantity.CORES, ""] == found[Quantity.LINKS, ""] == ASSUMED
    assert found[Quantity.BUFFERS, ""] == ASSUMED
    at_once = site(tmp_path, buffer_timeout_s=0)
    assert known(tmp_path, **at_once)[Quantity.BUFFERS, ""].place.endswith("site.yaml")
    packing = site(tmp_path, containers={"memory_mib": 1024})
    packing["packing"]["cores"] = 2
    assert known(tmp_path, **packing)[Quantity.CORES, ""].place == "topology file"


def test_cores_used_without_work__count_where_containers_have_cores_and_are_none_until_they_are_measured(
    tmp_path: Path,
) -> None:
    assert (Quantity.IDLE_CORES, "split") not in known(tmp_path)
    packing = {"packing": {"packer": "round_robin", "cores": 0.5}}
    assert known(tmp_path, **packing)[Quantity.IDLE_CORES, "split"] == UNCALIBRATED
    calibrate(
        tmp_path,
        OperatorProfile(
            "split", 0.01, samples=6, container_idle_cores=0.02, intervals={"container_idle_cores": (0.015, 0.025)}
        ),
    )
    measured = known(tmp_path, **packing)[Quantity.IDLE_CORES, "split"]
    assert (measured.origin, measured.interval) == (Origin.MEASURED, (0.015, 0.025))
