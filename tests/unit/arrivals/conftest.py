"""Rows of arrival history, written as one would say them."""

from pathlib import Path

import pytest
from history_rows import RowsFrom, WriteFrom, rows_of_hours, writer_into


@pytest.fixture
def rows_from() -> RowsFrom:
    return rows_of_hours


@pytest.fixture
def write_from(tmp_path: Path) -> WriteFrom:
    return writer_into(tmp_path)
