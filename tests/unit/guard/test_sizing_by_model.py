"""The guard's plans are carried by the plan model too, with the measured service times: keys, slow nodes, few cores."""

from dataclasses import replace

import pytest
from guard_bench import KEYED, PAIR, TERMS
from guard_windows import spread, steady

from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Topology
from planner.guard.actions import Action, Schedule
from planner.guard.assessment import assessed
from planner.guard.sizing import Sizing
from planner.guard.symptoms import idle
from planner.guard.window import Window
from planner.guard.withheld import withheld
from planner.guard_facts import ReasonKind
from planner.limits import Limits
from planner.packing.flink_slots import FlinkSlots
from planner.packing.offer import Offer
from planner.packing.packer import Packing
from planner.packing.resource_compliant import ResourceCompliant
from planner.packing.workload import Workload
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing

READ = OperatorProfile("read", 0.0001, cpu_s=0.0001)
WORK = OperatorProfile("work", 0.1, cpu_s=0.1)
HOT = KeyHistogram({"hot": 0.3, **{f"k{at}": 0.7 / 100 for at in range(100)}})
"""30 % of the tuples have one key: its instance takes 0.3 · 0.1 s and its part of the others of each tuple."""


def keyed(keys: KeyHistogram, work_s: float = 0.1) -> PlanModel:
    return PlanModel(KEYED, {"read": READ, "work": replace(WORK, service_s=work_s, keys=keys)})


def sizing(window: Window, model: PlanModel, topology: Topology = KEYED) -> Sizing:
    return Sizing(Window(topology, window.looks), replace(TERMS, model=model))


def carried_per_s(model: PlanModel, work: int, read: int = 1) -> float:
    return model.capacity_per_s(PhysicalPlan("pair", {"read": read, "work": work}), {"read": 1.0})


OVERLOADED = steady(work=(1.0, 0.5), waits=0.5, offered=20.0, into=(10.0, 5.0))
"""15/s of 20/s are taken in at .1 s each. Needed are 20/s at 70 % and 20 · 30 / 600 s: 29.6/s, evenly 3 instances."""


def test_a_hot_key__gets_as_many_instances_as_its_share_needs() -> None:
    model = keyed(HOT)
    plan = sizing(OVERLOADED, model).grown()
    need_per_s = 20 / 0.7 + 20 * 30 / 600
    assert plan["work"] > 3
    assert carried_per_s(model, plan["work"]) >= need_per_s > carried_per_s(model, plan["work"] - 1)


def test_the_measured_service_time__stands_in_for_the_declared_one() -> None:
    # Half of .1 s is declared; the job is busy for 1.5 instances at 15/s, which is .1 s.
    measured, declared = sizing(OVERLOADED, keyed(HOT)), sizing(OVERLOADED, keyed(HOT, work_s=0.05))
    assert declared.grown() == measured.grown()
    six = {"read": 1, "work": 6}
    assert declared.sustained_per_s(six) == pytest.approx(carried_per_s(keyed(HOT), 6), rel=1e-6)


def test_a_hot_key_that_no_number_of_instances_helps__gets_as_many_as_even_work_needs() -> None:
    # 60 % on one key: at most 1 / (.6 · .1 s) = 16.7/s, however many instances, and 29.6/s are needed.
    keys = KeyHistogram({"hot": 0.6, **{f"k{at}": 0.4 / 100 for at in range(100)}})
    assert sizing(OVERLOADED, keyed(keys)).grown() == {"read": 1, "work": 3}


def test_keys_that_the_job_shows_to_be_wrong__are_left_out_and_the_action_says_so() -> None:
    # All on one key would be 10/s at most; the job takes in 20/s by two instances that are equally busy.
    window = Window(KEYED, steady(work=(1.0, 1.0), waits=0.5, offered=30.0, into=(10.0, 10.0)).looks)
    terms = replace(TERMS, model=keyed(KeyHistogram({"hot": 1.0})))
    action = assessed(window, terms, Schedule(), frozenset(), 3600.0).action
    assert isinstance(action, Action)
    # 30/s at 70 % and 30 · 30 / 600 s: 44.4/s of 10/s each.
    assert action.plan == {"read": 1, "work": 5}
    assert action.reason.scaling is not None
    assert (action.reason.scaling.carried_per_s, action.reason.scaling.taken_per_s) == (pytest.approx(10), 20)
    assert action.expected["sustained_per_s"] == pytest.approx(50.0)


def test_containers_of_few_cores__get_company_before_instances_are_busy() -> None:
    # Flink, two slots of both operators share half a core: .1001 s of CPU a tuple, 4.995/s.
    site = Site(ContainerSize(cores=0.5))
    placing = Placing(PAIR, {"read": READ, "work": WORK}, {}, FlinkSlots(Offer(site, slots=2)))
    model = PlanModel(PAIR, {"read": READ, "work": WORK}, site=site, placing=placing)
    window = steady(work=(0.2, 0.2), read=0.0004, offered=4.0, into=(2.0, 2.0))
    # 4/s at 70 % and 4 · 30 / 600 s: 5.9/s are less than an instance of work, but more than half a core.
    plan = sizing(window, model, PAIR).grown()
    assert plan == {"read": 1, "work": 3}
    assert carried_per_s(model, 3) >= 4 / 0.7 + 4 * 30 / 600 > carried_per_s(model, 2)


