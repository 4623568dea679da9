"""A replay that is broken off leaves no process behind, and goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psutil
import pytest

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("forescale")
TOPOLOGY = """
topology: calls
operators:
  ingest: {service_s: 0.0001}
  work: {service_s: 0.1}
streams:
  - {from: ingest, to: work}
"""
POLICIES = "static-half,hpa-50,hpa-70,dhalion,ds2,flink-autoscaler"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "calls.yaml").write_text(TOPOLOGY)
    start = datetime(2024, 3, 4, tzinfo=UTC)
    rate = 40 - 35 * np.cos(2 * np.pi * np.arange(8 * 288) / 288)
    rows = [f"{start + timedelta(minutes=5 * at):%Y-%m-%dT%H:%M:%SZ},{each * 300:.0f}" for at, each in enumerate(rate)]
    (tmp_path / "trace.csv").write_text("\n".join(["timestamp,count", *rows, ""]))
    return tmp_path


def _asked(folder: Path) -> "subprocess.Popen[str]":
    # What runs in the background of a shell ignores Ctrl-C, and so would its children.
    asked = ["env", "--default-signal=INT", COMMAND, "replay", "calls.yaml", "--trace", "trace.csv"]
    asked += ["--policies", POLICIES, "--workers", "2"]
    environment = os.environ | {"FORESCALE_HOME": str(folder / "home"), "FORESCALE_MLRUNS": str(folder / "mlruns")}
    return subprocess.Popen(asked, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def _broken_off(folder: Path, with_signal: signal.Signals) -> list[psutil.Process]:
    """Once one policy is done and others are not. Those whom the command had begun."""
    process, until_s = _asked(folder), time.monotonic() + 300
    while not _done(folder) and process.poll() is None and time.monotonic() < until_s:
        time.sleep(0.1)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(with_signal)
    _, told = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "Traceback" not in told
    return children


def _done(folder: Path) -> dict[str, int]:
    """When each that is kept was written."""
    kept = (folder / "home" / "replay" / "done").glob("*.decisions.parquet")
    return {path.name: path.stat().st_mtime_ns for path in kept}


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_replay_that_is_broken_off__leaves_nobody_behind(folder: Path, with_signal: signal.Signals) -> None:
    children = _broken_off(folder, with_signal)
    assert len(children) >= 2
    assert psutil.wait_procs(children, timeout=120)[1] == []
    assert not (folder / "home" / "replay" / "calls.parquet").exists()


def test_a_replay_that_was_broken_off__goes_on_where_it_was(folder: Path) -> None:
    _broken_off(folder, signal.SIGINT)
    written = _done(folder)
    process = _asked(folder)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    done = _done(folder)
    assert len(done) == len(POLICIES.split(",")) > len(written)
    assert {name: done[name] for name in written} == written
