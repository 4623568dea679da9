"""Flink's autoscaler, rule by rule; that every decision is the library's is tests/integration/flink_autoscaler's."""

from collections.abc import Sequence

import pytest
from measured_minutes import measured_minutes, seen_at_the_end

from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.errors import PlanError
from planner.replay.policies.flink_autoscaler import (
    TUNED,
    FlinkAutoscaler,
    FlinkAutoscalerSettings,
    Vertex,
    new_parallelism,
)
from planner.replay.policy import Decision, MinuteMetrics

DEFAULTS = FlinkAutoscalerSettings()
PAIR = Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))
PLAN = {"source": 1, "work": 4}
# Five minutes to be stable and fifteen of metrics: the first sample of the window is that of minute 4, at second 300.
FULL = 20


def pair(
    minutes: int, busy: float, backlog: Sequence[float] | None = None, suspended: float = 0.0, source_busy: float = 0.5
) -> MinuteMetrics:
    """100/s through both operators. The source, busy half the time, could do 200/s."""
    return measured_minutes(
        PAIR,
        minutes,
        {"source": 100.0, "work": 100.0},
        {"source": source_busy, "work": busy},
        {"source->work": 100.0},
        suspended={"source": suspended},
        backlog=backlog,
    )


def growing(minutes: int) -> list[float]:
    """A backlog that grows by 60/s from the start on."""
    return [3600.0 * (1 + at) for at in range(minutes)]


def asked(policy: FlinkAutoscaler, busy: float, minutes: range) -> list[Decision | None]:
    return [policy.decide(seen_at_the_end(pair(each, busy), PLAN)) for each in minutes]


def vertex(
    parallelism: int = 4, groups: int = 0, catch_up_per_s: float = 0.0, true_rate_per_s: float = 100.0
) -> Vertex:
    """100/s to process. In all 100/0.7 + 100 × 5/30 = 142.86 + 16.67 → 160/s, and what a backlog takes."""
    return Vertex(parallelism, 128, groups, 100.0, catch_up_per_s, true_rate_per_s)


def test_nothing_is_decided__before_the_window_is_full() -> None:
    policy = FlinkAutoscaler()
    for minutes in range(1, FULL):
        assert policy.decide(seen_at_the_end(pair(minutes, 1.0, growing(minutes)), PLAN)) is None
    assert policy.decide(seen_at_the_end(pair(FULL, 1.0, growing(FULL)), PLAN)) is not None


def test_a_restart__begins_the_wait_anew() -> None:
    policy = FlinkAutoscaler()
    # Running since second 600 again, so the window is full after 10 + 20 minutes.
    assert policy.decide(seen_at_the_end(pair(29, 1.0, growing(29)), PLAN, 600.0)) is None
    assert policy.decide(seen_at_the_end(pair(30, 1.0, growing(30)), PLAN, 600.0)) is not None


def test_a_saturated_vertex__is_scaled_to_what_the_lag_and_the_rate_need() -> None:
    decision = FlinkAutoscaler().decide(seen_at_the_end(pair(FULL, 1.0, growing(FULL), suspended=0.5), PLAN))
    # 100/s taken in and 60/s left: 160/s. 72 000 wait after 20 minutes: 40/s to be rid of them in 30 minutes.
    # 160/0.7 + 160 × 5/30 + 40 = 228.57 + 26.67 + 40 → 295/s.
    # work does 100/s with 4: 4 × 2.95 = 11.8 → 12. The source could do 200/s with 1: 1.475 → 2.
    assert decision is not None
    assert decision.plan == {"source": 2, "work": 12}
    assert "work 4 → 12" in decision.why


def test_inside_the_dead_band__nothing_is_done() -> None:
    # At 0.95 the rule would take 4 × 160/105.3 → 7, at 0.45 4 × 160/222.2 → 3; both lie between 0.4 and 1.
    assert asked(FlinkAutoscaler(), 0.95, range(FULL, FULL + 70)) == [None] * 70
    assert asked(FlinkAutoscaler(), 0.45, range(FULL, FULL + 70)) == [None] * 70


def test_the_dead_band__has_no_lower_end_while_a_backlog_is_worked_off() -> None:
    # work does 100/s at 0.2 and could do 500/s. 40 000 wait, more than 300 s of 100/s.
    policy = FlinkAutoscaler(FlinkAutoscalerSettings(scale_down_interval_s=0.0))
    assert policy.decide(seen_at_the_end(pair(FULL, 0.2, [40_000.0] * FULL, suspended=0.5), PLAN)) is None
    decision = policy.decide(seen_at_the_end(pair(FULL + 1, 0.2), PLAN))
    assert decision is not None
    assert decision.plan["work"] < 4


def test_scaling_down__waits_for_the_interval() -> None:
    # First seen after minute 20, carried out an hour later. 4 × 160/500 = 1.28, but at least 0.4 × 4 = 1.6 → 2.
    decisions = asked(FlinkAutoscaler(), 0.2, range(FULL, FULL + 61))
    assert decisions[:60] == [None] * 60
    assert decisions[60] is not None
    assert decisions[60].plan == {"source": 1, "work": 2}


