"""A benchmark is a script of a folder whose modules are named like packages, so it takes that folder off the path."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
PACKAGES = {"engines", "forecasting", "forescale", "modeling", "planner"}


def _package_lines(tree: ast.Module) -> Iterator[int]:
    """Where a module of the project is imported at the top of a file."""
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(module)):
                names = [module]
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case _:
                continue
        if any(name.partition(".")[0] in PACKAGES for name in names):
            yield node.lineno


@pytest.mark.parametrize("script", sorted(path.name for path in BENCHMARKS.glob("*.py")))
def test_a_script_that_takes_its_folder_off_the_path__imports_no_package_before(script: str) -> None:
    text = (BENCHMARKS / script).read_text()
    off = next((at for at, line in enumerate(text.splitlines(), 1) if "sys.path.pop(0)" in line), 0)
    assert all(line > off for line in _package_lines(ast.parse(text)))
