"""Nothing that decides is read back from text: no code takes apart, searches or compares a field of words."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = frozenset({"reason", "why", "note", "excuse", "verdict", "asked_because", "recorded"})
TAKES_APART = frozenset(
    {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix", "find", "index"}
)
AT_READ = ("planner/stored_versions.py", "planner/ledger/migrations")
"""Where the texts of earlier releases are read, once."""


def decisions_from_words(tree: ast.AST) -> Iterator[int]:
    """Lines that take apart, search or compare a field of words. Whether one is empty is no decision from its words."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=field), attr=method)):
                if field in WORDS and method in TAKES_APART:
                    yield node.lineno
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                held = [side for side in sides if isinstance(side, ast.Attribute) and side.attr in WORDS]
                empty = any(isinstance(side, ast.Constant) and side.value == "" for side in sides)
                if held and not empty and any(isinstance(op, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for op in ops):
                    yield node.lineno


@pytest.mark.parametrize("package", ["planner", "forescale", "dags"])
def test_no_decision__is_taken_from_words(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(AT_READ)
        for line in decisions_from_words(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'step.reason.startswith("withheld")',
        'why = step.why.partition("; ")[0]',
        '"drifted" in made.note',
        'row.verdict == "it helped"',
    ],
)
def test_a_decision_from_words__is_found(code: str) -> None:
    assert list(decisions_from_words(ast.parse(code))) == [1]