def test_slots_that_are_paid_for__are_filled_and_spared_as_a_whole() -> None:
    """As above, with read in every slot. Work is busy half of the time at 10/s, .2 of it at 4/s, and wanted for .7.
    Below half of that it is idle, as read always is, and then a slot is spared.
    """
    site = Site(ContainerSize(cores=0.5))
    placing = Placing(PAIR, {"read": READ, "work": WORK}, {}, FlinkSlots(Offer(site, slots=2)), [PAIR.order])
    model = PlanModel(PAIR, {"read": READ, "work": WORK}, site=site, placing=placing)
    window = steady(work=(0.2, 0.2), read=0.0004, offered=4.0, into=(2.0, 2.0))
    assert sizing(window, model, PAIR).grown() == {"read": 3, "work": 3}
    even = PlanModel(PAIR, {"read": READ, "work": WORK})
    plan, terms = PhysicalPlan(PAIR.name, {"read": 2, "work": 2}), replace(TERMS, model=model)
    busy, calm = (spread(PAIR, even, plan, {"read": rate}) for rate in (10.0, 4.0))
    assert [each.operator for each in idle(busy, TERMS)] == ["read"]
    assert idle(busy, terms) == []
    assert {each.operator for each in idle(calm, terms)} == {"read", "work"}


def test_the_fast_node__is_not_taken_for_all_nodes() -> None:
    # Two instances a container: what runs is on the fast node, two more come to the one that is twice as slow.
    site = Site(service_factor={"new": 1.0, "old": 2.0})
    costs = {name: InstanceCost(cores=0.1, memory_mib=1.0) for name in PAIR.order}
    offer = Offer(site, nodes={"new": None, "old": None}, max_instances=2)
    placing = Placing(PAIR, {"read": READ, "work": WORK}, costs, ResourceCompliant(offer))
    model = PlanModel(PAIR, {"read": READ, "work": WORK}, site=offer.site, placing=placing)
    window = steady(work=(1.0,), waits=0.5, offered=16.0, into=(10.0,))
    plan = sizing(window, model, PAIR).grown()
    even = Sizing(window, TERMS).grown()
    need_per_s = 16 / 0.7 + 16 * 30 / 600
    assert even["work"] == 3
    assert carried_per_s(model, plan["work"], plan["read"]) >= need_per_s > carried_per_s(model, even["work"])


def test_scale_down__keeps_what_a_hot_key_needs() -> None:
    window = steady(work=(0.3, *(0.1,) * 7), offered=10.0, into=(3.0, *(1.0,) * 7))
    model = keyed(HOT)
    plan = sizing(window, model).shrunk({"work"}, {})
    need_per_s = 10 / 0.7 + 10 * 30 / 600
    assert plan["work"] < 8
    assert carried_per_s(model, plan["work"]) >= need_per_s
    assert carried_per_s(model, plan["work"] - 1) < need_per_s


def test_scale_down__is_not_held_up_by_an_operator_that_stays() -> None:
    # read is 80 % busy, above the 70 % wanted, and no longer idle: work goes all the same.
    window = steady(work=(0.1,) * 10, into=(1.0,) * 10, offered=10.0, read=0.8)
    assert sizing(window, keyed(KeyHistogram({})), KEYED).shrunk({"work"}, {})["work"] < 10


def test_a_planned_step__waits_while_its_plan_carries_too_little_for_a_hot_key() -> None:
    window = Window(KEYED, steady(work=(0.5, *(0.2,) * 7), offered=19.0, into=(5.0, *(2.0,) * 7)).looks)
    plan, runs = {"read": 1, "work": 2}, {"read": 1, "work": 8}
    # 19/s of .1 s keep two instances 95 % busy if they share evenly; the hot key does not share.
    assert withheld(plan, runs, window, TERMS) is None
    waits = withheld(plan, runs, window, replace(TERMS, model=keyed(HOT)))
    assert waits is not None
    assert waits.kind is ReasonKind.NEEDS_MORE


def test_limits__bound_what_the_model_asks_for() -> None:
    few = replace(TERMS, model=keyed(HOT), limits=Limits(max_instances=4))
    assert Sizing(Window(KEYED, OVERLOADED.looks), few).grown() == {"read": 1, "work": 3}


def test_the_model__is_not_asked_where_limits_leave_too_few_even_for_even_work(monkeypatch: pytest.MonkeyPatch) -> None:
    # 3 are needed and 2 are allowed: both are needed, whatever the model holds of their balance.
    few = replace(TERMS, model=keyed(HOT), limits=Limits(max_parallelism={"work": 2}))
    monkeypatch.delattr(PlanModel, "raised")
    assert Sizing(Window(KEYED, OVERLOADED.looks), few).grown() == {"read": 1, "work": 2}
    with pytest.raises(AttributeError, match="raised"):
        Sizing(Window(KEYED, OVERLOADED.looks), replace(few, limits=Limits(max_parallelism={"work": 3}))).grown()


def test_a_plan__is_packed_once_for_all_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a plan is packed does not depend on the measured service times."""
    packed = list[tuple[int, ...]]()
    pack = FlinkSlots.pack

    def counted(packer: FlinkSlots, work: Workload) -> Packing:
        packed.append(tuple(work.parallelism.values()))
        return pack(packer, work)

    monkeypatch.setattr(FlinkSlots, "pack", counted)
    site, profiles = Site(ContainerSize(cores=2.0)), {"read": READ, "work": WORK}
    placing = Placing(PAIR, profiles, {}, FlinkSlots(Offer(site, slots=2)))
    model = PlanModel(PAIR, profiles, site=site, placing=placing)
    for busy in (0.9, 0.95):
        sizing(steady(work=(busy, busy), offered=20.0, into=(10.0, 10.0)), model, PAIR).grown()
    assert len(packed) == len(set(packed)) > 0
