"""The examples of docs/modeling/ print what its pages say."""

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "modeling"


@pytest.mark.parametrize("page", ["tutorial.md", "how-to.md", "theory.md"])
def test_examples__print_what_the_page_says(page: str) -> None:
    failed, tried = doctest.testfile(str(PAGES / page), module_relative=False)
    assert tried > 0
    assert failed == 0
