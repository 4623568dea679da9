"""A small replay: one work operator of which each instance carries 10 tuples a second, and loads by the minute."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.contest import Contest
from planner.replay.load import Load
from planner.replay.policy import Decision, Seen
from planner.replay.reality import Differences, Reality

START_S = 1_700_006_400
"""A midnight in UTC."""

TOPOLOGY = Topology("calls", (Operator("ingest"), Operator("work")), (Stream("ingest", "work"),))
PROFILES = {"ingest": OperatorProfile("ingest", 0.0001), "work": OperatorProfile("work", 0.1)}


def load_of(rates_per_s: Sequence[float], start_s: int = START_S) -> Load:
    return Load(start_s, {"ingest": np.array(rates_per_s, dtype=np.float64)})


def days_of(days: float, low: float = 10.0, high: float = 80.0, start_s: int = START_S) -> Load:
    """The same every day: least at midnight, most at noon."""
    minutes = np.arange(round(days * 1440))
    wave = 0.5 - 0.5 * np.cos(2 * np.pi * minutes / 1440)
    return load_of((low + (high - low) * wave).tolist(), start_s)


def plan(work: int) -> dict[str, int]:
    return {"ingest": 1, "work": work}


def reality(load: Load, terms: EngineTerms | None = None, wrong: Differences | None = None) -> Reality:
    terms, wrong = terms or EngineTerms(30.0), wrong or Differences()
    return Reality(PlanModel(TOPOLOGY, PROFILES), terms, wrong, load.start_s, load.end_s)


def contest(load: Load, past: Load | None = None, **others: object) -> Contest:
    engine = EngineTerms(60.0, lead_s=120.0)
    made = Contest(
        topology=TOPOLOGY,
        believed=PROFILES,
        load=load,
        past=past,
        limits=Limits(max_utilisation=0.8, max_instances=30),
        engine=engine,
        max_lag_s=120.0,
        slot_s=900,
        quantile=0.95,
        step_s=300,
        horizon_s=86400,
    )
    return replace(made, **others)  # type: ignore[arg-type]


class Scripted:
    """Asks for plans at moments, in seconds from the start, and keeps what it saw."""

    name, every_s = "scripted", 60.0

    def __init__(self, script: Mapping[float, int], first: int) -> None:
        self.first = plan(first)
        self._script, self.seen = script, list[Seen]()

    def decide(self, seen: Seen) -> Decision | None:
        self.seen.append(seen)
        work = self._script.get(seen.at_s - START_S)
        return None if work is None else Decision(plan(work), "as the script says")
