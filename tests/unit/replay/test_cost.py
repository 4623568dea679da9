"""What an instance takes up, as profiles and the topology file tell it."""

import pytest

from forescale.files.topology import TopologyConfig
from forescale.wiring.instance_costs import instance_costs
from modeling.inputs.operator_profile import OperatorProfile
from planner.pricing.instance_cost import (
    CostQuantity,
    HourlyCost,
    InstanceCost,
    UnknownCost,
    hourly_cost,
    measured_cost,
)

MEASURED = OperatorProfile("work", 0.1, cpu_s=0.05, memory_mib=200.0, memory_mib_s=3.0, state_gib=2.0)


def test_a_profile__tells_what_an_instance_uses_that_is_always_busy() -> None:
    # Ten tuples a second: 10 × .05 s of CPU a second, 200 + 10 × 3 MiB, and 2 GiB of state for all instances.
    found = measured_cost(MEASURED)
    assert found.cores == pytest.approx(0.5)
    assert found.memory_mib == pytest.approx(230)
    assert found.state_mib == 2048


def test_a_profile_without_resources__tells_nothing() -> None:
    assert measured_cost(OperatorProfile("work", 0.1)) == InstanceCost()
    # Of an operator that takes no time, nobody knows how many tuples an instance takes in.
    instant = OperatorProfile("work", 0.0, cpu_s=0.05, memory_mib=200.0, memory_mib_s=3.0)
    assert measured_cost(instant) == InstanceCost()


def test_a_plan__costs_what_its_instances_cost() -> None:
    costs = {"a": InstanceCost(1.0, 1024.0, 0.0, 0.5), "b": InstanceCost(0.5, 512.0, 1024.0)}
    # b's price is not told, so that of the plan is not either.
    assert hourly_cost({"a": 2, "b": 4}, costs) == HourlyCost(4.0, 2.0 + 2.0 + 1.0, None)
    assert hourly_cost({"a": 1, "c": 1}, costs) == HourlyCost(None, None, None)


def _config(work: dict[str, float]) -> TopologyConfig:
    operators = {"ingest": {"service_s": 0.001, "cores": 1}, "work": {"service_s": 0.1, **work}}
    return TopologyConfig.model_validate(
        {"topology": "calls", "operators": operators, "streams": [{"from": "ingest", "to": "work"}]}
    )


def test_what_the_topology_file_declares__stands_before_what_was_measured() -> None:
    config = _config({"cores": 2, "memory_mib": 4096, "price_per_hour": 0.3})
    costs, unknown = instance_costs(config, {"ingest": OperatorProfile("ingest", 0.001), "work": MEASURED})
    # What is reserved holds the state, too.
    assert costs["work"] == InstanceCost(2.0, 4096.0, 0.0, 0.3)
    assert costs["ingest"] == InstanceCost(1.0)
    assert unknown == (UnknownCost(CostQuantity.MEMORY, ("ingest",)), UnknownCost(CostQuantity.PRICE, ("ingest",)))


def test_nothing__is_noted_where_nothing_is_known_or_all_is() -> None:
    costs, unknown = instance_costs(
        _config({"cores": 2}), {name: OperatorProfile(name, 0.1) for name in ("ingest", "work")}
    )
    assert {name: cost.cores for name, cost in costs.items()} == {"ingest": 1.0, "work": 2.0}
    assert unknown == ()
