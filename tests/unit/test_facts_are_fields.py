"""Nothing that decides is read back from text: no code takes apart, searches or compares words for people."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = frozenset(
    {"reason", "why", "note", "excuse", "remedy", "verdict", "message", "sentence", "detail", "asked_because"}
)
"""Names of fields and variables that hold words for people."""
ERRORS = frozenset({"error", "excuse", "failure", "step", "cause", "drift", "ailment"})
"""Names of variables whose text is words for people."""
TAKES_APART = frozenset(
    {
        "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix",
        "find", "rfind", "index", "rindex",
    }
)  # fmt: skip
SEARCHES = frozenset({"match", "fullmatch", "search", "findall", "finditer", "split", "sub"})
"""Functions of `re`, and methods of a pattern, that take the text last."""
AT_READ = ("planner/stored_versions.py", "planner/ledger/migrations")
"""Where the texts of earlier releases are read, once."""
FOREIGN = {
    "engines/flink/rest.py",  # texts of Flink
    "engines/kubernetes/identity.py",  # texts of a login program
    "engines/kubernetes/server.py",  # texts of Kubernetes
    "forecasting/arrivals/counting/spark_rows.py",  # texts of Python and Spark
    "forecasting/arrivals/spark_session.py",  # texts of Spark
    "forecasting/tracking/store_access.py",  # texts of MLflow and its databases
    "forescale/doctor/examination.py",  # shows what follows the last "; " in a line of its own, and decides nothing
    "forescale/local/home_folder.py",  # a text of the operating system
}
"""Where a text that is not ours is shortened or recognised, or a text is laid out."""


def decisions_from_words(tree: ast.AST) -> Iterator[int]:
    """Lines that take apart, search or compare words. Whether there are any is no decision from their wording."""
    for node in ast.walk(tree):
        match node:
            # Without an argument, split only normalises white space.
            case ast.Call(func=ast.Attribute(value=held, attr=method), args=[_, *_]):
                searched = method in SEARCHES and any(map(_is_words, node.args))
                if searched or (method in TAKES_APART and _is_words(held)):
                    yield node.lineno
            case ast.Match(subject=subject) if _is_words(subject):
                yield node.lineno
            case ast.Compare(left=left, ops=ops, comparators=others):
                for before, op, after in zip([left, *others], ops, others, strict=False):
                    if _compares_words(before, op, after):
                        yield node.lineno


def _compares_words(before: ast.expr, op: ast.cmpop, after: ast.expr) -> bool:
    """Whether words equal some text, contain some text or are among some texts. That a list has a note already is no
    matter of its wording.
    """
    match op:
        case ast.Eq() | ast.NotEq():
            sides = (before, after)
            return not any(_is_empty(side) for side in sides) and any(_is_words(s) or _is_sentence(s) for s in sides)
        case ast.In() | ast.NotIn():
            among = isinstance(after, ast.Tuple | ast.Set | ast.List) and any(map(_is_text, after.elts))
            return _is_words(after) or _is_sentence(before) or (_is_words(before) and among)
    return False


def _is_words(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in WORDS | {"recorded"}
        case ast.Name(id=name):
            return name in WORDS
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in ERRORS
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == ""


def _is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()


@pytest.mark.parametrize("package", ["planner", "modeling", "forecasting", "engines", "forescale", "dags", "scripts"])
def test_no_decision__is_taken_from_words(package: str) -> None:
    found = [
        f"{name}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if not (name := str(path.relative_to(ROOT))).startswith(AT_READ) and name not in FOREIGN
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
        "own = [note for note in notes if note.startswith(SIBLINGS)]",
        'reason, remedy = str(error).split(": ", 1)',
        "if place in str(error): raise",
        'found = re.search(r"ratio (.*)", score.reason)',
        "bound = BOUND.search(str(error))",
        'match turn.why:\n    case "nothing ails": pass',
        'asked = [each for each in lines if each.label == "Asked of you"]',
    ],
)
def test_a_decision_from_words__is_found(code: str) -> None:
    assert list(decisions_from_words(ast.parse(code))) == [1]


@pytest.mark.parametrize(
    "code",
    [
        '" ".join(str(error).split())',
        'if one.note != "": show(one)',
        "if why: show(why)",
        "notes += [note for note in more if note not in notes]",
    ],
)
def test_white_space_emptiness_and_repetition__are_no_wording(code: str) -> None:
    assert list(decisions_from_words(ast.parse(code))) == []
