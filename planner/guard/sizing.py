"""Number of instances for the measured load: arrivals at the wanted utilisation, plus the backlog within a given time.

An operator with arrival rate λ and true rate μ (tuples in over busy seconds) needs λ / μ instances: the sum of its
instances' busy shares, scaled by how much more than now must flow through it.
"""

import math
from collections.abc import Mapping

from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.limits import raised_within
from planner.true_rates import target_rates_per_s

_ROUNDING = 1e-9


def needed_instances(window: Window, terms: GuardTerms) -> dict[str, float]:
    """By operator, before rounding; 0 for operators without tuples."""
    # As in Flink's autoscaler, the backlog caused by the rescale itself counts.
    need_per_s = {
        name: offered / terms.utilisation + (window.backlog[name] + offered * terms.downtime_s) / terms.drain_s
        for name, offered in window.offered_per_s.items()
    }
    return {name: sum(window.busy[name]) * more for name, more in _growth(window, need_per_s).items()}


def sustained_per_s(window: Window, plan: Mapping[str, int]) -> float:
    """What all sources together could take in under a plan, in the present mix; infinite without arrivals."""
    more = _growth(window, window.offered_per_s)
    used = max(sum(window.busy[name]) * more[name] / plan[name] for name in window.topology.order)
    return sum(window.offered_per_s.values()) / used if used > 0 else math.inf


def utilisation(window: Window, plan: Mapping[str, int]) -> float:
    """Of the fullest operator under the present arrivals; above 1 if overloaded."""
    sustained = sustained_per_s(window, plan)
    return sum(window.offered_per_s.values()) / sustained


def grown(window: Window, terms: GuardTerms) -> dict[str, int]:
    """The running plan with the instances that the load lacks, none removed; within the limits."""
    running = window.newest.parallelism
    wanted = {name: max(running[name], _allowed(window, terms, name, n)) for name, n in _rounded(window, terms).items()}
    return raised_within(running, wanted, terms.limits.max_instances)


def shrunk(window: Window, terms: GuardTerms, operators: set[str], floor: Mapping[str, int]) -> dict[str, int]:
    """The running plan with these operators lowered to what the load needs, not below the floor."""
    running, rounded = window.newest.parallelism, _rounded(window, terms)
    lowered = {name: max(rounded[name], floor.get(name, 1)) for name in operators}
    given = window.topology.given_parallelism
    return {name: min(n, lowered.get(name, n)) if name not in given else n for name, n in running.items()}


def _growth(window: Window, sources_per_s: Mapping[str, float]) -> dict[str, float]:
    """By operator, its future flow over its present one; 1 if there is none."""
    topology, ratios = window.topology, window.output_ratios
    now = target_rates_per_s(topology, window.taken_per_s, ratios)
    then = target_rates_per_s(topology, sources_per_s, ratios)
    return {name: then[name] / now[name] if now[name] > 0 else 1.0 for name in topology.order}


def _rounded(window: Window, terms: GuardTerms) -> dict[str, int]:
    return {name: max(1, math.ceil(n - _ROUNDING)) for name, n in needed_instances(window, terms).items()}


def _allowed(window: Window, terms: GuardTerms, name: str, count: int) -> int:
    topology = window.topology
    most = min(topology.max_parallelism[name], terms.limits.max_parallelism.get(name, count))
    return topology.given_parallelism.get(name, min(count, most))
