"""Links between the pages lead to files, and to headings, where they are read in the repository.

`make docs` checks them on the site.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGES = [
    *PROJECT.glob("*.md"),
    *(page for folder in ("benchmarks", "docs", "examples") for page in PROJECT.glob(f"{folder}/**/*.md")),
]
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<file>[^)\s#:]*)(?:#(?P<anchor>[^)\s:]+))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def without_code(page: Path) -> str:
    return _CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """As Git hosts make them: lower case, spaces as hyphens, of all else letters, digits, _ and -."""
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found) for found in _HEADING.findall(without_code(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    for link in _LINK.finditer(without_code(page)):
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        if not target.exists() or (link["anchor"] and link["anchor"] not in anchors(target)):
            yield link[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links__lead_to_files_and_headings(page: Path) -> None:
    assert list(broken(page)) == []


def test_every_page__has_its_place_on_the_site() -> None:
    """`make docs` refuses others, and nobody would find them."""
    placed = set(re.findall(r"(\S+\.md)$", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {str(page.relative_to(PROJECT / "docs")) for page in PROJECT.glob("docs/**/*.md")}
    assert pages - placed == set()
