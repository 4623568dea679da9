"""Every command that the product prints or draws for people to run is one that they can run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from forescale.cli.commands import COMMANDS, RENAMED, Group
from forescale.cli.main import application

PROJECT = Path(__file__).parents[3]
PRODUCT = ("dags", "engines", "forecasting", "forescale", "modeling", "planner")
VALUE = "VALUE"
"""In place of what a text fills in."""
NAMED = re.compile(r"(?:^|[`:;] ?|\bor |\bby |\bwith |\brun )forescale ([a-z][^`;,(…\n]*)")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """String literals with their lines, adjacent ones joined, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose | inside:
            yield node.lineno, node.value


def commands() -> list[tuple[str, str]]:
    """Place and words of each."""
    return [
        (f"{path.relative_to(PROJECT)}:{line}", named)
        for top in PRODUCT
        for path in sorted((PROJECT / top).rglob("*.py"))
        for line, text in texts(path)
        for named in NAMED.findall(text)
        if named.split()[0].strip(".") in COMMANDS or (named.split()[0],) in RENAMED
    ]


def test_every_command_that_is_named__exists_with_its_options() -> None:
    found = commands()
    assert len(found) > 40
    assert [f"{place}: forescale {words}: {why}" for place, words in found if (why := unknown(words))] == []


@pytest.mark.parametrize(
    "words",
    [
        "plan edit VALUE --step 1",
        "plan --al",
        "plan show VALUE VALUE",
        "history show --dais 3",
        "edit VALUE",
        "deploy list",
    ],
)
def test_a_command_that_cannot_be_run__is_found(words: str) -> None:
    assert unknown(words)


def unknown(words: str) -> str:
    """What a command line asks for that the command does not have; empty if it has all."""
    name, *others = words.replace("'", " ").split()
    entry = COMMANDS.get(name.strip("."))
    if entry is None or (name, *others[:1]) in RENAMED:
        return "an old name"
    if isinstance(entry, Group):
        if not entry.default and not (others and others[0] in entry.commands):
            return "no command of the group"
        word = others.pop(0) if others and others[0] in entry.commands else entry.default
        command = get_command(application(name, word)).commands[name].commands[word]  # type: ignore[attr-defined]
    else:
        command = get_command(application(name)).commands[name]  # type: ignore[attr-defined]
    options = {each: parameter for parameter in command.params for each in parameter.opts} | {"--help": None}
    most = sum(1 if each.nargs == 1 else 99 for each in command.params if each.param_type_name == "argument")
    while others:
        word = others.pop(0).strip("'\".")
        if word.startswith("--"):
            if word not in options:
                return f"no option {word}"
            if not getattr(options[word], "is_flag", False):
                others = others[1:]
        elif word.isupper() or word == VALUE:
            most -= 1
        else:
            break  # the sentence goes on
    return "" if most >= 0 else "too many arguments"
