"""A timeline by hand: an hour, a plan that is too small and one that is large enough."""

import numpy as np

from planner.replay.run import Taken
from planner.replay.timeline import Timeline, Track

START_S = 1_700_006_400.0


def track(policy: str, work: int, late_minutes: int = 0, seed: int = 0) -> Track:
    minutes = np.arange(60)
    lag_s = np.where(minutes < late_minutes, 300.0, 0.0)
    return Track(
        policy=policy,
        seed=seed,
        minute=START_S + 60.0 * minutes,
        arrivals_per_s=15.0 + minutes / 10,
        plan=np.zeros(60, dtype=np.int64),
        plans=({"ingest": 1, "work": work},),
        instances=np.full(60, 1 + work),
        capacity_per_s=np.full(60, 10.0 * work),
        backlog=lag_s * 15,
        lag_s=lag_s,
        in_downtime=np.where(minutes == 0, 30.0, 0.0),
        utilisation=np.full(60, 0.9),
        violation=lag_s > 120,
        decisions=(Taken(START_S, START_S + 30.0, {"ingest": 1, "work": work}, "it fits"),),
    )


def timeline(topology: str = "orders", policy: str = "small", note: str = "a note") -> Timeline:
    tracks = (track("static-peak", 3), track(policy, 2, late_minutes=6), track("wasteful", 5, late_minutes=12))
    return Timeline(topology, 120.0, tracks, (note,))


def crowded_timeline() -> Timeline:
    """Fourteen policies that cost alike and violate hardly ever, in pairs at one point."""
    names = [f"policy-with-a-name-{number}" for number in range(14)]
    tracks = [
        track(name, 8 + number // 2, late_minutes=number % 2 * (number // 8)) for number, name in enumerate(names)
    ]
    return Timeline("orders", 120.0, tuple(tracks))
