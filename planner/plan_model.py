"""The one home of what a plan carries: the plan as packed on its site, and the model's estimate of that.

`evaluate`, search, ladder, schedule, edits, reports, guard and replay ask here, so that each gives a plan the same
capacity. Only the guard asks with other service times: those that it has measured.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import ManyEstimates, evaluate_many
from modeling.excuse import misfit
from modeling.flow.linear import LinearPlans
from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Grouping, Topology
from modeling.least_on_site import Together, fewest_on_site
from modeling.least_parallelism import ROUNDING, Counts, Question
from modeling.queueing.bursts import Arrivals
from modeling.services.pools import ServiceTerms, service_saturation
from planner.errors import PlanError
from planner.pricing.placing import Placing

WAITING_ROUNDS = 8
"""Loads for which a plan is sought until its threads let the wanted one through: how long they wait changes with it."""


@dataclass(frozen=True)
class PlanModel:
    """What every estimate of a topology's plans stands on.

    arrival_cv2: variation of arrivals, as for `evaluate`. site: where plans run. placing: packs a parallelism as the
    engine will; None leaves plans without a packing, so that node speeds and container sizes have no effect. services:
    of micro-services, whose calls hold threads; None of a stream.
    """

    topology: Topology
    profiles: Profiles
    arrival_cv2: float | Arrivals = 1.0
    site: Site = NOWHERE
    placing: Placing | None = None
    services: ServiceTerms | None = None

    def believing(self, profiles: Profiles, arrival_cv2: float | Arrivals) -> "PlanModel":
        """The same with other profiles. Requests hold threads for as many times as long as services are busy."""
        placing = None if self.placing is None else replace(self.placing, profiles=profiles)
        services = self.services
        if services is not None:
            before = {name: of.service_s for name, of in self.profiles.items()}
            services = services.slower(
                {name: profiles[name].service_s / busy_s if busy_s > 0 else 1.0 for name, busy_s in before.items()}
            )
        return replace(self, profiles=profiles, arrival_cv2=arrival_cv2, placing=placing, services=services)

    @property
    def together(self) -> Together:
        return () if self.placing is None else self.placing.together

    @cached_property
    def depends_on_packing(self) -> bool:
        """Whether plans are packed, and their packing changes what they carry, or when tuples arrive."""
        site, streams = self.site, self.topology.streams
        bounded = site.container.cores is not None or site.network is not None
        uneven = any(factor != 1.0 for factor in site.service_factor.values())
        local = any(stream.grouping is Grouping.LOCAL_OR_SHUFFLE for stream in streams)
        return self.placing is not None and (bounded or uneven or local)

    def placed(self, plan: PhysicalPlan) -> PhysicalPlan:
        """The plan with its own packing, else with the one that its parallelism gets, whatever runs now; without any if
        there is no packer. Raises PlanError if it cannot be packed.
        """
        return plan if plan.packing or self.placing is None else self.placing.plan(plan.parallelism)

    def packed(self, plan: PhysicalPlan) -> PhysicalPlan:
        """The plan as `placed`; as it is if its packing does not matter, or if it cannot be packed
        (`unpacked_because`).
        """
        if not self.depends_on_packing:
            return plan
        try:
            return self.placed(plan)
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

    def busy(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Mapping[str, Floats]:
        """Utilisation of each instance by operator, as in `estimate`, which takes many times as long for its
        latencies. Raises ModelError like it.
        """
        packed = self.packed(plan)
        if excuse := misfit(self.topology, packed, self.site):
            raise ModelError(str(excuse))
        return arrival_rates(self.topology, self.profiles, packed, load_per_s, self.site).busy

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
        """Of all sources together in the mix of this load, as far as threads of services let it through; infinite if
        nothing bounds it or nothing comes.
        """
        return self._busy_at_per_s(plan, load_per_s) * float(self.share_by_threads([plan], load_per_s)[0])

    def _busy_at_per_s(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> float:
        """Where the busiest instance, container or link is full, whatever waits for threads."""
        total = sum(load_per_s.values())
        scale = float(self.estimates([plan], load_per_s, latency=False).headroom_factor[0, 0])
        return total * scale if total > 0 else np.inf

    def share_by_threads(self, plans: Sequence[PhysicalPlan], load_per_s: Mapping[str, float]) -> Floats:
        """Part of what each plan could carry that services carry whose threads wait for the answers of calls, in the
        mix of a load; at most 1. Also 1 without services, where the saturation by threads is unknown, and where
        nothing else bounds a plan. Shape (plans,).
        """
        shares = np.ones(len(plans))
        if self.services is None or not sum(load_per_s.values()) > 0:
            return shares
        for number, plan in enumerate(plans):
            with suppress(ModelError):
                pools, routing = self.services.pools, self.services.routing
                found = service_saturation(self.topology, self.profiles, pools, plan.parallelism, load_per_s, routing)
                most_per_s = self._busy_at_per_s(plan, load_per_s)
                if np.isfinite(most_per_s):
                    shares[number] = min(1.0, sum(found.mst_per_s.values()) / most_per_s)
        return shares

    def raised(
        self, begun: Counts, load_per_s: Mapping[str, float], most: Counts, max_instances: int
    ) -> dict[str, int] | None:
        """The parallelism with as few more instances as the load needs by this model, as packed; None if none carries
        it. most: by operator.
        """

        def can_pack(counts: Counts) -> bool:
            return self.unpacked_because(counts) is None

        asked_per_s, total, counts = load_per_s, sum(load_per_s.values()), dict(begun)
        for _ in range(WAITING_ROUNDS):
            question = self.question(asked_per_s, 1.0, most, {})
            if self.depends_on_packing:
                question = self.packed_question(question)
            counts, excess = fewest_on_site(
                question, counts, {}, can_pack, max_instances, least=begun, together=self.together
            )
            if excess > ROUNDING:
                return None
            carried_per_s = self._carried_by_threads_per_s(counts, load_per_s)
            if carried_per_s * ROUNDING >= total:
                return counts
            asked_per_s = {source: rate * total / carried_per_s for source, rate in asked_per_s.items()}
        return None

    def _carried_by_threads_per_s(self, counts: Counts, load_per_s: Mapping[str, float]) -> float:
        """Infinite without services."""
        if self.services is None:
            return np.inf
        return self.capacity_per_s(PhysicalPlan(self.topology.name, dict(counts)), load_per_s)

    def key_shares(self, operator: str) -> dict[str, float]:
        """Shares of the tuples of an operator's known keys: of each key, in the stream that has most of it."""
        shares = dict[str, float]()
        for stream in self.topology.inputs(operator):
            keys = self.profiles[operator].keys_of(stream.name)
            if stream.grouping is Grouping.FIELDS and keys is not None:
                shares |= {key: max(share, shares.get(key, 0.0)) for key, share in keys.shares.items()}
        return shares

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
