"""Who owns a run, and whether they are surely gone."""

import os
import subprocess
from dataclasses import replace
from datetime import timedelta

from forecasting.tracking.run_owner import MAX_RUN_AGE, RunOwner, abandoned_because


def test_this_process__is_not_dead_and_comes_back_from_its_tags() -> None:
    owner = RunOwner.of_process(os.getpid())
    assert not owner.surely_dead()
    read = RunOwner.of_tags(owner.tags())
    assert read == replace(owner, started_at=owner.started_at.replace(microsecond=0))


def test_a_killed_process__is_dead_before_and_after_somebody_reads_its_exit_code() -> None:
    child = subprocess.Popen(["sleep", "600"])
    owner = RunOwner.of_process(child.pid)
    assert not owner.surely_dead()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert owner.surely_dead()
    child.wait()
    assert owner.surely_dead()


def test_a_pid_that_another_process_has_now__is_a_dead_owners() -> None:
    owner = RunOwner.of_process(os.getpid())
    scope, _, started = owner.process.rpartition("/")
    assert replace(owner, process=f"{scope}/{int(started) - 1}").surely_dead()


def test_of_another_machine_boot_or_container__nothing_is_sure() -> None:
    child = subprocess.Popen(["true"])
    owner = RunOwner.of_process(child.pid)
    child.wait()
    assert owner.surely_dead()
    boot, namespace, started = owner.process.split("/")
    for process in (f"other-boot/{namespace}/{started}", f"{boot}/1/{started}", ""):
        assert not replace(owner, process=process).surely_dead()


def test_a_run_of_an_unknown_owner__is_abandoned_after_the_bound_and_not_before() -> None:
    assert abandoned_because({}, MAX_RUN_AGE) == ""
    assert "has not closed it within 24 h" in abandoned_because({}, MAX_RUN_AGE + timedelta(seconds=1))
    elsewhere = replace(RunOwner.of_process(os.getpid()), host="node-2", process="other-boot/1/1").tags()
    assert abandoned_because(elsewhere, timedelta(hours=23)) == ""
    assert f"process {os.getpid()} of host node-2" in abandoned_because(elsewhere, timedelta(hours=25))
