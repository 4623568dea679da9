"""The one home of what a plan carries: the plan as packed on its site, and the model's estimate of that.

Search, ladder, schedule, edits, reports and replay ask here, so each gives a plan the capacity that `evaluate` gives
it. The guard does not: it sizes by what it has measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import ManyEstimates, evaluate_many
from modeling.flow.linear import LinearPlans
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Grouping, Topology
from modeling.least_parallelism import Counts, Question
from modeling.queueing.bursts import Arrivals
from planner.errors import PlanError
from planner.pricing.placing import Placing


@dataclass(frozen=True)
class PlanModel:
    """What every estimate of a topology's plans stands on.

    arrival_cv2: variation of arrivals, as for `evaluate`. site: where plans run. placing: packs a parallelism as the
    engine will; None leaves plans without a packing, so that node speeds and container sizes have no effect.
    """

    topology: Topology
    profiles: Profiles
    arrival_cv2: float | Arrivals = 1.0
    site: Site = NOWHERE
    placing: Placing | None = None

    def believing(self, profiles: Profiles, arrival_cv2: float | Arrivals) -> "PlanModel":
        """The same with other profiles."""
        placing = None if self.placing is None else replace(self.placing, profiles=profiles)
        return replace(self, profiles=profiles, arrival_cv2=arrival_cv2, placing=placing)

    @cached_property
    def depends_on_packing(self) -> bool:
        """Whether plans are packed, and their packing changes what they carry, or when tuples arrive."""
        site, streams = self.site, self.topology.streams
        bounded = site.container.cores is not None or site.network is not None
        uneven = any(factor != 1.0 for factor in site.service_factor.values())
        local = any(stream.grouping is Grouping.LOCAL_OR_SHUFFLE for stream in streams)
        return self.placing is not None and (bounded or uneven or local)

    def packed(self, plan: PhysicalPlan) -> PhysicalPlan:
        """The plan with its own packing, else with the one that its parallelism gets; without any if its packing does
        not matter, or if it cannot be packed (`unpacked_because`).
        """
        if plan.packing or self.placing is None or not self.depends_on_packing:
            return plan
        try:
            return self.placing.plan(plan.parallelism)
        except PlanError:
            return plan

    def unpacked_because(self, parallelism: Counts) -> PlanError | None:
        """Why a plan cannot be packed; None if it can, or if packings do not matter."""
        if self.placing is None or not self.depends_on_packing:
            return None
        try:
            self.placing.plan(parallelism)
        except PlanError as error:
            return error
        return None

    def estimate(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Estimate:
        """`evaluate` of the plan as packed. Raises ModelError like it."""
        return evaluate(
            self.topology,
            self.profiles,
            self.packed(plan),
            load_per_s,
            arrival_cv2=self.arrival_cv2,
            site=self.site,
        )

    def estimates(
        self, plans: Sequence[PhysicalPlan], loads_per_s: Mapping[str, npt.ArrayLike], *, latency: bool = True
    ) -> ManyEstimates:
        """`evaluate_many` of the plans as packed. Raises ModelError like it."""
        return evaluate_many(
            self.topology,
            self.profiles,
            [self.packed(plan) for plan in plans],
            loads_per_s,
            latency=latency,
            arrival_cv2=self.arrival_cv2,
            site=self.site,
        )

    def capacity_per_s(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> float:
        """Of all sources together in the mix of this load; infinite if nothing bounds it or nothing comes."""
        total = sum(load_per_s.values())
        scale = float(self.estimates([plan], load_per_s, latency=False).headroom_factor[0, 0])
        return total * scale if total > 0 else np.inf

    def linear(self, plans: Sequence[PhysicalPlan]) -> LinearPlans:
        """Use of each limit per tuple of each source, by the plans as packed."""
        several = [self.packed(plan) for plan in plans]
        return LinearPlans(self.topology, self.profiles, placed(several, self.topology.order, self.site), self.site)

    def question(
        self, load_per_s: Mapping[str, float], max_utilisation: float, most: Counts, price: Mapping[str, float]
    ) -> Question:
        """What plans must achieve under a load, asked of each parallelism without a packing; where packings matter, as
        if every instance were on the fastest node, or as fast as measured.
        """
        fastest = min([1.0, *self.site.service_factor.values()]) if self.depends_on_packing else 1.0
        return Question(
            self.topology,
            self.profiles if fastest == 1.0 else {name: of.slower(fastest) for name, of in self.profiles.items()},
            load_per_s,
            max_utilisation,
            most,
            self.arrival_cv2,
            price=price,
            site=self.site,
        )

    def packed_question(self, question: Question) -> Question:
        """The same question about each parallelism as packed."""
        return replace(
            question,
            profiles=self.profiles,
            packed=lambda counts: self.packed(PhysicalPlan(self.topology.name, dict(counts))),
        )
