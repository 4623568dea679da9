"""The constraints that are published with the wheel: all that it may need, as the lock has it, and nothing else."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
LOCK = (PROJECT / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    script = PROJECT / "scripts" / "constraints.py"
    said = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=True).stdout.strip()
    return Path(said)


@pytest.fixture(scope="module")
def lines(file):
    return file.read_text(encoding="utf-8").splitlines()


def names(requirements):
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower().replace("_", "-") for line in requirements}


def test_constraints__are_named_after_the_version_of_airflow(file):
    airflow = re.search(r"^apache-airflow==(\S+)", LOCK, re.MULTILINE)[1]
    assert file.name == f"constraints-airflow-{airflow}.txt"


def test_constraints__pin_all_that_the_package_and_its_extras_ask_for(lines):
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    assert names([*project["dependencies"], *extras]) - {"forescale"} <= names(lines)


def test_constraints__pin_what_those_need_in_turn(lines):
    # pandas asks for pytz, mlflow for flask, and pyspark for py4j
    assert {"pytz", "flask", "py4j"} <= names(lines)


def test_constraints__bind_no_tools_of_the_tests(lines):
    assert names(lines).isdisjoint({"pytest", "hypothesis", "ruff", "mypy", "hatchling", "playwright", "uv"})


def test_constraints__are_lines_of_the_lock_without_hashes(lines):
    assert lines == sorted(set(lines), key=lines.index)
    for line in lines:
        assert f"\n{line} \\\n" in f"\n{LOCK}", line
        assert "://" not in line
