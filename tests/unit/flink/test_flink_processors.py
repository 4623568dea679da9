"""What instances share cores with, by what task managers report of themselves."""

import pytest

from engines.flink.answers import Hardware, TaskManager
from planner.clusters.flink_processors import Processor, cores_of_one, processors, shared_processors


def manager(name: str, host: str, cores: int | None) -> TaskManager:
    hardware = None if cores is None else Hardware(cores=cores)
    path = f"pekko.tcp://flink@{host}:4711/user/rpc/taskmanager_0" if host else "pekko://flink/user/rpc/taskmanager_0"
    return TaskManager(id=name, slots=2, free_slots=0, path=path, hardware=hardware)


def test_a_task_manager_alone_on_its_host__has_the_cores_that_it_sees() -> None:
    managers = [manager("a", "10.0.0.1", 2), manager("b", "10.0.0.2", 2)]
    assert processors(managers, None) == [Processor("a", ("a",), 2.0), Processor("b", ("b",), 2.0)]


def test_task_managers_of_one_host__share_its_cores() -> None:
    managers = [manager("a", "::1", 4), manager("b", "::1", 4)]
    assert processors(managers, None) == [Processor("::1", ("a", "b"), 4.0)]
    assert cores_of_one(managers) == (2.0, "2 task managers share the 4 cores of ::1")


def test_declared_cores_that_leave_the_host_some__are_a_quota_of_each() -> None:
    managers = [manager("a", "host", 2), manager("b", "host", 2)]
    # 2 · .1 < 2 cores: the quota binds. 2 · 1 = 2: the host does.
    assert processors(managers, 0.1) == [Processor("a", ("a",), 0.1), Processor("b", ("b",), 0.1)]
    assert processors(managers, 1.0) == [Processor("host", ("a", "b"), 2.0)]


def test_task_managers_of_one_process__are_left_out_as_each_reports_the_cpu_of_all() -> None:
    assert processors([manager("a", "", 2), manager("b", "", 2)], None) == []


def test_task_managers_of_different_hosts_and_sizes__have_no_one_number_of_cores() -> None:
    assert cores_of_one([manager("a", "one", 2), manager("b", "two", 4)]) == (None, "")
    assert cores_of_one([manager("a", "one", None)]) == (None, "")


def test_cpu_of_a_host__is_that_of_all_its_task_managers_over_their_spans() -> None:
    known = [Processor("host", ("a", "b"), 2.0)]
    at = {("split", 0): "a", ("count", 0): "b"}
    # 5 s of 10 s, and 6 s of 12 s: .5 + .5 cores
    shared = shared_processors(known, at, {("split", 0): 10.0, ("count", 0): 12.0}, {"a": 5.0, "b": 6.0})
    assert shared["split", 0].cores_used == pytest.approx(1.0)
    assert shared["count", 0] == shared["split", 0]


def test_a_task_manager_without_cpu__leaves_its_processor_unknown() -> None:
    known = [Processor("host", ("a", "b"), 2.0)]
    assert shared_processors(known, {("split", 0): "a"}, {("split", 0): 10.0}, {"a": 5.0}) == {}
