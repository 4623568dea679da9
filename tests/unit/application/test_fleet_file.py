"""The fleet file: what it says, and one line with the remedy for what it cannot say."""

from pathlib import Path

import pytest

from forescale.cli.main import main
from forescale.files.file_error import FileError
from forescale.files.fleet import read_fleet_file
from forescale.files.topology import read_topology_file
from planner.fleet.terms import FleetTerms, Quota, Stagger

NAMES = ("clicks", "mails", "orders")


def read(folder: Path, text: str) -> FleetTerms:
    path = folder / "fleet.yaml"
    path.write_text(text)
    return read_fleet_file(path, NAMES)


def test_a_fleet_file__has_quotas_and_a_stagger(tmp_path: Path) -> None:
    terms = read(
        tmp_path,
        "quota: {nodes: 5, instances_per_node: 12}\n"
        "groups: {shop: {topologies: [orders, clicks], instances: 40}}\n"
        "stagger: {large_instances: 8, apart_s: 300}\n",
    )
    shop = Quota("the quota of shop", frozenset({"orders", "clicks"}), 40)
    assert terms == FleetTerms((Quota("the quota", frozenset(NAMES), 60), shop), Stagger(8, 300))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; see docs/fleet-planning.md"),
        ("{}", "nothing is shared; give a quota, groups or stagger"),
        ("quota: {instances: 0}", "quota.instances: Input should be greater than or equal to 1 (given: 0)"),
        ("quota: {instances: 9, nodes: 2}", "instances and nodes are both given; leave one of them out"),
        ("quota: {nodes: 2}", "give instances, or nodes with instances_per_node"),
        ("stagger: {apart_s: 300}", "stagger.large_instances is missing; add it"),
        ("quotas: {instances: 9}", "quotas is not a known field"),
        ("groups: {shop: {topologies: [], instances: 9}}", "groups.shop.topologies: List should have at least 1 item"),
        (
            "groups: {shop: {topologies: [orders, orders], instances: 9}}",
            "topologies names 'orders' twice; name it once",
        ),
        (
            "groups: {shop: {topologies: [ordrs], instances: 9}}",
            "groups.shop.topologies names the unknown topology 'ordrs'; correct it, or add its file; known are clicks,",
        ),
        (
            "quota: {instances: 30}\ngroups: {shop: {topologies: [orders], instances: 40}}",
            "groups.shop may hold 40 instances and all topologies together 30; lower groups.shop to 30 or less",
        ),
        (
            "groups: {a: {topologies: [orders], instances: 4}, b: {topologies: [orders], instances: 5}}",
            "groups a and b have the same topologies; leave one of them out",
        ),
    ],
)
def test_what_it_cannot_say__is_an_error_with_the_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FileError) as error:
        read(tmp_path, text)
    assert "fleet.yaml" in str(error.value)
    assert said in str(error.value)


def test_a_folder_without_topologies__is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--all"])
    assert (ended.value.code, capsys.readouterr().err) == (
        1,
        f"forescale: no topology file (*.yaml) in {tmp_path}; add one, or set FORESCALE_TOPOLOGIES to their folder\n",
    )


def test_a_fleet_file_among_topology_files__is_refused_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also under another name, and with one section alone."""
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path))
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    (tmp_path / "shared.yaml").write_text("stagger: {large_instances: 8, apart_s: 300}\nquota: {instances: 60}\n")
    with pytest.raises(SystemExit) as ended:
        main(["config", "check"])
    said = f"shared: {tmp_path}/shared.yaml is a fleet file, not a topology file: it has quota and stagger"
    assert (ended.value.code, said in capsys.readouterr().out) == (1, True)
    with pytest.raises(FileError, match=r"is a fleet file, not a topology file: .* by --fleet"):
        read_topology_file(tmp_path / "shared.yaml")


def test_a_topology_file_with_a_section_of_a_fleet_file__is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text("topology: orders\noperators: {orders: {service_s: 0.001}}\nstreams: []\nquota: {instances: 60}\n")
    with pytest.raises(FileError, match="quota is not a known field; remove it or correct its name"):
        read_topology_file(path)
