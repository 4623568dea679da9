"""Where a contract of the history's store finds its history, and the files in which that lies."""

import os
from pathlib import Path

import pytest
from history_rows import RowsFrom, WriteFrom, rows_of_hours, writer_into

from forecasting.arrivals.storage.directory import Directory, S3Directory


class HistoryDirectory:
    """Fixtures: directory, as the store is given it, and kept, the folder in which its files lie."""

    @pytest.fixture
    def directory(self) -> Directory:
        raise NotImplementedError

    @pytest.fixture
    def kept(self) -> Path:
        raise NotImplementedError

    @pytest.fixture
    def rows_from(self) -> RowsFrom:
        return rows_of_hours

    @pytest.fixture
    def write_from(self, directory: Directory) -> WriteFrom:
        return writer_into(directory)


def below(directory: Directory, name: str) -> Directory:
    if isinstance(directory, Path):
        return directory / name
    return S3Directory(directory.bucket, f"{directory.prefix}/{name}")


def let_age(kept: Path) -> None:
    """As if all that is there had been written two days ago."""
    for path in kept.rglob("*"):
        if path.is_file():
            two_days_ago = path.stat().st_mtime - 2 * 86_400
            os.utime(path, (two_days_ago, two_days_ago))
