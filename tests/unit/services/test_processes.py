import signal
import sys
import time

import psutil
import pytest
from live_process import alive

from forescale.local.errors import ServiceError
from forescale.local.processes import Processes, ended_by_signals, left_of

# A parent whose child leaves the parent's process group, as Airflow's tasks do, and ignores requests to end.
FAMILY = """
import os, signal, sys, time
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
time.sleep(600)
"""


def child_of(processes, name):
    deadline = time.monotonic() + 60
    while not (text := processes.log(name).read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(text)


def test_stop__ends_children_in_other_process_groups_that_do_not_listen(tmp_path):
    with Processes(tmp_path, grace_s=0.3) as processes:
        parent = processes.start("family", [sys.executable, "-c", FAMILY], {})
        child = child_of(processes, "family")
        assert alive(child)
    assert not alive(parent)
    assert not alive(child)


def test_kill__leaves_the_others_running(tmp_path):
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    with Processes(tmp_path) as processes:
        gone, stays = processes.start("gone", sleep, {}), processes.start("stays", sleep, {})
        processes.kill("gone")
        assert not alive(gone)
        assert alive(stays)
        processes.check()


def test_check__shows_the_log_of_a_process_that_ended_by_itself(tmp_path):
    with Processes(tmp_path) as processes:
        processes.start("broken", [sys.executable, "-c", "raise SystemExit('no such port')"], {})
        processes.running["broken"].wait()
        with pytest.raises(ServiceError, match=r"broken ended with code 1; the end of .*broken\.log:\nno such port"):
            processes.check()


def test_left_of__knows_a_process_again_after_the_clock_was_set(tmp_path, monkeypatch):
    with Processes(tmp_path) as processes:
        pid = processes.start("stays", [sys.executable, "-c", "import time; time.sleep(600)"], {})
        began = psutil.boot_time()
        # Linux tells when it booted by its clock: an hour on, all processes seem to have begun an hour later.
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: began + 3600)
        assert left_of(tmp_path) == [pid]
    assert list(tmp_path.glob("*.session")) == []


def test_sigterm__unwinds_the_stack_like_ctrl_c():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