def test_a_surplus_that_ends__waits_from_the_start_when_it_comes_again() -> None:
    policy = FlinkAutoscaler()
    assert asked(policy, 0.2, range(20, 50)) == [None] * 30
    # At 0.6 it could do 166.7/s: 4 × 160/166.7 = 3.84 → 4, so there is no surplus.
    assert asked(policy, 0.6, range(50, 51)) == [None]
    decisions = asked(policy, 0.2, range(51, 112))
    assert decisions[:60] == [None] * 60
    assert decisions[60] is not None


def test_a_change__takes_waiting_surpluses_along() -> None:
    # 6000 wait: 142.86 + 16.67 + 6000/1800 → 163/s, and 103.3/s > 100/s at full utilisation. work: 4 × 1.63 → 7.
    # The source, busy for a tenth of the time, could do 1000/s with 3: no more than 0.6 of them can go, 1.2 → 2 stay.
    crowded = pair(FULL, 1.0, [6000.0] * FULL, suspended=0.9, source_busy=0.1)
    decision = FlinkAutoscaler().decide(seen_at_the_end(crowded, {"source": 3, "work": 4}))
    assert decision is not None
    assert decision.plan == {"source": 2, "work": 7}
    assert "source" not in decision.why


def test_a_source_that_catches_up__could_do_what_it_does_while_it_is_not_held_back() -> None:
    # Busy time says 100 / 0.1 = 1000/s. With 6000 waiting, 60 s of it, and held back for half the time, it did 200/s.
    waiting = pair(FULL, 1.0, [6000.0] * FULL, suspended=0.5, source_busy=0.1)
    decision = FlinkAutoscaler(TUNED).decide(seen_at_the_end(waiting, {"source": 2, "work": 4}))
    # 100/0.8 + 100 × 1/10 + 6000/600 = 125 + 10 + 10 = 145/s: of 200/s with 2, 1.45 → 2. Of 1000/s it would be 0.8 → 1.
    assert decision is not None
    assert decision.plan == {"source": 2, "work": 6}  # 4 × 145/100 = 5.8


def test_catching_up__raises_the_target() -> None:
    # 4 × 160/100 = 6.4 → 7; with 50/s to catch up, 4 × 210/100 = 8.4 → 9.
    assert new_parallelism(vertex(), DEFAULTS) == 7
    assert new_parallelism(vertex(catch_up_per_s=50.0), DEFAULTS) == 9


def test_the_max_scale_down_factor__bounds_a_step() -> None:
    # 160/s of 10 000/s is a factor of 0.016, but no step takes more than 0.6 away: 10 × 0.4 = 4.
    assert new_parallelism(vertex(10, true_rate_per_s=10_000.0), DEFAULTS) == 4


def test_the_parallelism__stays_within_that_of_the_operator_and_the_settings() -> None:
    # 100 × 160/100 = 160.
    assert new_parallelism(vertex(100), DEFAULTS) == 128
    assert new_parallelism(vertex(100), FlinkAutoscalerSettings(max_parallelism=110)) == 110


@pytest.mark.parametrize(
    ("parallelism", "groups", "aligned"),
    [
        (4, 128, 8),  # 6.4 → 7; 8 divides 128
        (41, 128, 128),  # 65.6 → 66; the next that divides 128 is 128
        (37, 100, 100),  # 59.2 → 60
        (4, 7, 7),
        (10, 12, 12),  # 16 instances for 12 groups: 4 would idle
    ],
)
def test_keyed_operators_and_sources__share_their_groups_evenly(parallelism: int, groups: int, aligned: int) -> None:
    assert new_parallelism(vertex(parallelism, groups), DEFAULTS) == aligned


def test_where_nothing_divides_the_groups__the_fewest_instances_with_as_many_each_are_taken() -> None:
    # 37 × 1.6 = 59.2 → 60 of at most 90. None of 60 to 90 divides 100; with 50, as with 60, some instance has 2 groups.
    assert new_parallelism(vertex(37, 100), FlinkAutoscalerSettings(max_parallelism=90)) == 50


def test_operators_with_fixed_shares__are_left_alone() -> None:
    shared = Topology(
        "shared",
        (Operator("source"), Operator("work")),
        (Stream("source", "work", Grouping.CUSTOM, shares=(0.5, 0.5)),),
    )
    saturated = measured_minutes(
        shared, FULL, {"source": 100.0, "work": 100.0}, {"source": 1.0, "work": 1.0}, {}, backlog=growing(FULL)
    )
    decision = FlinkAutoscaler().decide(seen_at_the_end(saturated, {"source": 1, "work": 2}))
    assert decision is not None
    assert decision.plan == {"source": 3, "work": 2}  # 295/100, as above


def test_settings_that_cannot_be__are_refused() -> None:
    with pytest.raises(PlanError, match="window_s"):
        FlinkAutoscalerSettings(window_s=30.0)
    with pytest.raises(PlanError, match="target_utilisation"):
        FlinkAutoscalerSettings(target_utilisation=1.1)
