"""Nothing that decides is read back from text: no code takes apart, searches or compares words for people."""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = frozenset(
    {"reason", "why", "note", "excuse", "remedy", "verdict", "message", "sentence", "detail", "asked_because"}
)
"""Names of fields and variables that hold words for people."""
LISTS_OF_WORDS = frozenset(
    {"notes", "sibling_notes", "reasons", "remedies", "messages", "sentences", "warnings", "alarms", "details"}
)
"""Names of fields and variables that hold several words for people."""
ERRORS = frozenset({"error", "excuse", "failure", "step", "cause", "drift", "ailment", "refusal", "warning", "alarm"})
"""Names of variables whose text is words for people, beside those that handlers give to exceptions."""
AS_THEY_ARE = frozenset(
    {"lower", "upper", "casefold", "strip", "lstrip", "rstrip", "split", "splitlines", "capitalize", "title", "encode"}
)
"""Methods whose result holds the same words."""
TAKES_APART = frozenset(
    {
        "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix",
        "find", "rfind", "index", "rindex",
    }
)  # fmt: skip
SEARCHES = frozenset({"match", "fullmatch", "search", "findall", "finditer", "split", "sub"})
"""Functions of `re`, and methods of a pattern, that take the text last."""
DIGESTS = frozenset({"sha256", "sha1", "md5", "blake2b", "crc32"})
AT_READ = ("planner/stored_versions.py", "planner/ledger/migrations", "forecasting/forecast_file.py:notes_by_field")
"""Where the texts of earlier releases are read, once: files and folders, or one function of a file."""
FOREIGN = {
    "engines/flink/rest.py",  # texts of Flink
    "engines/kubernetes/identity.py",  # texts of a login program
    "engines/kubernetes/server.py",  # texts of Kubernetes
    "forecasting/arrivals/counting/spark_rows.py",  # texts of Python and Spark
    "forecasting/arrivals/spark_session.py",  # texts of Spark
    "forecasting/tracking/store_access.py",  # texts of MLflow and its databases
    "forescale/local/home_folder.py",  # a text of the operating system
}
"""Where a text that is not ours is shortened or recognised."""


def decisions_from_words(tree: ast.AST) -> Iterator[int]:
    """Lines that take apart, search, compare, look up or digest words. Whether there are any is no decision from their
    wording.
    """
    tree = _NamedNote().visit(tree)
    errors = ERRORS | {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    for node in ast.walk(tree):
        match node:
            # Without an argument, split only normalises white space.
            case ast.Call(func=ast.Attribute(value=held, attr=method), args=[_, *_]):
                searched = method in SEARCHES and any(_is_words(each, errors) for each in node.args)
                looked_up = method == "get" and _is_key_of_words(node.args[0], errors)
                digested = method in DIGESTS and any(_is_words(each, errors) for each in ast.walk(node.args[0]))
                if searched or looked_up or digested or (method in TAKES_APART and _is_words(held, errors)):
                    yield node.lineno
            case ast.Match(subject=subject) if _is_words(subject, errors):
                yield node.lineno
            case ast.Subscript(slice=key, ctx=ast.Load()) if _is_key_of_words(key, errors):
                yield node.lineno
            case ast.Compare(left=left, ops=ops, comparators=others):
                for before, op, after in zip([left, *others], ops, others, strict=False):
                    if _compares_words(before, op, after, errors):
                        yield node.lineno


class _NamedNote(ast.NodeTransformer):
    """Calls what a loop takes from a list of words by the name of words, within that loop."""

    def visit(self, node: ast.AST) -> ast.AST:
        loops: list[ast.For | ast.comprehension] = []
        match node:
            case ast.For():
                loops = [node]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                loops = node.generators
        taken = {loop.target.id for loop in loops if isinstance(loop.target, ast.Name) and _is_list_of_words(loop.iter)}
        for name in ast.walk(node) if taken else ():
            if isinstance(name, ast.Name) and name.id in taken:
                name.id = "note"
        return self.generic_visit(node)


def _is_list_of_words(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) in LISTS_OF_WORDS


def _compares_words(before: ast.expr, op: ast.cmpop, after: ast.expr, errors: Set[str]) -> bool:
    """Whether words equal some text, contain some text or are among some texts. That a list has a note already is no
    matter of its wording.
    """
    match op:
        case ast.Eq() | ast.NotEq():
            sides = (before, after)
            return not any(_is_empty(side) for side in sides) and any(
                _is_words(each, errors) or _is_sentence(each) for each in sides
            )
        case ast.In() | ast.NotIn():
            among = isinstance(after, ast.Tuple | ast.Set | ast.List) and any(map(_is_text, after.elts))
            return _is_words(after, errors) or _is_sentence(before) or (_is_words(before, errors) and among)
    return False


def _is_words(node: ast.AST, errors: Set[str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="args"):
            return name in errors
        case ast.Attribute(attr=name):
            return name in WORDS | {"recorded"}
        case ast.Name(id=name):
            return name in WORDS
        case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]):
            return name in errors
        case ast.Call(func=ast.Attribute(value=held, attr=method)):
            return method in AS_THEY_ARE and _is_words(held, errors)
        case ast.Subscript(value=held):
            return _is_words(held, errors)
        case ast.JoinedStr(values=parts):
            return any(isinstance(part, ast.FormattedValue) and _is_words_in_text(part.value, errors) for part in parts)
    return False


