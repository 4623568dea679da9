"""The examples of docs/modeling.md print what it says."""

import doctest
from pathlib import Path


def test_examples__print_what_the_page_says() -> None:
    page = Path(__file__).parents[3] / "docs" / "modeling.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0
