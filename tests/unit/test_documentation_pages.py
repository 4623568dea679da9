"""The documentation stays small enough to be read: pages, words, lines, and what each page begins with."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_documentation__has_at_most_32_pages_of_42000_words_together() -> None:
    """All pages below docs/ count, with the decisions and what is generated; words are what `wc -w` counts."""
    assert len(PAGES) <= 32
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 42_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_page__begins_with_what_its_reader_can_do_after_it(page: Path) -> None:
    title, _, first, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert first.startswith("After this page ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_lines_of_prose__are_no_wider_than_100(page: Path) -> None:
    """A row of a table is one line, and a link or a span of code is not broken."""
    lines = _CODE_BLOCK.sub("", page.read_text(encoding="utf-8")).splitlines()
    prose = [line for line in lines if not line.startswith(("|", "#", ":::", "!", "["))]
    assert [line for line in prose if len(line) > 100 and len(re.findall(r"(?:`[^`]*`|[^\s`])+", line)) > 2] == []
