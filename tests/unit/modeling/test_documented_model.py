"""The examples of the pages on the performance model print what the pages say."""

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["model.md", "model-theory.md"])
def test_examples__print_what_the_page_says(page: str) -> None:
    failed, tried = doctest.testfile(str(PAGES / page), module_relative=False)
    assert tried > 0
    assert failed == 0
