"""The controller of DS2, on word count as in its paper and on jobs whose arithmetic fits in one's head."""

import pytest
from measured_minutes import measured_minutes, seen_at_the_end

from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.errors import PlanError
from planner.replay.policies.ds2 import Ds2, Ds2Settings, new_plan
from planner.replay.policy import MinuteMetrics

WORDS = Topology(
    "words",
    (Operator("source"), Operator("flat_map"), Operator("count")),
    (Stream("source", "flat_map"), Stream("flat_map", "count", Grouping.FIELDS)),
)
ONE_EACH = {"source": 1, "flat_map": 1, "count": 1}
PAIR = Topology("pair", (Operator("source"), Operator("work")), (Stream("source", "work"),))


def word_count(minutes: int) -> MinuteMetrics:
    """1 M sentences of 20 words arrive a minute. One FlatMap does 100 K sentences, one Count 1 M words a minute, so
    Count lets 50 K sentences through: it works all the time, FlatMap half of it. The source could do 10 M a minute.
    """
    sentences, words = 50e3 / 60, 1e6 / 60
    return measured_minutes(
        WORDS,
        minutes,
        {"source": sentences, "flat_map": sentences, "count": words},
        {"source": 50e3 / 10e6, "flat_map": 0.5, "count": 1.0},
        {"source->flat_map": sentences, "flat_map->count": words},
        arrivals_per_s={"source": 1e6 / 60},
        suspended={"source": 0.99, "flat_map": 0.5},
        backlog=[950e3 * (1 + at) for at in range(minutes)],
    )


def pair(minutes: int, arriving_per_s: float, busy: float, taken_per_s: float = 100.0) -> MinuteMetrics:
    return measured_minutes(
        PAIR,
        minutes,
        {"source": taken_per_s, "work": taken_per_s},
        {"source": 0.01, "work": busy},
        {"source->work": taken_per_s},
        arrivals_per_s={"source": arriving_per_s},
    )


def test_one_step_on_word_count__gives_10_flat_maps_and_20_counts() -> None:
    # 1 M sentences / 100 K an instance = 10; 20 M words / 1 M an instance = 20.
    assert new_plan(word_count(1), ONE_EACH, 1.01) == {"source": 1, "flat_map": 10, "count": 20}


def test_the_first_decision__comes_with_the_first_interval_after_the_warm_up() -> None:
    policy = Ds2(Ds2Settings(warm_up_intervals=2))
    decisions = [policy.decide(seen_at_the_end(word_count(minutes), ONE_EACH)) for minutes in (1, 2, 3)]
    assert decisions[:2] == [None, None]
    assert decisions[2] is not None
    assert decisions[2].plan == {"source": 1, "flat_map": 10, "count": 20}


def test_a_restart__begins_the_warm_up_anew() -> None:
    policy = Ds2(Ds2Settings(warm_up_intervals=2))
    # Running since second 600: minutes 10 and 11 warm it up, minute 12 is the first that counts.
    assert policy.decide(seen_at_the_end(word_count(12), ONE_EACH, 600.0)) is None
    assert policy.decide(seen_at_the_end(word_count(13), ONE_EACH, 600.0)) is not None


def test_a_longer_interval__waits_for_as_many_whole_minutes() -> None:
    policy = Ds2(Ds2Settings(interval_s=300.0, warm_up_intervals=0))
    assert policy.every_s == 300.0
    assert policy.decide(seen_at_the_end(word_count(4), ONE_EACH)) is None
    assert policy.decide(seen_at_the_end(word_count(5), ONE_EACH)) is not None


def test_activation__waits_for_several_evaluations_and_takes_the_largest() -> None:
    policy = Ds2(Ds2Settings(warm_up_intervals=0, activation_intervals=2))
    plan = {"source": 1, "work": 2}
    # Two instances work half the time for 100/s, so one could do 100/s: 350/s need 4, 250/s need 3.
    assert policy.decide(seen_at_the_end(pair(1, 350.0, 0.5), plan)) is None
    decision = policy.decide(seen_at_the_end(pair(2, 250.0, 0.5), plan))
    assert decision is not None
    assert decision.plan == {"source": 1, "work": 4}


def test_a_backlog__changes_nothing() -> None:
    # 2 instances, busy 0.9: one could do 100 / 1.8 = 55.6/s, so 100/s need 1.8 → 2, however much waits.
    waiting = measured_minutes(
        PAIR, 3, {"source": 100, "work": 100}, {"source": 0.01, "work": 0.9}, {"source->work": 100}, backlog=[1e6] * 3
    )
    assert Ds2().decide(seen_at_the_end(waiting, {"source": 1, "work": 2})) is None


def test_single_instances_less__are_not_worth_a_restart() -> None:
    # One could do 100 / (4 × 0.7) = 35.7/s, so 100/s need 2.8 → 3 of 4; of 5 at the same rate, two can go.
    assert Ds2().decide(seen_at_the_end(pair(3, 100.0, 0.7), {"source": 1, "work": 4})) is None
    decision = Ds2().decide(seen_at_the_end(pair(3, 100.0, 0.56), {"source": 1, "work": 5}))
    assert decision is not None
    assert decision.plan == {"source": 1, "work": 3}


def test_a_source_that_falls_behind_all_the_same__gets_everything_times_the_ratio() -> None:
    # By mean busy shares 4 instances carry 120/s: 100 / (4 × 0.8) = 31.25/s each, 120/s need 3.84 → 4. The source takes
    # in only 100/s, as one instance has more keys: all get 120 / 100 times as many, 4.8 → 5, and the source 1.2 → 2.
    behind = pair(1, 120.0, 0.8)
    assert new_plan(behind, {"source": 1, "work": 4}, 1.01) == {"source": 2, "work": 5}
    assert new_plan(behind, {"source": 1, "work": 4}, 1.5) == {"source": 1, "work": 4}


def test_an_operator_that_nothing_reached__keeps_its_instances() -> None:
    idle = measured_minutes(PAIR, 1, {"source": 100.0}, {"source": 0.01}, {})
    assert new_plan(idle, {"source": 1, "work": 7}, 1.01) == {"source": 1, "work": 7}


def test_a_plan__stays_within_what_the_topology_allows() -> None:
    fixed = Topology(
        "fixed",
        (Operator("source"), Operator("few", 8), Operator("shared")),
        (Stream("source", "few"), Stream("few", "shared", Grouping.CUSTOM, shares=(0.7, 0.3))),
    )
    busy = measured_minutes(
        fixed,
        1,
        {"source": 100.0, "few": 100.0, "shared": 100.0},
        {"source": 0.01, "few": 1.0, "shared": 1.0},
        {"source->few": 100.0, "few->shared": 100.0},
        arrivals_per_s={"source": 1000.0},
    )
    # 1000/s need 10 times as many instances: 40 of few, 20 of shared.
    assert new_plan(busy, {"source": 1, "few": 4, "shared": 2}, 1.01) == {"source": 1, "few": 8, "shared": 2}


@pytest.mark.parametrize(
    "settings", [{"interval_s": 90.0}, {"interval_s": 0.0}, {"activation_intervals": 0}, {"target_rate_ratio": 0.9}]
)
def test_settings_that_cannot_be__are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(PlanError, match="DS2"):
        Ds2Settings(**settings)  # type: ignore[arg-type]
