"""Benchmarks lie beside files named like packages: a script takes its folder off the path before it needs those."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
SCRIPTS = {path.stem: path for path in BENCHMARKS.glob("*.py")}
HIDDEN = {"forecasting", "planner", "forescale"}
"""Packages that such a file hides, and the one that imports them."""
TAKES_OFF = "sys.path.pop(0)"


def modules(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ImportFrom):
        yield str(statement.module).partition(".")[0]
    elif isinstance(statement, ast.Import):
        yield from (each.name.partition(".")[0] for each in statement.names)


def imported_too_early(script: Path) -> list[str]:
    early = []
    for statement in ast.parse(script.read_text()).body:
        names = set(modules(statement))
        if TAKES_OFF in ast.unparse(statement):
            return early
        if any(TAKES_OFF in SCRIPTS[name].read_text() for name in (names - HIDDEN) & set(SCRIPTS)):
            return early  # the other script takes it off as it is imported
        early += sorted(names & HIDDEN)
    return early


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script__imports_packages_only_once_its_folder_no_longer_hides_them(name: str) -> None:
    assert imported_too_early(SCRIPTS[name]) == []
