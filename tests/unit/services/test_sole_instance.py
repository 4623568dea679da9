import subprocess
import sys
import time

import pytest

from forescale.local.errors import ServiceError
from forescale.local.sole_instance import sole_instance
from forescale.settings import SERVICES_OF

psutil = pytest.importorskip("psutil")

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_second_launcher__is_refused_while_the_first_runs(tmp_path):
    with sole_instance(tmp_path), pytest.raises(ServiceError, match="already run by another process; stop it, or set"):
        sole_instance(tmp_path).__enter__()
    with sole_instance(tmp_path):
        pass


def test_launcher__ends_what_a_killed_one_left_running_and_nothing_else(tmp_path):
    with (
        subprocess.Popen(SLEEP, env={SERVICES_OF: str(tmp_path)}) as left,
        subprocess.Popen(SLEEP, env={SERVICES_OF: str(tmp_path / "another")}) as other,
    ):
        try:
            # A process that was just forked still has our environment.
            while not all(SERVICES_OF in psutil.Process(each.pid).environ() for each in (left, other)):
                time.sleep(0.01)
            with sole_instance(tmp_path):
                # Its end has been waited for, so how it ended is no longer to be had.
                assert not psutil.pid_exists(left.pid)
                assert other.poll() is None
        finally:
            for each in (left, other):
                each.kill()


def test_launcher__ends_what_bears_a_number_that_was_another_processs_before(tmp_path):
    with subprocess.Popen(SLEEP, env={SERVICES_OF: str(tmp_path)}) as left:
        try:
            while SERVICES_OF not in psutil.Process(left.pid).environ():
                time.sleep(0.01)
            # As after all numbers have been given once: what is remembered of this one began at another time.
            remembered = next(each for each in psutil.process_iter() if each.pid == left.pid)
            remembered._ident = (left.pid, 0.0)
            with sole_instance(tmp_path):
                assert not psutil.pid_exists(left.pid)
        finally:
            left.kill()
