"""A name that nobody else knows is refused with its place, what is known and the remedy; what may be named is not."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.inputs.checked import check_profiles, check_site, site_of_plans, without_lost_streams
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind

JOIN = Topology("shop", tuple(Operator(n) for n in "abjk"), (Stream("a", "j"), Stream("b", "j"), Stream("j", "k")))
PROFILES = {name: OperatorProfile(name, 0.001) for name in "abjk"}
WINDOW = WindowedOutput(WindowKind.TUMBLING, 60.0, 10)


@pytest.mark.parametrize(
    ("changed", "named", "which"),
    [
        ({"selectivity": {"j->q": 1.0}}, "selectivity.j->q", "leaves 'j'; they are j->k"),
        ({"selectivity": {"a->j": 1.0}}, "selectivity.a->j", "leaves 'j'; they are j->k"),
        ({"selectivity_error": {"j->q": 1.0}}, "selectivity_error.j->q", "leaves 'j'; they are j->k"),
        ({"input_selectivity": {"j->q": {}}}, "input_selectivity.j->q", "leaves 'j'; they are j->k"),
        (
            {"input_selectivity": {"j->k": {"c->j": 1.0}}},
            "input_selectivity.j->k.c->j",
            "enters 'j'; they are a->j, b->j",
        ),
        ({"windowed": {"j->q": WINDOW}}, "windowed.j->q", "leaves 'j'; they are j->k"),
        ({"stream_service_s": {"c->j": 1.0}}, "stream_service_s.c->j", "enters 'j'; they are a->j, b->j"),
        ({"stream_keys": {"j->k": KeyHistogram({})}}, "stream_keys.j->k", "enters 'j'; they are a->j, b->j"),
    ],
)
def test_stream__that_the_operator_does_not_have_is_refused(changed: dict[str, Any], named: str, which: str) -> None:
    profiles = PROFILES | {"j": replace(PROFILES["j"], **changed)}
    message = f"profile of operator 'j': {named} is no stream that {which}: correct it, or leave it out"
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        check_profiles(JOIN, profiles)


def test_lost_streams__are_left_out_of_what_was_measured_before() -> None:
    before = replace(
        PROFILES["j"],
        selectivity={"j->k": 1.0, "j->q": 2.0},
        selectivity_error={"j->q": 0.1},
        input_selectivity={"j->k": {"a->j": 1.0, "c->j": 2.0}, "j->q": {"a->j": 1.0}},
        windowed={"j->q": WINDOW},
        stream_service_s={"b->j": 0.002, "c->j": 0.003},
        stream_keys={"c->j": KeyHistogram({})},
    )
    kept = without_lost_streams(JOIN, before)
    check_profiles(JOIN, PROFILES | {"j": kept})
    assert kept == replace(PROFILES["j"], selectivity={"j->k": 1.0}, stream_service_s={"b->j": 0.002})


def test_profiles__of_operators_that_are_gone_are_ignored() -> None:
    gone = OperatorProfile("gone", 0.1, {"gone->k": 2.0}, stream_service_s={"a->gone": 1.0})
    check_profiles(JOIN, PROFILES | {"gone": gone})


def test_profiles__that_lack_an_operator_or_are_of_another_are_refused() -> None:
    with pytest.raises(ModelError, match="no profile of operator 'a'; calibrate it"):
        check_profiles(JOIN, {name: PROFILES[name] for name in "bjk"})
    with pytest.raises(ModelError, match="profile of operator 'b' stands for 'a'; give each operator its own"):
        check_profiles(JOIN, PROFILES | {"a": PROFILES["b"]})


def plan(*nodes: str) -> PhysicalPlan:
    """One instance each, two to a container."""
    first, second = (Instance("a", 0), Instance("b", 0)), (Instance("j", 0), Instance("k", 0))
    packing = tuple(Container(i, each, node) for i, (each, node) in enumerate(zip((first, second), nodes, strict=True)))
    return PhysicalPlan("shop", dict.fromkeys("abjk", 1), packing)


LINKED = measured_network([MeasuredLink("n1", "n2", 1.0)], np.random.default_rng(0))


@pytest.mark.parametrize("field", ["bytes_per_tuple", "serialisation_s"])
def test_site__that_names_a_stream_of_nobody_is_refused(field: str) -> None:
    with pytest.raises(ModelError, match=rf"site: {field}\.a->k is no stream of topology 'shop'; they are a->j, b->j"):
        check_site(JOIN, Site(**{field: {"a->j": 1.0, "a->k": 1.0}}), [])


@pytest.mark.parametrize(
    ("site", "plans", "remedy"),
    [
        (Site(service_factor={"m1": 2.0}), [plan("n1", "n2")], "name all nodes of the plan too"),
        (Site(service_factor={"n1": 1.0, "m2": 2.0}), [plan("n1", "n2")], "name all nodes of the plan too"),
        (Site(service_factor={"m1": 2.0}, network=LINKED), [], "add a link to it"),
        (Site(service_factor={"n1": 1.0, "n2": 1.0, "m1": 2.0}, network=LINKED), [plan("n1", "n2")], "add a link"),
    ],
)
def test_node__that_neither_a_plan_nor_a_link_names_is_refused(
    site: Site, plans: list[PhysicalPlan], remedy: str
) -> None:
    with pytest.raises(ModelError, match=r"service_factor names node 'm\d', .* they name n1, n2: correct it") as caught:
        check_site(JOIN, site, plans)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("site", "plans"),
    [
        # the network knows the node that this plan does not use
        (Site(service_factor={"n2": 2.0}, network=LINKED), [plan("n1", "n1")]),
        # another plan uses it
        (Site(service_factor={"n2": 2.0}), [plan("n1", "n1"), plan("n1", "n2")]),
        # all nodes of the plan have a speed: the others are further nodes of the site
        (Site(service_factor={"n1": 1.0, "n2": 1.0, "n3": 2.0}), [plan("n1", "n2")]),
        # nobody says where instances are
        (Site(service_factor={"m1": 2.0}), [plan("", "n2"), PhysicalPlan("shop", dict.fromkeys("abjk", 1))]),
    ],
)
def test_node__that_may_be_there_is_no_mistake(site: Site, plans: list[PhysicalPlan]) -> None:
    check_site(JOIN, site, plans)


def test_site_of_plans__fits_each_of_them_by_itself() -> None:
    plans = [plan("n1", "n1"), plan("n1", "n2")]
    site = site_of_plans(JOIN, Site(service_factor={"n2": 2.0}), plans)
    assert site.service_factor == {"n1": 1.0, "n2": 2.0}
    for each in plans:
        check_site(JOIN, site, [each])
    with pytest.raises(ModelError, match="names node 'm2'"):
        site_of_plans(JOIN, Site(service_factor={"m2": 2.0}), plans)
    # where no speeds are told none are made up
    assert site_of_plans(JOIN, Site(), plans) == Site()
