"""Windows of metrics made by hand, for the pair `read -> work`."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from guard_bench import PAIR, START

from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.guard.look import Look, OperatorLook, Waiting
from planner.guard.window import Window
from planner.plan_model import PlanModel

Shares = Sequence[float]


def look(
    number: int = 0,
    *,
    work: Shares = (0.5, 0.5),
    into: Shares | None = None,
    read: float = 0.1,
    waits: float = 0.0,
    offered: float | None = 10.0,
    backlog: float | None = 0.0,
    lag_s: float | None = None,
) -> Look:
    """The look that ends number + 1 minutes after the start. work: busy shares; into: tuples a second into each, by
    their busy shares at 10/s in all where left out.
    """
    into = [10.0 * each / sum(work) for each in work] if into is None else into
    operators = {
        "read": OperatorLook((read,), (waits,), (sum(into),), {"read->work": sum(into)}),
        "work": OperatorLook(tuple(work), (0.0,) * len(work), tuple(into)),
    }
    known: Mapping[str, float] = {} if offered is None else {"read": offered}
    held: Mapping[str, float] = {} if backlog is None else {"read": backlog}
    return Look(START + timedelta(minutes=number + 1), 60.0, operators, Waiting(known, held, lag_s))


def window(*looks: Look) -> Window:
    return Window(PAIR, looks)


def steady(**of: object) -> Window:
    """Three looks alike."""
    return window(*(look(number, **of) for number in range(3)))  # type: ignore[arg-type]


def spread(topology: Topology, model: PlanModel, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Window:
    """Three looks at a job that works as the model says, with as much of this load as it can take in."""
    estimate = model.estimate(plan, load_per_s)
    share = min(1.0, model.capacity_per_s(plan, load_per_s) / sum(load_per_s.values()))
    operators = {}
    for name, of in estimate.operators.items():
        busy = tuple((share * of.instance_utilisation).tolist())
        into = share * of.arrival_rate_per_s / len(busy)
        given = {
            stream.name: share * of.arrival_rate_per_s * model.profiles[name].selectivity.get(stream.name, 1.0)
            for stream in topology.outputs(name)
        }
        operators[name] = OperatorLook(busy, (0.0,) * len(busy), (into,) * len(busy), given)
    waiting = Waiting(dict(load_per_s), dict.fromkeys(load_per_s, 0.0))
    looks = [Look(START + timedelta(minutes=number + 1), 60.0, operators, waiting) for number in range(3)]
    return Window(topology, tuple(looks))
