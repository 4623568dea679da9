"""Each diagnosis from the symptoms that make it, and the job that is left alone."""

from guard_bench import TERMS
from guard_windows import look, steady, window

from planner.guard.diagnoses import bottleneck, diagnoses, drains
from planner.guard.symptoms import symptoms
from planner.guard.window import Window
from planner.guard_facts import Diagnosis, DiagnosisKind


def found(of: Window) -> list[tuple[DiagnosisKind, str, int | None]]:
    made: tuple[Diagnosis, ...] = diagnoses(of, symptoms(of, TERMS), TERMS)
    return [(each.kind, each.operator, each.instance) for each in made]


def test_under_provisioned__all_instances_of_the_operator_that_holds_others_up_are_full() -> None:
    full = steady(work=(1.0, 1.0), waits=0.5)
    assert bottleneck(full) == "work"
    assert found(full) == [(DiagnosisKind.UNDER_PROVISIONED, "work", None)]


def test_under_provisioned__a_full_source_shows_no_backpressure() -> None:
    assert found(steady(read=1.0)) == [(DiagnosisKind.UNDER_PROVISIONED, "read", None)]


def test_data_skew__one_full_instance_receives_more_than_its_peers() -> None:
    skewed = steady(work=(1.0, 0.2), into=(10.0, 2.0), waits=0.5)
    assert found(skewed) == [(DiagnosisKind.DATA_SKEW, "work", 0)]


def test_slow_instance__one_full_instance_receives_as_much_as_its_peers() -> None:
    slow = steady(work=(0.5, 1.0), into=(5.0, 5.0), waits=0.5)
    assert found(slow) == [(DiagnosisKind.SLOW_INSTANCE, "work", 1)]


def test_skew__without_distress_is_no_diagnosis() -> None:
    assert found(steady(work=(0.9, 0.2), into=(9.0, 2.0))) == []


def test_skew__of_instances_that_are_all_full_is_a_lack_of_instances() -> None:
    assert found(steady(work=(1.0, 0.98), into=(10.0, 6.0), waits=0.5)) == [
        (DiagnosisKind.UNDER_PROVISIONED, "work", None)
    ]


def test_target_missed__lag_that_nothing_else_accounts_for_or_that_skew_causes() -> None:
    assert found(steady(lag_s=200.0)) == [(DiagnosisKind.TARGET_MISSED, "", None)]
    skewed = steady(work=(1.0, 0.2), into=(10.0, 2.0), waits=0.5, lag_s=200.0)
    assert [kind for kind, _, _ in found(skewed)] == [DiagnosisKind.DATA_SKEW, DiagnosisKind.TARGET_MISSED]
    full = steady(work=(1.0, 1.0), waits=0.5, lag_s=200.0)
    assert [kind for kind, _, _ in found(full)] == [DiagnosisKind.UNDER_PROVISIONED]


def test_a_backlog_that_drains_in_time__is_left_to_drain() -> None:
    # 600 fewer a minute: 6,000 that are left take ten minutes, 6,600 take eleven.
    def draining(left: float) -> Window:
        return window(
            *(look(n, work=(1.0, 1.0), waits=0.5, backlog=left + 600.0 * (2 - n), lag_s=600.0) for n in range(3))
        )

    assert drains(draining(6000.0), TERMS)
    assert found(draining(6000.0)) == []
    assert found(draining(6600.0)) == [(DiagnosisKind.UNDER_PROVISIONED, "work", None)]


def test_over_provisioned__names_the_least_busy_operator() -> None:
    assert found(steady(work=(0.2, 0.2))) == [(DiagnosisKind.OVER_PROVISIONED, "work", None)]
    assert found(steady(work=(0.5, 0.5))) == []
