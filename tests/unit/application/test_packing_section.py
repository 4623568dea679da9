"""What the section `packing`, and prices of topology and site file, make of plans; and what cannot be."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.report.kit.decision_words import price_words
from forescale.settings import Settings
from forescale.situation.plan_pricing import PricedPlans
from forescale.situation.workspace import Workspace
from planner.decision_basis import PriceFacts
from planner.errors import PlanError
from planner.pricing.plan_pricing import ContainerPricing, InstancePricing

SITE = {"containers": {"cores": 4, "price_per_hour": 0.5}, "nodes": {"a": {}, "b": {"service_factor": 2.0}}}


def config(folder: Path, packing: dict[str, Any] | None = None, **prices: float) -> TopologyConfig:
    operators: dict[str, dict[str, Any]] = {name: {"service_s": 0.01, "cores": 1} for name in ("read", "work")}
    for name, price in prices.items():
        operators[name]["price_per_hour"] = price
    body = {"topology": "pair", "operators": operators, "streams": [{"from": "read", "to": "work"}]}
    if packing is not None:
        body["packing"] = packing
    path = folder / "pair.yaml"
    path.write_text(yaml.safe_dump(body))
    return read_topology_file(path)


def priced(folder: Path, site: dict[str, Any], packing: dict[str, Any], **prices: float) -> PricedPlans:
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    of = config(folder, {"packer": "first_fit_decreasing", "site": "site.yaml", **packing}, **prices)
    return Workspace(Settings(home=folder)).situation(of).priced


def test_prices_of_all_operators__are_those_of_plans(tmp_path: Path) -> None:
    of = config(tmp_path, read=0.1, work=0.3)
    found = Workspace(Settings(home=tmp_path)).situation(of).priced
    assert isinstance(found.pricing, InstancePricing)
    assert found.pricing.per_hour({"read": 1, "work": 5}) == pytest.approx(0.1 + 5 * 0.3)
    assert found.facts == PriceFacts(pytest.approx(0.2))


def test_prices_of_some_operators__are_left_aside_and_it_is_said_of_whom_they_lack(tmp_path: Path) -> None:
    of = config(tmp_path, work=0.3)
    found = Workspace(Settings(home=tmp_path)).situation(of).priced
    assert found.pricing is None
    assert found.facts == PriceFacts(unpriced=("read",))


def test_no_prices__are_nothing_to_speak_of(tmp_path: Path) -> None:
    of = config(tmp_path)
    assert Workspace(Settings(home=tmp_path)).situation(of).priced == PricedPlans()


def test_containers_with_a_price__are_those_that_a_packing_opens(tmp_path: Path) -> None:
    found = priced(tmp_path, SITE, {})
    assert isinstance(found.pricing, ContainerPricing)
    # Of a core each; on node b, where work takes twice as long, 2 to a container. 4 fill one on a, the fifth opens b.
    assert [found.pricing.per_hour({"read": 1, "work": work}) for work in (3, 4)] == [0.5, 1.0]
    assert found.facts is not None
    assert (found.facts.site, found.facts.packer) == ("site.yaml", "first_fit_decreasing")


def test_a_price_of_the_section__goes_before_that_of_the_site(tmp_path: Path) -> None:
    found = priced(tmp_path, SITE, {"price_per_hour": 2})
    assert found.pricing is not None
    assert [found.pricing.per_hour({"read": 1, "work": work}) for work in (3, 4)] == [2.0, 4.0]


def test_a_price_of_containers__needs_no_site_file(tmp_path: Path) -> None:
    of = config(tmp_path, {"packer": "flink_slots", "slots": 2, "price_per_hour": 1})
    found = Workspace(Settings(home=tmp_path)).situation(of).priced
    assert found.pricing is not None
    assert [found.pricing.per_hour({"read": 1, "work": work}) for work in (2, 3)] == [1.0, 2.0]
    # Eight of each fill four task managers: 4 / 16 an instance.
    assert found.facts == PriceFacts(pytest.approx(0.25), packer="flink_slots")
    assert price_words(found.facts) == "containers, packed by flink_slots; an instance-hour is 0.25"


def test_nodes__are_paid_for_while_they_hold_a_container(tmp_path: Path) -> None:
    site = {"containers": {"cores": 4}, "nodes": {"a": {"price_per_hour": 3}, "b": {"price_per_hour": 1}}}
    found = priced(tmp_path, site, {"nodes": {"a": 1, "b": None}})
    assert found.pricing is not None
    # Containers take nodes in turn: b first, which may hold any number.
    assert [found.pricing.per_hour({"read": 1, "work": work}) for work in (3, 7, 11)] == [1.0, 4.0, 4.0]


def test_a_site_without_prices__still_tells_where_instances_go(tmp_path: Path) -> None:
    found = priced(tmp_path, {"containers": {"cores": 4}}, {})
    assert (found.pricing, found.facts) == (None, None)
    assert found.placing is not None
    assert len(found.placing.pack({"read": 1, "work": 5})) == 2


@pytest.mark.parametrize(
    ("packing", "site", "prices", "message"),
    [
        ({"nodes": {"c": 2}}, SITE, {}, "packing.nodes names 'c', which the site does not have; its nodes are a, b"),
        (
            {},
            {"nodes": {"a": {"price_per_hour": 1}, "b": {}}},
            {},
            "node b has no price, and a have; give it a price_per_hour in the site file",
        ),
        ({}, SITE, {"work": 0.2}, "operator work has a price_per_hour, and so have containers or nodes of site.yaml"),
        ({}, {"containers": {"cores": 0.5, "price_per_hour": 1}}, {}, "needs 1 cores, a container has 0.5"),
        ({"max_containers": 1}, {"containers": {"cores": 1, "price_per_hour": 1}}, {}, "1 containers are the maximum"),
    ],
)
def test_prices_and_nodes_that_do_not_go_together__are_refused(
    tmp_path: Path, packing: dict[str, Any], site: dict[str, Any], prices: dict[str, float], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        priced(tmp_path, site, packing, **prices)


@pytest.mark.parametrize(
    ("packing", "message"),
    [
        ({"packer": "nobody"}, "packing.packer: no packer 'nobody'; known are round_robin"),
        ({"packer": "round_robin", "containers": 5, "max_containers": 3}, "containers 5 > max_containers 3; lower one"),
        ({"packer": "flink_slots", "slot_groups": {"x": "g"}}, "packing.slot_groups names the unknown operator 'x'"),
        ({"packer": "round_robin", "nodes": {"a": 0}}, "packing.nodes.a"),
    ],
)
def test_a_section_that_cannot_be__is_refused_with_its_field(
    tmp_path: Path, packing: dict[str, Any], message: str
) -> None:
    with pytest.raises(FileError, match=message):
        config(tmp_path, packing)


def test_a_site_that_does_not_exist__is_named(tmp_path: Path) -> None:
    of = config(tmp_path, {"packer": "round_robin", "site": "nowhere.yaml"})
    with pytest.raises(FileError, match=r"nowhere\.yaml does not exist"):
        Workspace(Settings(home=tmp_path)).situation(of)


@pytest.mark.parametrize(
    ("packing", "most"),
    [
        (None, 64),
        ({"packer": "first_fit_decreasing"}, 64),
        ({"packer": "flink_slots", "slots": 2}, 2 * 64),  # read and work share each of 64 slots
        ({"packer": "flink_slots", "slots": 8}, 2 * 16 * 8),  # sixteen task managers
        ({"packer": "flink_slots", "slots": 2, "slot_groups": {"work": "other"}}, 64),  # one in each slot
    ],
)
def test_max_instances__is_by_default_what_slots_hold_where_operators_share_them(
    tmp_path: Path, packing: dict[str, Any] | None, most: int
) -> None:
    planning = config(tmp_path, packing).planning
    assert planning.max_instances == most
    assert planning.model_fields_set == set()  # reports say that it is assumed


def test_max_instances__is_what_a_person_gives(tmp_path: Path) -> None:
    of = config(tmp_path, {"packer": "flink_slots", "slots": 8})
    given = of.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"planning": {"max_instances": 9}}
    planning = TopologyConfig.model_validate(given).planning
    assert planning.max_instances == 9
    assert planning.model_fields_set == {"max_instances"}


@pytest.mark.parametrize(
    ("packing", "worth"),
    [
        (None, 1.0),
        ({"packer": "flink_slots"}, 2.0),  # read and work share each slot
        ({"packer": "flink_slots", "slot_groups": {"work": "other"}}, 1.0),
    ],
)
def test_avoiding_a_rescale__is_worth_an_hour_of_a_slot_where_operators_share_them(
    tmp_path: Path, packing: dict[str, Any] | None, worth: float
) -> None:
    assert config(tmp_path, packing).planning.rescale_cost_instance_hours == worth
