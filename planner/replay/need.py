"""What a load needs, asked many times: the cheapest plan by the model, remembered."""

import math
from collections.abc import Mapping
from functools import lru_cache

from modeling.inputs.operator_profile import Profiles
from modeling.inputs.topology import Topology
from planner.limits import Limits
from planner.search.cheapest_plan import strongest_plan

_FINENESS = math.log(1.0025)


class Need:
    """Loads are rounded up by at most a quarter of a per cent, so that those nearly alike are worked out once."""

    def __init__(self, topology: Topology, profiles: Profiles, limits: Limits) -> None:
        self.topology, self.profiles, self.limits = topology, profiles, limits
        self._known = lru_cache(65536)(self._worked_out)

    def plan(self, load_per_s: Mapping[str, float]) -> Mapping[str, int]:
        """The fewest instances that hold the limits under the load; the strongest plan where none does."""
        return self._known(tuple(_rounded_up(load_per_s[source]) for source in self.topology.sources))

    def _worked_out(self, rates_per_s: tuple[float, ...]) -> Mapping[str, int]:
        load_per_s = dict(zip(self.topology.sources, rates_per_s, strict=True))
        return strongest_plan(self.topology, self.profiles, load_per_s, self.limits)[0].parallelism


def _rounded_up(rate_per_s: float) -> float:
    """The least number of a grid of steps of a quarter of a per cent that is not below."""
    return 0.0 if rate_per_s <= 0 else math.exp(math.ceil(math.log(rate_per_s) / _FINENESS - 1e-9) * _FINENESS)
