"""Flink's own autoscaler, compiled with our realizer and a program that asks it case by case."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence

import pytest

from forescale.local.errors import LocalFlinkError
from forescale.local.flink.java import find_java
from forescale.settings import PROJECT

HARNESS = PROJECT / "tests" / "flink_autoscaler"
REALIZER = PROJECT / "engines" / "flink" / "autoscaler" / "src" / "main" / "java"
CACHE = PROJECT / ".cache" / "flink_autoscaler"


def _class_path() -> str:
    """The library before its dependencies, as it brings its own versions of some of Flink's classes."""
    found = re.search(r"<flink_autoscaler\.version>(.*)</", (HARNESS / "pom.xml").read_text(encoding="utf-8"))
    assert found is not None, f"{HARNESS / 'pom.xml'} names no flink_autoscaler.version"
    home = CACHE / found[1]
    if not home.is_dir():
        raise LocalFlinkError(f"no Flink autoscaler in {home}; run: bash scripts/tools.sh flink_autoscaler")
    return f"{home / f'flink-autoscaler-{found[1]}.jar'}:{home}/*"


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """From cases, one JSON line each, to the decisions of each, likewise; with an argument, to all defaults.

    Without the library or Java, tests are skipped with the reason, but fail where CI=true.
    """
    try:
        java, class_path = find_java(), _class_path()
    except LocalFlinkError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    classes = str(tmp_path_factory.mktemp("classes"))
    sources = [str(HARNESS / "AutoscalerCases.java"), *map(str, sorted(REALIZER.rglob("*.java")))]
    compiler = [java.javac, "-proc:none", "-Xlint:all,-processing", "-Werror", "--release", "11"]
    subprocess.run([*compiler, "-cp", class_path, "-d", classes, *sources], check=True, timeout=120)
    program = "org.apache.flink.autoscaler.AutoscalerCases"
    command = [java.java, "-XX:+UseSerialGC", "-Xmx256m", "-cp", f"{classes}:{class_path}", program]

    def ask(cases: Sequence[str], *arguments: str) -> list[str]:
        told = "\n".join(cases)
        done = subprocess.run([*command, *arguments], input=told, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.splitlines()

    return ask
