"""What is said when Java or Flink's jars are not as they should be."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forescale.local.errors import LocalFlinkError
from forescale.local.flink import distribution
from forescale.local.flink.distribution import flink_distribution
from forescale.local.flink.java import find_java
from forescale.places import bundled

_ZEROS = "0" * 64


def jdk(folder: Path, version_line: str) -> Path:
    """A JDK whose `java -version` says that."""
    (folder / "bin").mkdir(parents=True)
    for name in ("java", "javac", "jar"):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("line", "version"), [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "25"', 25)])
def test_find_java__reads_the_major_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, version: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk(tmp_path / "jdk", line)))
    java = find_java()
    assert java.version == version
    assert java.javac == tmp_path / "jdk" / "bin" / "javac"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('java version "1.8.0_392"', "is Java 8 < 17; install a JDK"),
        ('openjdk version "11.0.2"', "is Java 11 < 17; install a JDK"),
        ("Segmentation fault", "does not report its version"),
    ],
)
def test_find_java__refuses_what_flink_does_not_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk(tmp_path / "jdk", line)))
    with pytest.raises(LocalFlinkError, match=message):
        find_java()


def test_find_java__without_any_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalFlinkError, match=r"no java in PATH; install a JDK of version 17"):
        find_java()


def test_build_script__says_what_is_missing_in_one_line(tmp_path: Path) -> None:
    script = bundled("examples") / "flink" / "build.sh"
    ended = subprocess.run(
        ["bash", script, tmp_path / "built"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: no java in JAVA_HOME={tmp_path}; install a JDK of version 17")


def test_distribution__that_cannot_be_fetched_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    lock = tmp_path / "flink.lock"
    lock.write_text(f"apache-flink-libraries==0.0.1 --hash=sha256:{_ZEROS}\n")
    with pytest.raises(LocalFlinkError, match=r"could not be fetched as .*flink\.lock asks; check the network"):
        flink_distribution(tmp_path / "cache", lock)
    assert [left.suffix for left in (tmp_path / "cache").iterdir()] == [".lock"]


def test_distribution__is_fetched_once_by_all_who_need_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer = tmp_path / "installer"
    installer.write_text(
        f"#!/bin/sh\necho run >> {tmp_path}/runs\nsleep .2\nmkdir -p $3/pyflink/bin $3/pyflink/lib\n"
        "touch $3/pyflink/bin/bash-java-utils.jar $3/pyflink/lib/flink-dist-0.0.1.jar\n"
    )
    installer.chmod(0o755)
    monkeypatch.setattr(distribution, "_installer", lambda: [str(installer)])
    lock = tmp_path / "flink.lock"
    lock.write_text(f"apache-flink-libraries==0.0.1 --hash=sha256:{_ZEROS}\n")
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: flink_distribution(tmp_path / "cache", lock), range(4)))
    assert len(found) == 1
    assert (tmp_path / "runs").read_text() == "run\n"


def test_distribution__that_is_not_whole_says_what_to_delete(tmp_path: Path) -> None:
    lock = tmp_path / "flink.lock"
    lock.write_text(f"apache-flink-libraries==2.3.0 --hash=sha256:{_ZEROS}\n")
    (tmp_path / "apache-flink-libraries-2.3.0").mkdir()
    with pytest.raises(LocalFlinkError, match="holds no complete Flink; delete that folder"):
        flink_distribution(tmp_path, lock)


def test_distribution__needs_a_lock_that_names_one_version(tmp_path: Path) -> None:
    lock = tmp_path / "flink.lock"
    lock.write_text("apache-flink-libraries\n")
    with pytest.raises(LocalFlinkError, match=r"flink\.lock holds no line"):
        flink_distribution(tmp_path, lock)
