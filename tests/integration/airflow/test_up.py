"""`make up` as a process: both services answer, and a signal to the launcher leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import time

import httpx
import psutil
import pytest
from day_and_night import install

from forescale.local.airflow.environment import forescale_environment

pytestmark = [pytest.mark.airflow, pytest.mark.mlflow, pytest.mark.slow]

LAUNCH = """
from forescale.local.up import up
from forescale.settings import Settings
up(Settings(), lambda line: print(line, flush=True), airflow_port=0, mlflow_port=0)
"""


def test_up__serves_both_pages_and_leaves_nothing_behind_after_a_signal(tmp_path):
    pytest.importorskip("airflow")
    environment = {**os.environ, **forescale_environment(install(tmp_path).settings)}
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCH], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as launcher:
        assert launcher.stdout is not None
        said = []
        for line in launcher.stdout:
            said.append(line)
            if line.startswith("Ctrl-C"):
                break
        urls = re.findall(r"http://127\.0\.0\.1:\d+", "".join(said))
        assert len(urls) == 2, "".join(said)
        answers = [httpx.get(url, trust_env=False, follow_redirects=True, timeout=30).status_code for url in urls]
        services = psutil.Process(launcher.pid).children(recursive=True)
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=60)
    assert answers == [200, 200]
    assert len(services) >= 5
    assert launcher.returncode == 0
    deadline = time.monotonic() + 5
    while left := [process for process in services if process.is_running() and process.status() != "zombie"]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
