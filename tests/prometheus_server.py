"""A real Prometheus on loopback, in a folder of its own, with history that a test writes as OpenMetrics."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from server_process import free_ports

LOOPBACK = "127.0.0.1"


def require_prometheus() -> None:
    """Skip the test where the programs are lacking; fail where CI=true."""
    lacking = [program for program in ("prometheus", "promtool") if shutil.which(program) is None]
    if not lacking:
        return
    reason = f"{' and '.join(lacking)} not found: bash scripts/tools.sh prometheus installs them"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def openmetrics(series: Iterable[tuple[str, str, Iterable[tuple[float, float]]]]) -> str:
    """A file of counters: (name without _total, labels such as `pod="a"`, (time in s, value) of each sample)."""
    lines: dict[str, list[str]] = {}
    for name, labels, samples in series:
        family = lines.setdefault(name, [f"# TYPE {name} counter"])
        family += [f"{name}_total{{{labels}}} {value:.17g} {moment:.3f}" for moment, value in samples]
    return "\n".join([line for family in lines.values() for line in family] + ["# EOF", ""])


def backfill(folder: Path, text: str) -> None:
    """Write samples of the past into the folder of a server that does not run yet."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "history.txt").write_text(text)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet"]
    done = subprocess.run(
        [*command, folder / "history.txt", folder / "data"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def prometheus_server(folder: Path, targets: tuple[str, ...] = (), scrape_s: int = 1) -> Iterator[str]:
    """URL of a server that keeps its data in the folder and scrapes the targets (host:port)."""
    folder.mkdir(parents=True, exist_ok=True)
    config = f"global:\n  scrape_interval: {scrape_s}s\n  scrape_timeout: {scrape_s}s\n"
    listed = ", ".join(f'"{target}"' for target in targets)
    config += f"scrape_configs:\n  - job_name: feed\n    static_configs:\n      - targets: [{listed}]\n"
    (folder / "prometheus.yml").write_text(config)
    (port,) = free_ports(1)
    command: list[str | Path] = ["prometheus", f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", "--storage.tsdb.retention.time=50y"]
    command += [f"--web.listen-address={LOOPBACK}:{port}", "--log.level=warn"]
    url = f"http://{LOOPBACK}:{port}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_ready(url, server, folder / "log")
            yield url
        finally:
            server.terminate()
            server.wait(timeout=120)


def _wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path, timeout_s: float = 240) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        assert server.poll() is None, f"Prometheus has ended: {log.read_text()}"
        try:
            if httpx.get(f"{url}/-/ready", timeout=5, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, f"Prometheus is not ready after {timeout_s} s: {log.read_text()}"
        time.sleep(0.1)
