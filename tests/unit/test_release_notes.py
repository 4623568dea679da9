"""The audit's answer, in its words of each case, and the notes of a release, which repeat it."""

import shutil
import subprocess
import sys
from datetime import date
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]
NONE = "No known vulnerabilities found"
FOUND = """Found 1 known vulnerability in 1 package
Name   Version ID                  Fix Versions
------ ------- ------------------- ------------
jinja2 2.4.1   GHSA-462w-v97r-4m45 2.10.1"""
UNREACHED = """  raise ConnectionError(e, request=request)
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.osv.dev', port=443): Max retries exceeded"""
UNFETCHED = """  x Failed to fetch: `https://index.test/simple/pip-audit/`
  error sending request"""
UNREADABLE = "ERROR:pip_audit._cli:requirement file requirements.lock contains invalid specifier"
"""As pip-audit 2.10.1 and uv print them."""


def audited(folder: Path, answer: str, code: int, *, fetched: bool = True) -> subprocess.CompletedProcess[str]:
    """The script in a folder of its own, with a uv whose pip-audit answers so."""
    for name in ("scripts", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(PROJECT / "scripts" / "audit.sh", folder / "scripts")
    (folder / "answer").write_text(answer + "\n")
    uv = folder / ".venv/bin/uv"
    version = "echo pip-audit 2.10.1; exit 0" if fetched else f"cat answer; exit {code}"
    uv.write_text(f'#!/bin/sh\ncase "$*" in *--version*) {version};; esac\ncat answer; exit {code}\n')
    uv.chmod(0o755)
    command = ["bash", str(folder / "scripts" / "audit.sh")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("answer", "code"), [(NONE, 0), (FOUND, 1)])
def test_audit__repeats_what_the_database_answers(tmp_path: Path, answer: str, code: int) -> None:
    done = audited(tmp_path, answer, code)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (code, answer, "")


@pytest.mark.parametrize(
    ("answer", "fetched", "reason"),
    [(UNREACHED, True, "the database osv.dev was not reached"), (UNFETCHED, False, "pip-audit could not be fetched")],
)
def test_audit__says_in_a_line_why_nothing_was_checked(tmp_path: Path, answer: str, fetched: bool, reason: str) -> None:
    done = audited(tmp_path, answer, 1, fetched=fetched)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith(f"audit: nothing was checked: {reason}: ")
    assert done.stdout.count("\n") == 1


def test_audit__of_a_lock_that_it_cannot_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    done = audited(tmp_path, UNREADABLE, 1)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", UNREADABLE)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """It lies outside the packages."""
    sys.path.insert(0, str(PROJECT / "scripts"))
    try:
        return import_module("release_notes")
    finally:
        sys.path.pop(0)


CHANGELOG = "# Changelog\n\n## [Unreleased]\n- c\n\n## [0.3.0] - 2026-12-01\n- b\n\n## [0.2.0] - 2026-11-24\n- a\n"
DAY = date(2026, 12, 1)


@pytest.mark.parametrize(
    ("audit", "shown"),
    [
        (NONE, NONE),
        (FOUND, f"```\n{FOUND}\n```"),
        ("audit: nothing was checked: the database osv.dev was not reached: x", None),
    ],
)
def test_notes__are_the_section_of_the_version_and_the_answer_of_that_day(
    script: ModuleType, audit: str, shown: str | None
) -> None:
    assert script.notes(CHANGELOG, "0.3.0", f"{audit}\n", DAY) == (
        "## [0.3.0] - 2026-12-01\n- b\n\n"
        f"### Known vulnerabilities of the locked packages, 2026-12-01\n{shown or audit}\n"
    )


def test_notes__of_a_version_without_a_section_are_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"no section \[0.4.0\]"):
        script.notes(CHANGELOG, "0.4.0", NONE, DAY)
