"""Which state moves at a rescale, and how much is processed again, against hand arithmetic."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.flow.key_assignment import flink_instance_of_key
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.state import Restored, key_groups_moved, largest_share, state_move, state_moves
from modeling.rescaling.state_restore import StateRestore


def _job(engine: Engine = Engine.FLINK) -> Topology:
    """feed → count → store, both keyed; count has 8 key groups, store 128."""
    streams = (Stream("feed", "count", Grouping.FIELDS), Stream("count", "store", Grouping.FIELDS))
    return Topology("job", (Operator("feed"), Operator("count", 8), Operator("store")), streams, engine)


def _plan(count: int, store: int) -> PhysicalPlan:
    return PhysicalPlan("job", {"feed": 1, "count": count, "store": store})


def test_key_groups__from_two_to_three_of_eight() -> None:
    # 2: 0000 1111; 3: 000 111 22, which Flink's ranges ⌈i·8/3⌉ give as 0..2, 3..5, 6..7: groups 3, 6, 7 change
    assert int(key_groups_moved(2, 3, 8)) == 3


def test_key_groups__are_owned_as_flink_owns_them() -> None:
    # every key's instance is that of its group, and 200 keys hit all 16 groups of 16: those that change are the moved
    groups = {flink_instance_of_key(key, 16, 16): key for key in (f"key-{i}" for i in range(200))}
    assert len(groups) == 16
    for before, after in ((1, 3), (3, 5), (5, 16)):
        changed = [
            flink_instance_of_key(key, before, 16) != flink_instance_of_key(key, after, 16) for key in groups.values()
        ]
        assert int(key_groups_moved(before, after, 16)) == sum(changed)


def test_key_groups__are_counted_for_many_parallelisms_at_once() -> None:
    counts = np.arange(1, 9)
    table = key_groups_moved(counts[:, None], counts, 8)
    assert table.shape == (8, 8)
    assert np.diagonal(table).tolist() == [0] * 8
    # 1 → p: all but the first instance's ⌈8/p⌉
    assert table[0].tolist() == [0, 4, 5, 6, 6, 6, 6, 7]


def test_whole_job__is_restored_even_where_only_one_operator_changes() -> None:
    move = state_move(_job(), {"count": 8.0, "store": 4.0}, _plan(2, 4), [_plan(2, 4), _plan(3, 4), _plan(2, 8)])
    assert move.saved_gib.tolist() == [0, 12, 12]
    assert move.restored_gib.tolist() == [0, 12, 12]
    # 3 of 8 groups of 8 GiB; 4 → 8 of 128 keeps 16 groups of instance 0: 112/128 of 4 GiB
    assert move.moved_gib.tolist() == pytest.approx([0, 3, 3.5])


def test_changed_operators_and_moved_groups__are_restored_alone() -> None:
    sizes = {"count": 8.0, "store": 4.0}
    changed = state_move(_job(), sizes, _plan(2, 4), [_plan(2, 8)], restored=Restored.CHANGED_OPERATORS)
    assert changed.restored_gib.tolist() == [4]
    moved = state_move(_job(), sizes, _plan(2, 4), [_plan(2, 8)], restored=Restored.MOVED_KEY_GROUPS)
    # half of each old range stays where it was; a new instance fetches its 16 of 128 groups of 4 GiB
    assert moved.restored_gib.tolist() == [2]


@pytest.mark.parametrize("restored", list(Restored))
def test_moves_between_many_plans__are_those_of_each_pair(restored: Restored) -> None:
    sizes, plans = {"count": 8.0, "store": 4.0}, [_plan(*counts) for counts in ((2, 4), (3, 4), (2, 8), (8, 1), (2, 4))]
    every = state_moves(_job(), sizes, plans, restored=restored)
    for number, plan in enumerate(plans):
        one = state_move(_job(), sizes, plan, plans, restored=restored)
        for field in ("saved_gib", "restored_gib", "largest_gib", "moved_gib"):
            assert getattr(every, field)[number].tolist() == getattr(one, field).tolist()


def test_the_instance_that_reads_most__is_of_the_operator_with_the_largest_parts() -> None:
    sizes = {"count": 8.0, "store": 4.0}
    # 8 groups of 1 GiB: 3 of them at 3 instances, 4 at 2; 128 of 1/32: 32 at 4 instances, 128 at one.
    move = state_move(_job(), sizes, _plan(2, 4), [_plan(2, 4), _plan(3, 4), _plan(2, 8), _plan(8, 1)])
    assert move.largest_gib.tolist() == [0, 3, 4, 4]
    # Only store changes: 16 of 128 groups of 4 GiB at 8 instances. A new one of these has nothing of what it reads.
    for restored in (Restored.CHANGED_OPERATORS, Restored.MOVED_KEY_GROUPS):
        assert state_move(_job(), sizes, _plan(2, 4), [_plan(2, 8)], restored=restored).largest_gib.tolist() == [0.5]


def test_a_restore_by_all_instances_at_once__takes_as_long_as_the_one_that_reads_most() -> None:
    sizes = {"count": 8.0, "store": 4.0}
    one, all_at_once = StateRestore(10.0, sizes), StateRestore(10.0, sizes, parallel=True)
    plans = [_plan(2, 4), _plan(8, 4)]
    assert one.between_s(_job(), plans).tolist() == [[0, 120], [120, 0]]
    # Of 2 instances each reads 4 GiB of count; of 8 each 1, and of store each of 4 has 1 as well.
    assert all_at_once.between_s(_job(), plans).tolist() == [[0, 10], [40, 0]]
    assert all_at_once.change_s(_job(), plans[1], plans[0]) == 40
    assert (one.restart_s(_job(), plans[1]), all_at_once.restart_s(_job(), plans[1])) == (120, 10)
    assert largest_share(3, 8) == 3 / 8


@pytest.mark.parametrize("engine", [Engine.STORM, Engine.HERON])
def test_storm_and_heron__restart_without_state(engine: Engine) -> None:
    assert state_move(_job(engine), {"count": 8.0}, _plan(2, 4), [_plan(3, 4)]).restored_gib.tolist() == [0]


def test_state__of_an_unknown_operator_or_size_is_refused() -> None:
    with pytest.raises(ModelError, match="unknown operator 'sum'"):
        state_move(_job(), {"sum": 1.0}, _plan(1, 1), [_plan(2, 1)])
    with pytest.raises(ModelError, match=r"'count': its size in GiB is -1\.0; give a finite number"):
        state_move(_job(), {"count": -1.0}, _plan(1, 1), [_plan(2, 1)])
    with pytest.raises(ModelError, match="parallelism 9 is not between 1 and the number of key groups 8"):
        key_groups_moved(1, 9, 8)


def test_replayed__lies_between_the_age_of_the_newest_and_the_oldest_checkpoint() -> None:
    checkpoints = Checkpoints(interval_s=60, duration_s=5)
    # a checkpoint begun at 0 is complete at 5 and the newest complete one until 65
    assert [checkpoints.replayed_s(level) for level in (0.0, 0.5, 1.0)] == [5, 35, 65]
    assert Checkpoints(60, 5, rescales_on_completion=True).replayed_s(1.0) == 5
    # slower than the interval: the next begins when this one is done
    assert Checkpoints(10, 40).replayed_s(1.0) == 80


@pytest.mark.parametrize(("interval_s", "duration_s", "field"), [(0, 1, "interval_s"), (1, float("nan"), "duration_s")])
def test_checkpoints__that_cannot_be_are_refused(interval_s: float, duration_s: float, field: str) -> None:
    with pytest.raises(ModelError, match=field):
        Checkpoints(interval_s, duration_s)
    with pytest.raises(ModelError, match="not between 0 and 1"):
        Checkpoints(1, 1).replayed_s(1.1)