def _is_key_of_words(node: ast.expr, errors: Set[str]) -> bool:
    """Kinds of quarantine and of verdicts are keys, and are called reason and verdict."""
    is_kind = isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and node.attr == "verdict")
    return not is_kind and _is_words(node, errors)


def _is_words_in_text(node: ast.expr, errors: Set[str]) -> bool:
    return _is_words(node, errors) or (isinstance(node, ast.Name) and node.id in errors)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == ""


def _is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip()


def _without_readers(tree: ast.Module, file: str) -> ast.Module:
    """Without the functions that read the texts of earlier releases."""
    tree.body = [node for node in tree.body if f"{file}:{getattr(node, 'name', '')}" not in AT_READ]
    return tree


@pytest.mark.parametrize("package", ["planner", "modeling", "forecasting", "engines", "forescale", "dags", "scripts"])
def test_no_decision__is_taken_from_words(package: str) -> None:
    found = [
        f"{name}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if not (name := str(path.relative_to(ROOT))).startswith(AT_READ) and name not in FOREIGN
        for line in decisions_from_words(_without_readers(ast.parse(path.read_text(encoding="utf-8")), name))
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
        "own = [each for each in made.notes if each.startswith(SIBLINGS)]",
        'for each in reasons:  late = each.endswith("late")',
        'held = any("is held" in each for each in turn.reasons)',
        'reason, remedy = str(error).split(": ", 1)',
        "if place in str(error): raise",
        'found = re.search(r"ratio (.*)", score.reason)',
        "bound = BOUND.search(str(error))",
        'match turn.why:\n    case "nothing ails": pass',
        'asked = [each for each in lines if each.label == "Asked of you"]',
        "kind = KINDS[step.reason]",
        "kind = KINDS.get(str(error).lower())",
        'late = "late" in step.why.lower().split()',
        'if f"{error}".startswith("no "): raise',
        'if error.args[0].endswith("again"): raise',
        'if step.reason[:4] == "held": pass',
        'digest = hashlib.sha256(f"{plan}|{why}".encode())',
    ],
)
def test_a_decision_from_words__is_found(code: str) -> None:
    assert list(decisions_from_words(ast.parse(code))) == [1]


def test_the_text_of_an_exception__is_words_whatever_a_handler_calls_it() -> None:
    code = 'try:\n    ask()\nexcept OSError as gone:\n    again = "busy" in str(gone)'
    assert list(decisions_from_words(ast.parse(code))) == [4]


@pytest.mark.parametrize(
    "code",
    [
        '" ".join(str(error).split())',
        'if one.note != "": show(one)',
        "if why: show(why)",
        "shown = [sentence(each) for each in notes]",
        'count = [each for each in notes]; late = [each for each in columns if each.startswith("late")]',
        "notes += [note for note in more if note not in notes]",
    ],
)
def test_white_space_emptiness_and_repetition__are_no_wording(code: str) -> None:
    assert list(decisions_from_words(ast.parse(code))) == []
