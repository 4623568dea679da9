"""What waits at sources, from metrics of which two readings are told: hand arithmetic, and what Flink does not tell."""

import math

import pytest
from unit.flink.metered_flink import MeteredFlink

from planner.clusters.cluster import SourceBacklog
from planner.clusters.flink_backlog import QueueReading, source_backlog


def test_lag__is_how_long_it_takes_until_so_many_come() -> None:
    # In 10 s the source took in 2000 and 600 more wait than before: 2600 came, 260 a second. Of 1200 that wait the
    # oldest came 1200 / 260 s ago.
    found = source_backlog("sentences", QueueReading(100.0, 600.0, 1000.0), QueueReading(110.0, 1200.0, 3000.0))
    assert found == SourceBacklog(1200.0, pytest.approx(1200 / 260))
    # 500 fewer wait, and 2000 were taken in: 1500 came, 150 a second.
    falling = source_backlog("sentences", QueueReading(100.0, 600.0, 1000.0), QueueReading(110.0, 100.0, 3000.0))
    assert falling == SourceBacklog(100.0, pytest.approx(100 / 150))


def test_lag__is_zero_where_nothing_waits_even_if_nothing_comes() -> None:
    assert source_backlog("a", QueueReading(1.0, 0.0, 5.0), QueueReading(11.0, 0.0, 5.0)) == SourceBacklog(0.0, 0.0)


def test_lag__is_unknown_where_tuples_wait_and_none_comes() -> None:
    found = source_backlog("a", QueueReading(1.0, 40.0, 5.0), QueueReading(11.0, 40.0, 5.0))
    assert (found.tuples, found.lag_s) == (40.0, None)
    assert found.unmeasured == (
        "40 tuples wait at source 'a', and none arrived for 10 s: how long they have waited is unknown"
    )


@pytest.mark.parametrize("counts", ["numRecordsIn", "numRecordsOut"])
@pytest.mark.parametrize("sources", [1, 2])
def test_backlogs__are_of_two_readings_that_are_far_enough_apart(counts: str, sources: int) -> None:
    # What was collected 0 and 4 s later is too near; after 10 s 800 were taken in and 400 more wait: 120 a second.
    flink = MeteredFlink(
        (50.0, 200.0, 3000.0),
        (50.0, 200.0, 3000.0),
        (54.0, 360.0, 3320.0),
        (60.0, 600.0, 3800.0),
        counts=counts,
        sources=sources,
    )
    assert flink.backlog() == SourceBacklog(600.0, pytest.approx(600 / 120))
    assert flink.waited_s == 6.0


def test_backlogs__of_a_slow_source_are_read_for_longer() -> None:
    # 8 taken in and 2 more waiting after 10 s are too few; after 20 s it is 100 and 10: 5.5 a second.
    flink = MeteredFlink((5.0, 10.0, 0.0), (15.0, 12.0, 8.0), (25.0, 20.0, 100.0))
    assert flink.backlog() == SourceBacklog(20.0, pytest.approx(20 / 5.5))
    assert flink.waited_s == 4.0
    # With no more than those 10 in 10 s, that is what is known.
    slow = MeteredFlink((5.0, 10.0, 0.0), (15.0, 12.0, 8.0))
    assert slow.backlog() == SourceBacklog(12.0, pytest.approx(12.0))
    assert slow.waited_s == 40.0
    # Where nothing waits, no rate is needed.
    idle = MeteredFlink((5.0, 1.0, 0.0), (15.0, 0.0, 1.0))
    assert idle.backlog() == SourceBacklog(0.0, 0.0)
    assert idle.waited_s == 2.0


def test_backlogs__begin_anew_where_the_job_was_restarted_meanwhile() -> None:
    # The first is of before the restart. After it 300 were taken in and 100 fewer wait, in 10 s: 20 a second.
    flink = MeteredFlink((500.0, 10.0, 90_000.0), (2.0, 700.0, 60.0), (12.0, 600.0, 360.0))
    assert flink.backlog() == SourceBacklog(600.0, pytest.approx(600 / 20))


def test_backlogs__of_before_a_restart_are_not_those_of_now() -> None:
    # 8 taken in and 2 more waiting are too few to know the rate well; then the job is restarted, and nothing moves on.
    found = MeteredFlink((50.0, 10.0, 900.0), (60.0, 12.0, 908.0), (2.0, 700.0, 60.0)).backlog()
    assert (found.tuples, found.lag_s) == (None, None)
    assert "collected no metrics of it twice" in found.unmeasured


def test_backlogs__wait_until_metrics_of_all_subtasks_have_come() -> None:
    # At first one of two subtasks tells of itself alone: from there on 4500 would seem to have come. In the 10 s after
    # it 2000 were taken in, and as many wait as before.
    flink = MeteredFlink((10.0, 500.0, 1000.0, 1.0), (12.0, 1000.0, 3000.0), (22.0, 1000.0, 5000.0), sources=2)
    assert flink.backlog() == SourceBacklog(1000.0, pytest.approx(1000 / 200))


def test_backlogs__wait_for_metrics_that_flink_has_not_collected_yet() -> None:
    flink = MeteredFlink((math.nan, math.nan, 0.0), (1.0, 0.0, 0.0), (11.0, 0.0, 500.0))
    assert flink.backlog() == SourceBacklog(0.0, 0.0)


def test_backlogs__of_metrics_that_stand_still_are_unknown_after_a_time() -> None:
    flink = MeteredFlink((5.0, 0.0, 0.0))
    found = flink.backlog()
    assert (found.tuples, found.lag_s) == (None, None)
    assert found.unmeasured == "source 'sentences': Flink collected no metrics of it twice, 8 s apart, within 40 s"
    assert flink.waited_s == 40.0


def test_backlogs__of_a_source_that_publishes_nothing_are_unknown_at_once() -> None:
    flink = MeteredFlink((5.0, math.nan, 0.0))
    found = flink.backlog()
    assert (found.tuples, found.lag_s) == (None, None)
    assert found.unmeasured.startswith("source 'sentences' publishes no pendingRecords: its connector does not report")
    assert flink.waited_s == 0.0


def test_backlogs__of_a_job_that_does_not_run_are_unknown() -> None:
    flink = MeteredFlink((5.0, 0.0, 0.0))
    flink.job["state"] = "RESTARTING"
    assert (
        "job 'word-count' of Flink at http://flink:8081 is RESTARTING; its backlog is known only while all its"
        in flink.backlog().unmeasured
    )
