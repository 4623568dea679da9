"""Proposed plans, evaluated together under one load or several, and ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forescale.files.topology import TopologyConfig
from forescale.jobs.evaluation import STEADY_S, Terms
from forescale.jobs.evaluation_load import EvaluatedLoad
from forescale.jobs.services import most_per_s, saturation
from forescale.report.kit.decision_words import unknown_cost_words
from forescale.wiring.instance_costs import instance_costs
from modeling.candidates import Candidates, candidates
from modeling.flow.scenarios import AS_PROFILED
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.services.pools import ServiceSaturation, ServiceTerms
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws
from planner.ranking import RankedPlan, ranked


@dataclass(frozen=True)
class Ranking:
    """plans: best first; their numbers index `candidates`. names: of all candidates. against: name of the plan that
    changes are counted from; empty if unknown. notes: on costs and loads.
    """

    names: Sequence[str]
    candidates: Candidates
    plans: tuple[RankedPlan, ...]
    against: str
    notes: tuple[str, ...]

    def name(self, plan: RankedPlan) -> str:
        return self.names[plan.number]


def ranking(
    config: TopologyConfig,
    profiles: Profiles,
    plans: Mapping[str, PhysicalPlan],
    terms: Terms,
    loads: Sequence[EvaluatedLoad],
    against: str,
) -> Ranking:
    """loads: equally likely, instead of the load in terms. against: name of the running plan in terms. If terms have
    none, it is the name of the candidate that changes are counted from; that one is not assumed to run, so a change
    costs no downtime. Raises ModelError if a load or profile does not fit the topology.
    """
    topology, where = config.as_topology(), terms.where
    rates_per_s = {source: np.array([load.rate_per_s[source] for load in loads]) for source in loads[0].rate_per_s}
    paths_per_s = {source: np.stack([_paths(load, source) for load in loads]) for source in loads[0].rate_per_s}
    full = (
        []
        if terms.services is None
        else [_saturations(topology, profiles, plan, terms.services, loads) for plan in plans.values()]
    )
    found = candidates(
        topology,
        profiles,
        list(plans.values()),
        rates_per_s,
        paths_per_s,
        loads[0].step_s or STEADY_S,
        _draws(profiles, terms),
        terms.targets,
        change=terms.change,
        backlog=terms.backlog,
        most_per_s=np.array([list(map(most_per_s, each)) for each in full]) if full else None,
        arrival_cv2=loads[0].arrival_cv2,
        site=where.site,
    )
    costs, unknown = instance_costs(config, profiles)
    before = terms.running or plans.get(against)
    notes = list(map(unknown_cost_words, unknown))
    notes += [note for note in loads[0].notes if note not in notes]
    notes += sorted({each for of in full for each in of if isinstance(each, str)})
    return Ranking(
        list(plans), found, ranked(found, costs, before, where.prices), against if before else "", tuple(notes)
    )


def _saturations(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    services: ServiceTerms,
    loads: Sequence[EvaluatedLoad],
) -> list[ServiceSaturation | str]:
    return [saturation(topology, profiles, plan, load.rate_per_s, services) for load in loads]


def _paths(load: EvaluatedLoad, source: str) -> np.ndarray:
    """Shape (paths, steps)."""
    return load.paths_per_s[source] if load.paths_per_s else np.array([[load.rate_per_s[source]]])


def _draws(profiles: Profiles, terms: Terms) -> ParameterDraws:
    """A single draw if no parameter has an error: all would be the same."""
    drawn = parameter_draws(profiles, np.random.default_rng(terms.seed), terms.draws)
    return ParameterDraws(1) if drawn.parameters == AS_PROFILED else drawn
