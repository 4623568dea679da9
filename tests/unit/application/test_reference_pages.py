"""The pages of docs/reference that follow from the code say what the code says."""

import runpy
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]


@pytest.mark.slow
def test_reference_pages__are_those_of_the_code() -> None:
    pages = runpy.run_path(str(PROJECT / "scripts" / "reference_pages.py"))["pages"]()
    kept = {name: (PROJECT / "docs" / "reference" / name).read_text(encoding="utf-8") for name in pages}
    assert pages == kept, "after a change of commands or settings: python scripts/reference_pages.py"
