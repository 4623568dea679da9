"""The local cluster itself: it tells what is wrong, and it is gone when it is told to go."""

import signal
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from forescale.local.errors import LocalFlinkError, ServiceError
from forescale.local.flink.distribution import FlinkDistribution
from forescale.local.flink.example_job import example_job
from forescale.local.flink.java import find_java
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from forescale.local.flink.submission import submit_job
from forescale.places import bundled

pytestmark = [pytest.mark.flink, pytest.mark.slow]

_STARTS_AND_WAITS = """
import sys, time
from pathlib import Path
from forescale.local.flink.local_cluster import local_flink
with local_flink(Path(sys.argv[1]), slots=1) as flink:
    print(flink.url, flush=True)
    time.sleep(120)
"""


def command_lines(processes: list[str]) -> list[str]:
    """Of those that live."""
    found = []
    for process in processes:
        with suppress(OSError):
            found.append((Path("/proc") / process / "cmdline").read_text().replace("\0", " "))
    return found


def test_local_flink__stops_every_process_on_sigterm(tmp_path: Path, distribution: FlinkDistribution) -> None:
    command = [sys.executable, "-c", _STARTS_AND_WAITS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith("http://127.0.0.1:")
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        assert sorted("TaskManagerRunner" in line for line in command_lines(children)) == [False, True]
        starter.send_signal(signal.SIGTERM)
        # As Python itself ends by Ctrl-C.
        assert starter.wait(120) == -signal.SIGINT
        assert command_lines(children) == []


def test_local_flink__names_a_taken_port(tmp_path: Path, distribution: FlinkDistribution) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServiceError, match=f"port {port} on 127.0.0.1 is taken"),
            local_flink(tmp_path, rest_port=port, distribution=distribution),
        ):
            pass


def test_local_flink__that_does_not_come_up_shows_the_end_of_its_log(
    tmp_path: Path, distribution: FlinkDistribution
) -> None:
    started = time.monotonic()
    with (
        pytest.raises(LocalFlinkError, match=r"did not come up with 1 slots within 0\.1 s; the end of"),
        local_flink(tmp_path, slots=1, within_s=0.1, distribution=distribution),
    ):
        pass
    assert time.monotonic() - started < 60


def test_submit__tells_why_flink_refuses_a_job(flink: LocalFlink) -> None:
    jar = example_job(flink.java, flink.distribution, flink.folder)
    with pytest.raises(LocalFlinkError, match=r"refuses POST .*/run.*no-such-argument"):
        submit_job(flink.url, jar, {"no-such-argument": "1"})


def test_submit__tells_why_a_job_failed_as_it_started(flink: LocalFlink) -> None:
    jar = example_job(flink.java, flink.distribution, flink.folder)
    with pytest.raises(LocalFlinkError, match=r"failed as it started: .*InvalidPathException"):
        submit_job(flink.url, jar, {"rate-file": "\0", "job-name": "no such path"})


def test_submit__to_a_cluster_that_is_gone_names_its_address(flink: LocalFlink) -> None:
    jar = example_job(flink.java, flink.distribution, flink.folder)
    with pytest.raises(LocalFlinkError, match=r"http://127\.0\.0\.1:1.*does not answer POST /jars/upload"):
        submit_job("http://127.0.0.1:1", jar, {})


def test_build_script__prints_the_jar_that_it_has_built(tmp_path: Path, distribution: FlinkDistribution) -> None:
    script = bundled("examples") / "flink" / "build.sh"
    ended = subprocess.run(["bash", script, tmp_path], capture_output=True, text=True, timeout=300, check=True)
    jar = Path(ended.stdout.strip())
    assert jar.parent == tmp_path
    assert "wordcount/WordCount.class" in zipfile.ZipFile(jar).namelist()


def test_example_job__shows_what_the_compiler_says(tmp_path: Path, distribution: FlinkDistribution) -> None:
    (tmp_path / "Broken.java").write_text("class Broken { int x = }")
    with pytest.raises(LocalFlinkError, match="illegal start of expression"):
        example_job(find_java(), distribution, tmp_path / "built", sources=tmp_path)
    assert not list((tmp_path / "built").iterdir())
