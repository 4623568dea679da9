"""A job of two operators on the real simulator, with a ledger and a clock, for tests of the guard."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.rescaling.warm_up import WARM, WarmUp
from planner.clock import TraceClock
from planner.clusters.cluster import Backlogs
from planner.clusters.simulator import SimulatedCluster
from planner.deployment import Patience
from planner.guard.terms import GuardTerms
from planner.guarding import Guarded, GuardTurn, guard_turn
from planner.ledger.ledger import Ledger
from planner.limits import Limits

START = datetime(2026, 3, 2, 0, 0, tzinfo=UTC)
PAIR = Topology("pair", (Operator("read"), Operator("work")), (Stream("read", "work"),))
KEYED = replace(PAIR, streams=(Stream("read", "work", Grouping.FIELDS),))
TERMS = GuardTerms(window_s=180.0, settle_s=300.0, min_dwell_s=1800.0, limits=Limits(max_instances=32))
DOWNTIME_S = 30.0


def after(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def plan_of(work: int, read: int = 1) -> PhysicalPlan:
    return PhysicalPlan("pair", {"read": read, "work": work})


class Bench:
    """Each instance of work takes .1 s a tuple: 10 tuples a second. rates: by minute, tuples a second."""

    def __init__(
        self,
        folder: Path,
        rates_per_s: Sequence[float],
        work: int,
        *,
        terms: GuardTerms = TERMS,
        acts: bool = True,
        keys: KeyHistogram | None = None,
        slots: int = 64,
        warm_up: WarmUp = WARM,
    ) -> None:
        self.clock = TraceClock(folder / "clock")
        self.clock.start_at(START)
        self.topology = PAIR if keys is None else KEYED
        profiles = {
            "read": OperatorProfile("read", 0.0001, {"read->work": 1.0}),
            "work": OperatorProfile("work", 0.1, keys=keys),
        }
        counts = 60.0 * np.asarray(rates_per_s, dtype=np.float64)
        truth = ArrivalHistory("pair", {"read": ArrivalSeries("pair", "read", START, 60, counts)})
        self.cluster = SimulatedCluster(
            self.topology, profiles, plan_of(work), slots, DOWNTIME_S, truth, self.clock, folder / "simulator", warm_up
        )
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.guarded = Guarded(self.topology, terms, acts, patience=Patience(120, hold_s=10))
        self.backlogs: Backlogs | None = None
        self.cluster.state()

    def turn(self) -> GuardTurn:
        return guard_turn(self.guarded, self.ledger, self.cluster, self.clock, self.backlogs)

    def until(self, minute: float) -> list[GuardTurn]:
        """A turn a minute."""
        turns = []
        while self.clock.now() < after(minute):
            self.clock.wait(60)
            turns.append(self.turn())
        return turns

    @property
    def work(self) -> int:
        return self.cluster.state().plan.parallelism["work"]
