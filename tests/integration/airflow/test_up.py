"""`forescale up --home` as a process: both services answer, at the same addresses after a kill, and end by a signal."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import psutil
import pytest

from forescale.local.home_folder import make_home
from forescale.local.ports import free_port

pytestmark = [pytest.mark.airflow, pytest.mark.mlflow, pytest.mark.slow]

FORESCALE = (sys.executable, "-c", "from forescale.cli import main; main()")


@pytest.fixture
def command(tmp_path):
    home = tmp_path / "home"
    make_home(home)
    ports = ["--port", str(free_port(18080)), "--mlflow-port", str(free_port(15000))]
    return [*FORESCALE, "up", "--home", str(home), *ports]


@contextmanager
def launched(command):
    """The launcher once it has said that all is up, and what it has said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as launcher:
        try:
            assert launcher.stdout is not None
            said = []
            for line in launcher.stdout:
                said.append(line)
                if line.startswith("Ctrl-C"):
                    break
            yield launcher, re.findall(r"http://127\.0\.0\.1:\d+", "".join(said)), "".join(said)
        finally:
            launcher.terminate()


def test_up__serves_a_home_again_after_a_kill_and_leaves_nothing_behind_after_a_signal(command):
    pytest.importorskip("airflow")
    with launched(command) as (launcher, first_urls, said):
        assert len(first_urls) == 3, said
        launcher.kill()
        launcher.communicate(timeout=60)
    with launched(command) as (launcher, urls, said):
        assert urls == first_urls, said
        pages = httpx.get(f"{urls[0]}/scaling/", trust_env=False, timeout=30)
        answers = [httpx.get(url, trust_env=False, follow_redirects=True, timeout=30).status_code for url in urls]
        services = psutil.Process(launcher.pid).children(recursive=True)
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=60)
    assert answers == [200, 200, 200]
    assert pages.status_code == 401
    assert len(services) >= 5
    assert launcher.returncode == 0
    deadline = time.monotonic() + 5
    while left := [process for process in services if process.is_running() and process.status() != "zombie"]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_up__refuses_a_folder_that_is_no_home(tmp_path):
    done = subprocess.run([*FORESCALE, "up", "--home", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path} holds no forescale.env" in done.stderr
