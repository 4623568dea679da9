"""A pytest plugin under which pages and commands say everything in other words: each e of a sentence is an ë.

    PYTHONPATH=tests pytest -p changed_words tests/unit/guard

Ids, states and what is decided stay as they are, so only tests of pages and of what commands print may fail.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import pytest
from word_modules import WORDED


class _OtherWords(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        text = node.value
        if isinstance(text, str) and " " in text.strip() and "<" not in text and ".js" not in text:
            return ast.copy_location(ast.Constant(text.replace("e", "ë")), node)
        return node


class _Loader(SourceFileLoader):
    """Compiles anew, past what Python has stored."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = _OtherWords().visit(ast.parse(self.get_data(path), path))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in WORDED:
            return None
        spec: Any = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """For the rest of the process."""
    sys.meta_path.insert(0, _Finder())


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Called for a plugin alone: the collection of doctests imports this module too, and must change nothing."""
    install()
